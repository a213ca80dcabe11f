import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { define } from "./command.ts"
import { Engine } from "./engine.ts"
import { ending, exitCode } from "./exit.ts"
import * as Flag from "./flag.ts"
import { following, watchedBy } from "./following.ts"
import * as options from "./options.ts"
import { Place } from "./place.ts"

const flags = {
  host: Flag.text("host", { value: "ADDRESS", summary: "Address to listen on (default: server.host, 127.0.0.1)" }),
  port: Flag.number("port", {
    alias: "p",
    value: "PORT",
    summary: "Port to listen on, 0 for any free port (default: server.port, 8484)",
    min: 0,
    max: 65_535,
    whole: true
  }),
  watch: options.watch,
  readOnly: Flag.toggle("read-only", { summary: "Refuse writes and open the index read-only" }),
  allowUnauthenticated: Flag.toggle("allow-unauthenticated", {
    summary: "Listen on an address that others can reach even without SERVICE_API_KEY"
  })
}

export const serve = define(
  {
    name: "serve",
    summary: "Serve HTTP",
    flags,
    details: [
      "GET /docs describes the API for people, GET /openapi.json for programs.",
      "SERVICE_API_KEY in the environment is the key that clients must send. On SIGINT or SIGTERM, running requests finish first."
    ],
    examples: ["clew serve", "SERVICE_API_KEY=… clew serve --host 0.0.0.0 --read-only"]
  },
  ({ allowUnauthenticated, host, port, readOnly, watch }) =>
    Effect.gen(function* () {
      const engine = yield* Engine
      const { cwd } = yield* Place
      const { server } = yield* engine.settings
      const given = {
        ...(host === undefined ? {} : { host }),
        ...(port === undefined ? {} : { port }),
        readOnly: readOnly || server.readOnly
      }
      const paths = yield* watchedBy("clew serve", { watch, readOnly: given.readOnly })
      const opened = engine.open(given.readOnly ? "readonly" : "write", { pooled: true })
      // Loaded lazily, since no other command needs a server.
      const http = yield* Effect.promise(() => import("../http/serve.ts"))
      ending.bySignal = exitCode.done
      yield* http.serve({
        allowUnauthenticated,
        engine: Layer.provideMerge(
          paths.length === 0 ? Layer.empty : Layer.scopedDiscard(Effect.forkScoped(following(paths, cwd))),
          opened
        ),
        serving: engine.serving(given)
      })
    })
)
