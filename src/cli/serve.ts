import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as path from "node:path"
import { define } from "./command.ts"
import { Engine } from "./engine.ts"
import { ending, exitCode } from "./exit.ts"
import * as Flag from "./flag.ts"
import { following } from "./following.ts"
import { Place } from "./place.ts"
import { UsageError } from "./UsageError.ts"

const flags = {
  host: Flag.text("host", { value: "ADDRESS", summary: "Address to listen on (default: server.host, 127.0.0.1)" }),
  port: Flag.number("port", {
    alias: "p",
    value: "PORT",
    summary: "Port to listen on, 0 for any free one (default: server.port, 8484)",
    min: 0,
    max: 65_535,
    whole: true
  }),
  watch: Flag.repeated("watch", {
    value: "PATH",
    summary: "Index this file or folder and follow its changes (default: watch.paths)"
  }),
  readOnly: Flag.toggle("read-only", { summary: "Refuse writes and open the index read-only" }),
  allowUnauthenticated: Flag.toggle("allow-unauthenticated", {
    summary: "Listen on an address that others can reach although SERVICE_API_KEY is not set"
  })
}

export const serve = define(
  {
    name: "serve",
    summary: "Serve HTTP",
    flags,
    details: [
      "GET /docs describes the API, GET /openapi.json is for programs.",
      "SERVICE_API_KEY in the environment is the key that clients have to show. SIGINT or SIGTERM lets what is running finish."
    ],
    examples: ["clew serve", "SERVICE_API_KEY=… clew serve --host 0.0.0.0 --read-only"]
  },
  ({ allowUnauthenticated, host, port, readOnly, watch }) =>
    Effect.gen(function* () {
      const engine = yield* Engine
      const { cwd } = yield* Place
      const { server, watch: configured } = yield* engine.settings
      const given = {
        ...(host === undefined ? {} : { host }),
        ...(port === undefined ? {} : { port }),
        readOnly: readOnly || server.readOnly
      }
      if (given.readOnly && watch.length > 0) {
        return yield* new UsageError({
          detail: "--watch writes into the index, which --read-only forbids: choose one",
          command: "clew serve"
        })
      }
      const paths = watch.length > 0 ? watch.map((name) => path.resolve(cwd, name)) : configured.paths
      const opened = engine.open(given.readOnly ? "readonly" : "write", { pooled: true })
      // Loaded here, since no other command needs a server.
      const http = yield* Effect.promise(() => import("../http/serve.ts"))
      ending.bySignal = exitCode.done
      yield* http.serve({
        allowUnauthenticated,
        engine: Layer.provideMerge(following(given.readOnly ? [] : paths, cwd), opened),
        serving: engine.serving(given)
      })
    })
)
