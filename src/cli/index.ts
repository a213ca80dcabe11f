import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as ValidationError from "@effect/cli/ValidationError"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { stripVTControlCharacters } from "node:util"
import { version } from "../version.ts"
import { type Globals, guessGlobals, type Invocation, read, typed } from "./arguments.ts"
import { ask } from "./ask.ts"
import { backup } from "./backup.ts"
import { benchmark } from "./benchmark.ts"
import { collections } from "./collections.ts"
import { define, group } from "./command.ts"
import { compact } from "./compact.ts"
import { completions } from "./completions.ts"
import { deleteDocuments } from "./delete.ts"
import { doctor } from "./doctor.ts"
import { Engine } from "./engine.ts"
import { exitCode, type ExitCode } from "./exit.ts"
import { exportIndex } from "./export.ts"
import { graph } from "./graph.ts"
import { help } from "./help.ts"
import { importIndex } from "./import.ts"
import { indexPaths } from "./indexPaths.ts"
import { info } from "./info.ts"
import { init } from "./init.ts"
import { judge } from "./judge.ts"
import { list } from "./list.ts"
import { logging } from "./logging.ts"
import { mcp } from "./mcp.ts"
import { printJson } from "./output.ts"
import { Place } from "./place.ts"
import { prompt } from "./prompt.ts"
import { query } from "./query.ts"
import { reindex } from "./reindex.ts"
import { report } from "./report.ts"
import { restore } from "./restore.ts"
import { serve } from "./serve.ts"
import { show } from "./show.ts"
import * as Terminal from "./terminal.ts"
import { update } from "./update.ts"
import { UsageError } from "./UsageError.ts"
import { watch } from "./watch.ts"
import { why } from "./why.ts"

const { command, spec } = group(
  define({ name: "clew", summary: "find the passage that answers, with its source", flags: {} }, () => Effect.void),
  [
    indexPaths,
    update,
    watch,
    query,
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
    mcp,
    doctor,
    benchmark,
    judge,
    graph,
    init
  ]
)

/** What `--version --json` prints. */
export const VersionReport = Schema.Struct({
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
    const terminal = yield* Terminal.Terminal
    const configuredBy = (config: string | undefined) =>
      Effect.flatMap(app, ({ configure }) =>
        configure({
          cwd,
          env,
          config,
          flags: [
            { name: "--db", key: "store.path", value: globals.db },
            { name: "--log-level", key: "log.level", value: globals.logLevel }
          ]
        })
      )
    const configured = yield* Effect.cached(configuredBy(globals.config))
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
      exists: Effect.flatMap(Effect.all([app, configured]), ([{ exists }, { settings }]) => exists(settings)),
      glance: Effect.map(Effect.all([app, configured]), ([{ glance }, { settings }]) => glance(settings.store.path)),
      serving: (flags) =>
        Layer.unwrapEffect(
          Effect.gen(function* () {
            const { serving } = yield* app
            const { apiKeys, settings } = yield* configured
            return serving({ apiKeys, settings: { ...settings, server: { ...settings.server, ...flags } } })
          })
        ),
      open: (purpose, { config, ...options } = {}) =>
        Layer.unwrapScoped(
          Effect.gen(function* () {
            const { layerFor } = yield* app
            const loaded = yield* config === undefined ? configured : configuredBy(config)
            return Layer.provideMerge(yield* layerFor(loaded, purpose, options), logging(loaded.settings.log, terminal))
          })
        )
    }
  })
)

/** @effect/cli prints every error itself, in colours and with the whole help; Clew prints it once, briefly. */
const quietly = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.consoleWith((console) => Effect.withConsole(effect, { ...console, error: () => Effect.void }))

const textOf = (error: ValidationError.ValidationError): string =>
  stripVTControlCharacters(HelpDoc.toAnsiText(error.error)).trim() || "wrong usage"

const run = ({ path }: Invocation, argv: ReadonlyArray<string>) =>
  Command.run(command, { name: spec.name, version })(["node", spec.name, ...argv]).pipe(
    quietly,
    Effect.mapError((error) =>
      ValidationError.isValidationError(error) ? new UsageError({ detail: textOf(error), command: typed(path) }) : error
    ),
    Effect.provide(
      Layer.mergeAll(
        engine,
        NodeFileSystem.layer,
        NodePath.layer,
        NodeTerminal.layer,
        CliConfig.layer({ isCaseSensitive: true })
      )
    )
  )

const answer = Effect.fnUntraced(function* (invocation: Invocation) {
  const { out, print } = yield* Terminal.Terminal
  const { path, request } = invocation
  switch (request._tag) {
    case "Help":
      return yield* print(help(path, version, out))
    case "Version":
      return yield* invocation.globals.json
        ? printJson(VersionReport, {
            name: spec.name,
            version,
            node: process.versions.node,
            platform: `${process.platform}-${process.arch}`
          })
        : print(`${spec.name} ${version}`)
    case "Completions":
      return yield* print(yield* completions(command, spec.name, request.shell))
    case "Run":
      return yield* run(invocation, request.argv)
  }
})

export interface Start {
  readonly argv: ReadonlyArray<string>
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** The whole program, up to its exit code. It reports failures itself; only interruption propagates. */
export const main = ({ argv, cwd, env }: Start): Effect.Effect<ExitCode, never, Terminal.Terminal> => {
  const invocation = read(spec, argv)
  const globals: Globals = Either.match(invocation, {
    onLeft: () => guessGlobals(argv),
    onRight: ({ globals }) => globals
  })
  return Effect.gen(function* () {
    const { outputGone } = yield* Terminal.Terminal
    const answered = Effect.as(Effect.flatMap(invocation, answer), exitCode.done)
    return yield* Effect.raceFirst(Effect.catchAllCause(answered, report), outputGone)
  }).pipe(Effect.provideService(Place, { cwd, env, globals }))
}
