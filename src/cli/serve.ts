import * as Cli from "./command.ts"
import * as options from "./flags.ts"
import { listen, listening } from "./listen.ts"
import { joinable } from "./mcp.ts"

const flags = {
  ...listening,
  watch: options.watch,
  readOnly: Cli.toggle("read-only", { summary: "Refuse writes and open the index read-only" })
}

export const serve = Cli.define(
  {
    name: "serve",
    untilStopped: true,
    summary: "Serve HTTP, and MCP at /mcp",
    flags,
    details: [
      "GET /docs describes the API for people, GET /openapi.json for programs.",
      "SERVICE_API_KEY in the environment is the key that clients must send. On SIGINT or SIGTERM, running requests finish first."
    ],
    examples: ["clew serve", "SERVICE_API_KEY=… clew serve --host 0.0.0.0 --read-only"]
  },
  function* (given) {
    yield* listen(given, undefined, yield* joinable(given.readOnly))
  }
)
