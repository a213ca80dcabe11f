import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as HashMap from "effect/HashMap"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { version } from "../version.ts"
import { read, typed } from "./arguments.ts"
import { define, group } from "./command.ts"
import { completions, help } from "./help.ts"
import { type Copy, Engine, Place } from "./engine.ts"
import { exitCode, usage } from "./exit.ts"
import { stacked } from "../runtime/stacked.ts"
import { logging } from "./logging.ts"
import { printJson } from "./output.ts"
import { report } from "./report.ts"
import { Terminal } from "./terminal.ts"

/** The commands by their names, in the order of the help. Only the one that is named is loaded. */
const commands = {
  index: async () => (await import("./indexing.ts")).indexPaths,
  update: async () => (await import("./update.ts")).update,
  watch: async () => (await import("./watch.ts")).watch,
  query: async () => (await import("./query.ts")).query,
  similar: async () => (await import("./similar.ts")).similar,
  list: async () => (await import("./list.ts")).list,
  show: async () => (await import("./show.ts")).show,
  why: async () => (await import("./why.ts")).why,
  ask: async () => (await import("./ask.ts")).ask,
  prompt: async () => (await import("./prompt.ts")).prompt,
  info: async () => (await import("./info.ts")).info,
  delete: async () => (await import("./delete.ts")).deleteDocuments,
  compact: async () => (await import("./backup.ts")).compact,
  backup: async () => (await import("./backup.ts")).backup,
  restore: async () => (await import("./backup.ts")).restore,
  export: async () => (await import("./transfer.ts")).exportIndex,
  import: async () => (await import("./transfer.ts")).importIndex,
  collections: async () => (await import("./collections.ts")).collections,
  reindex: async () => (await import("./reindex.ts")).reindex,
  serve: async () => (await import("./serve.ts")).serve,
  console: async () => (await import("./serve.ts")).console,
  keys: async () => (await import("./keys.ts")).keys,
  mcp: async () => (await import("./mcp.ts")).mcp,
  doctor: async () => (await import("./doctor.ts")).doctor,
  benchmark: async () => (await import("./benchmark.ts")).benchmark,
  compare: async () => (await import("./compare.ts")).compare,
  judge: async () => (await import("./judge.ts")).judge,
  graph: async () => (await import("./graph.ts")).graph,
  init: async () => (await import("./init.ts")).init
}

/** The program with some of its commands. */
const clew = async (names: ReadonlyArray<keyof typeof commands>) =>
  group(
    define({ name: "clew", summary: "find the passage that answers, with its source", flags: {} }, function* () {}),
    await Promise.all(names.map((name) => commands[name]()))
  )

const isCommand = (word: string): word is keyof typeof commands => Object.hasOwn(commands, word)

/** All of it. */
const whole = Effect.promise(() => clew(Object.keys(commands).filter(isCommand)))

/** What a command line asks for. If it names no command, all of them are loaded, for the help and for hints. */
const asked = Effect.fnUntraced(function* (argv: ReadonlyArray<string>) {
  const name = argv.find(isCommand)
  const invoked = read(yield* Effect.promise(() => clew(name === undefined ? [] : [name])), argv)
  const isComplete = invoked.request._tag === "Version" || (name !== undefined && invoked.path[1]?.name === name)
  return isComplete ? invoked : read(yield* whole, argv)
})

/** What `--version --json` prints. */
const VersionReport = Schema.Struct({
  name: Schema.String,
  version: Schema.String,
  node: Schema.String,
  platform: Schema.String
}).annotations({ identifier: "VersionReport" })

/** Loaded when a command first opens the index, so that help and usage errors load no database. */
const app = Effect.promise(() => import("../App.ts"))

/** The part of it that only reads. */
const readers = Effect.promise(() => import("../App/reading.ts"))

/** The same of what is asked before. */
const beforehand = Effect.promise(() => import("../Configured.ts"))

const engine = Layer.effect(
  Engine,
  Effect.gen(function* () {
    const { cwd, env, globals } = yield* Place
    const terminal = yield* Terminal
    const configuredBy = (config: string | undefined, db: string | undefined, copy?: Copy) =>
      Effect.flatMap(beforehand, ({ configure }) =>
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
    const opening = Effect.all([app, configured])
    const asking = Effect.all([beforehand, configured])
    return {
      settings: Effect.map(configured, ({ settings }) => settings),
      configFile: Effect.map(configured, ({ file }) => file),
      backups: Layer.unwrapEffect(Effect.map(opening, ([{ backups }, loaded]) => backups(loaded))),
      doctor: Layer.unwrapEffect(
        Effect.map(opening, ([{ doctor }, loaded]) => stacked(logging(loaded.settings.log, terminal), doctor(loaded)))
      ),
      foundations: Effect.flatMap(opening, ([{ foundations }, loaded]) => foundations(loaded)),
      exists: Effect.flatMap(asking, ([{ exists }, loaded]) => exists(loaded)),
      glance: Effect.map(asking, ([{ glance }, { settings }]) => glance(settings.store)),
      serving: (flags) =>
        Layer.unwrapEffect(
          Effect.map(opening, ([{ serving }, { apiKeys, file, settings }]) => {
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
      read: Layer.unwrapScoped(
        Effect.gen(function* () {
          const { layerFor } = yield* readers
          const loaded = yield* configured
          return stacked(logging(loaded.settings.log, terminal), yield* layerFor(loaded, "read"))
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
            return stacked(logging(loaded.settings.log, terminal), yield* layerFor(loaded, purpose, options))
          })
        )
    }
  })
)

type Invoked = Effect.Effect.Success<ReturnType<typeof asked>>

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
            name: path[0].name,
            version,
            node: process.versions.node,
            platform: `${process.platform}-${process.arch}`
          })
        : print(`${path[0].name} ${version}`)
    case "Completions":
      return yield* print(yield* completions(yield* whole, request.shell))
    case "Invalid":
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
  let untilStopped = false
  return {
    program: Effect.gen(function* () {
      const invocation = yield* asked(argv)
      const { globals, path, request } = invocation
      const stopped = path.at(-1)?.untilStopped
      untilStopped =
        stopped === true ||
        (typeof stopped === "string" && request._tag === "Run" && HashMap.has(request.given, `--${stopped}`))
      const { outputGone } = yield* Terminal
      const answered = Effect.as(answer(invocation), exitCode.done)
      return yield* Effect.raceFirst(Effect.catchAllCause(answered, report), outputGone).pipe(
        Effect.provideService(Place, { ...place, globals, command: typed(path) })
      )
    }),
    /** Whether a signal is the regular end of this command. */
    untilStopped: () => untilStopped
  }
}
