import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as HashMap from "effect/HashMap"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { version } from "../version.ts"
import { read, typed } from "./arguments.ts"
import { ask } from "./ask.ts"
import { backup, compact, restore } from "./backup.ts"
import { benchmark } from "./benchmark.ts"
import { collections } from "./collections.ts"
import { define, group } from "./command.ts"
import { compare } from "./compare.ts"
import { completions, help } from "./help.ts"
import { deleteDocuments } from "./delete.ts"
import { doctor } from "./doctor.ts"
import { type Copy, Engine, Place } from "./engine.ts"
import { exitCode, usage } from "./exit.ts"
import { exportIndex, importIndex } from "./transfer.ts"
import { graph } from "./graph.ts"
import { indexPaths } from "./indexing.ts"
import { info } from "./info.ts"
import { init } from "./init.ts"
import { judge } from "./judge.ts"
import { keys } from "./keys.ts"
import { list } from "./list.ts"
import { logging } from "./logging.ts"
import { mcp } from "./mcp.ts"
import { printJson } from "./output.ts"
import { prompt } from "./prompt.ts"
import { query } from "./query.ts"
import { reindex } from "./reindex.ts"
import { report } from "./report.ts"
import { console, serve } from "./serve.ts"
import { show } from "./show.ts"
import { similar } from "./similar.ts"
import { Terminal } from "./terminal.ts"
import { update } from "./update.ts"
import { watch } from "./watch.ts"
import { why } from "./why.ts"

const clew = group(
  define({ name: "clew", summary: "find the passage that answers, with its source", flags: {} }, function* () {}),
  [
    indexPaths,
    update,
    watch,
    query,
    similar,
    list,
    show,
    why,
    ask,
    prompt,
    info,
    deleteDocuments,
    compact,
    backup,
    restore,
    exportIndex,
    importIndex,
    collections,
    reindex,
    serve,
    console,
    keys,
    mcp,
    doctor,
    benchmark,
    compare,
    judge,
    graph,
    init
  ]
)

/** What `--version --json` prints. */
const VersionReport = Schema.Struct({
  name: Schema.String,
  version: Schema.String,
  node: Schema.String,
  platform: Schema.String
}).annotations({ identifier: "VersionReport" })

/** Loaded when a command first opens the index, so that help and usage errors load no database. */
const app = Effect.promise(() => import("../App.ts"))

const engine = Layer.effect(
  Engine,
  Effect.gen(function* () {
    const { cwd, env, globals } = yield* Place
    const terminal = yield* Terminal
    const configuredBy = (config: string | undefined, db: string | undefined, copy?: Copy) =>
      Effect.flatMap(app, ({ configure }) =>
        configure({
          cwd,
          env,
          config,
          flags: [
            { name: "--db", key: "store.path", value: db },
            { name: "--db", key: "store.backend", value: db && "sqlite" },
            { name: "--log-level", key: "log.level", value: globals.logLevel },
            ...(copy === undefined
              ? []
              : ([
                  { name: "--embedder", key: "embedding.backend", value: copy.backend },
                  { name: "--embedder", key: "embedding.model", value: copy.model }
                ] as const))
          ]
        })
      )
    const configured = yield* Effect.cached(configuredBy(globals.config, globals.db))
    return {
      settings: Effect.map(configured, ({ settings }) => settings),
      configFile: Effect.map(configured, ({ file }) => file),
      backups: Layer.unwrapEffect(
        Effect.flatMap(app, ({ backups }) => Effect.map(configured, (loaded) => backups(loaded)))
      ),
      doctor: Layer.unwrapEffect(
        Effect.gen(function* () {
          const { doctor } = yield* app
          const loaded = yield* configured
          return Layer.provide(doctor(loaded), logging(loaded.settings.log, terminal))
        })
      ),
      foundations: Effect.flatMap(Effect.all([app, configured]), ([{ foundations }, loaded]) => foundations(loaded)),
      exists: Effect.flatMap(Effect.all([app, configured]), ([{ exists }, configured]) => exists(configured)),
      glance: Effect.map(Effect.all([app, configured]), ([{ glance }, { settings }]) => glance(settings.store)),
      serving: (flags) =>
        Layer.unwrapEffect(
          Effect.gen(function* () {
            const { serving } = yield* app
            const { apiKeys, file, settings } = yield* configured
            const read = Effect.map(
              configuredBy(globals.config, globals.db),
              ({ settings }) => settings.server.keys ?? []
            )
            return serving({
              apiKeys,
              keysFile: Option.getOrUndefined(Option.map(file, (path) => ({ path, read }))),
              settings: { ...settings, server: { ...settings.server, ...flags } }
            })
          })
        ),
      open: (purpose, { config, copy, db, ...options } = {}) =>
        Layer.unwrapScoped(
          Effect.gen(function* () {
            const { layerFor } = yield* app
            const found = yield* config === undefined && copy === undefined && db === undefined
              ? configured
              : configuredBy(
                  config ?? globals.config,
                  db === false ? undefined : (db ?? copy?.path ?? globals.db),
                  copy
                )
            const loaded = copy === undefined ? found : { ...found, settings: ofItsOwn(found.settings) }
            return Layer.provideMerge(yield* layerFor(loaded, purpose, options), logging(loaded.settings.log, terminal))
          })
        )
    }
  })
)

type Invoked = ReturnType<
  typeof read<Effect.Effect.Error<ReturnType<typeof clew.run>>, Effect.Effect.Context<ReturnType<typeof clew.run>>>
>

/** Without what the configuration says of its own embedder's vectors. */
const ofItsOwn = <S extends { readonly embedding: object }>(settings: S): S => ({
  ...settings,
  embedding: { ...settings.embedding, dimensions: undefined, queryPrefix: undefined, passagePrefix: undefined }
})

/** A command's services, but for its terminal and its place. */
const services = Layer.mergeAll(engine, NodeFileSystem.layer, NodePath.layer)

const answer = Effect.fnUntraced(function* ({ globals, path, request }: Invoked) {
  const { out, print } = yield* Terminal
  switch (request._tag) {
    case "Help":
      return yield* print(help(path, version, out))
    case "Version":
      return yield* globals.json
        ? printJson(VersionReport, {
            name: clew.name,
            version,
            node: process.versions.node,
            platform: `${process.platform}-${process.arch}`
          })
        : print(`${clew.name} ${version}`)
    case "Completions":
      return yield* print(yield* completions(clew, request.shell))
    case "Wrong":
      return yield* usage(request.detail)
    case "Run":
      return yield* Effect.provide(path.at(-1)!.run(request.given, request.positional), services)
  }
})

interface Start extends Omit<typeof Place.Service, "command" | "globals"> {
  readonly argv: ReadonlyArray<string>
}

/** The whole program, up to its exit code. It reports failures itself; only interruption propagates. */
export const main = ({ argv, ...place }: Start) => {
  const invocation = read(clew, argv)
  const { globals, path } = invocation
  const stopped = path.at(-1)?.untilStopped
  return {
    program: Effect.gen(function* () {
      const { outputGone } = yield* Terminal
      const answered = Effect.as(answer(invocation), exitCode.done)
      return yield* Effect.raceFirst(Effect.catchAllCause(answered, report), outputGone)
    }).pipe(Effect.provideService(Place, { ...place, globals, command: typed(path) })),
    /** A signal is the regular end of this command. */
    untilStopped:
      stopped === true ||
      (typeof stopped === "string" &&
        invocation.request._tag === "Run" &&
        HashMap.has(invocation.request.given, `--${stopped}`))
  }
}
