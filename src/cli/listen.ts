import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as path from "node:path"
import { Engine, Place } from "./engine.ts"
import * as Cli from "./command.ts"
import { usage } from "./exit.ts"
import * as options from "./flags.ts"
import type { Options as Http } from "../http/serve.ts"
import type { OpenIndex } from "../OpenIndex.ts"
import { stacked } from "../runtime/stacked.ts"
import { tellWhere } from "./served.ts"

/** Where an HTTP server listens. */
export const listening = {
  host: Cli.text("host", { value: "ADDRESS", summary: "Address to listen on (default: server.host, 127.0.0.1)" }),
  port: Cli.integer("port", {
    alias: "p",
    value: "PORT",
    summary: "Port to listen on, 0 for any free port (default: server.port, 8484)",
    min: 0,
    max: 65_535
  }),
  allowUnauthenticated: Cli.toggle("allow-unauthenticated", {
    summary: "Listen on an address that others can reach even without SERVICE_API_KEY"
  }),
  allowWrite: options.allowWrite
}

/** What the user says of the index to MCP's clients, where nothing else is served. */
type Mcp = Http<unknown, unknown>["mcp"]

/** The folders that agents may write to the index: those of the command line, else the configuration's. */
export const writable = Effect.fnUntraced(function* (
  given: { readonly allowWrite: ReadonlyArray<string>; readonly readOnly: boolean },
  configured: ReadonlyArray<string>
) {
  const { cwd } = yield* Place
  if (given.readOnly && given.allowWrite.length > 0) {
    return yield* usage("--allow-write lets agents write into the index, which --read-only forbids: choose one")
  }
  return given.allowWrite.length === 0 ? configured : given.allowWrite.map((folder) => path.resolve(cwd, folder))
})

/** The paths that a server follows: those of its flag, else those of the configuration. */
export const watchedBy = Effect.fnUntraced(function* ({
  readOnly,
  watch
}: {
  readonly watch: ReadonlyArray<string>
  readonly readOnly: boolean
}) {
  if (readOnly && watch.length > 0) {
    return yield* usage("--watch writes into the index, which --read-only forbids: choose one")
  }
  const { cwd } = yield* Place
  const { watch: configured } = yield* (yield* Engine).settings
  return readOnly ? [] : watch.length > 0 ? watch.map((name) => path.resolve(cwd, name)) : configured.paths
})

/** Follows paths while the program serves; the code for that is loaded only then. */
export const following = (paths: ReadonlyArray<string>, place: Pick<typeof Place.Service, "cwd" | "globals">) =>
  Effect.flatMap(
    Effect.promise(() => import("./watch.ts")),
    (watch) => watch.following(paths, place)
  )

type Listening = Cli.Values<typeof listening>

/** Serves HTTP until stopped: everything, or MCP alone. */
export const listen = Effect.fnUntraced(function* (
  {
    allowUnauthenticated,
    allowWrite,
    console,
    host,
    port,
    readOnly,
    watch
  }: Listening & {
    readonly watch: ReadonlyArray<string>
    readonly readOnly: boolean
    /** Whether to serve the console; default: the configuration's. */
    readonly console?: boolean | undefined
  },
  mcp: Mcp,
  beside: Layer.Layer<never, never, OpenIndex>,
  onListening?: (url: string) => Effect.Effect<void>
) {
  const engine = yield* Engine
  const { cwd, globals } = yield* Place
  const { server, store } = yield* engine.settings
  const given = {
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port }),
    ...(console === undefined ? {} : { console }),
    readOnly: readOnly || server.readOnly,
    writePaths: yield* writable({ allowWrite, readOnly }, server.writePaths)
  }
  const paths = yield* watchedBy({ watch, readOnly: given.readOnly })
  const opened = engine.open(given.readOnly ? "readonly" : "write", { pooled: true })
  // Loaded lazily, since no other command needs a server.
  const http = yield* Effect.promise(() => import("../http/serve.ts"))
  yield* http.serve({
    allowUnauthenticated,
    mcp,
    onListening: (url) =>
      Effect.zipRight(mcp?.mcpOnly === true ? Effect.void : tellWhere(store, url), onListening?.(url) ?? Effect.void),
    engine: stacked(
      opened,
      paths.length === 0 ? Layer.empty : Layer.scopedDiscard(Effect.forkScoped(following(paths, { cwd, globals }))),
      beside
    ),
    serving: engine.serving(given)
  })
})
