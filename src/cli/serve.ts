import * as Effect from "effect/Effect"
import * as Cli from "./command.ts"
import { Engine, Place } from "./engine.ts"
import { usage } from "./exit.ts"
import * as options from "./flags.ts"
import { listen, listening } from "./listen.ts"
import { joinable } from "./mcp/joining.ts"
import { browse, servedAt } from "./served.ts"
import { Terminal } from "./terminal.ts"

const flags = {
  ...listening,
  watch: options.watch,
  readOnly: Cli.toggle("read-only", { summary: "Refuse writes and open the index read-only" })
}

const noConsole = Cli.toggle("no-console", { summary: "Answer GET / in a browser with nothing (server.console)" })

export const serve = Cli.define(
  {
    name: "serve",
    untilStopped: true,
    summary: "Serve HTTP, and MCP at /mcp",
    flags: { ...flags, noConsole },
    details: [
      "In a browser its address is the console (docs/console.md). GET /docs describes the API for people, GET /openapi.json for programs.",
      "SERVICE_API_KEY in the environment is the key that clients must send. On SIGINT or SIGTERM, running requests finish first."
    ],
    examples: ["clew serve", "SERVICE_API_KEY=… clew serve --host 0.0.0.0 --read-only"]
  },
  function* ({ noConsole, ...given }) {
    const served = noConsole ? { ...given, console: false } : given
    yield* listen(served, undefined, yield* joinable(given.readOnly))
  }
)

export const console = Cli.define(
  {
    name: "console",
    untilStopped: true,
    summary: "Open the console in the browser, and serve it unless a server does",
    flags: { ...flags, noOpen: Cli.toggle("no-open", { summary: "Print the address, and open nothing" }) },
    details: [
      "If a server of yours runs on this index, its console is opened and the command ends. Else it serves HTTP like clew serve until it is stopped."
    ],
    examples: ["clew console", "clew console --watch ~/notes --port 0"]
  },
  function* ({ noOpen, ...given }) {
    const { print } = yield* Terminal
    const engine = yield* Engine
    const { store } = yield* engine.settings
    const { env, globals } = yield* Place
    const show = (address: string) => {
      const url = `${address}/`
      const said = globals.json ? JSON.stringify({ url }) : url
      return Effect.zipRight(Effect.orDie(print(said)), noOpen ? Effect.void : browse(url, env))
    }
    const running = yield* servedAt(store)
    if (running === undefined) {
      return yield* listen({ ...given, console: true }, undefined, yield* joinable(given.readOnly), show)
    }
    if (!running.hasConsole) {
      return yield* usage(`The server at ${running.url} has its console switched off (server.console, --no-console)`)
    }
    yield* show(running.url)
  }
)
