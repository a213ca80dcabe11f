import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import {
  type ConfigProblem,
  ConfigError,
  entrustedKeys,
  fromParseError,
  ownPlaces,
  unknownVariable,
  untrustedAddress,
  untrustedPlace
} from "./Problems.ts"
import {
  type Table,
  describeOrigin,
  type Tree,
  resolvePath,
  empty,
  isTable,
  type Origin,
  overlay,
  resolvePaths,
  set
} from "./Tree.ts"
import { type Env, home, present, variables, type ApiKeys, apiKeys, read } from "./Env.ts"
import { type KeyPath, keysAlone, Settings } from "./Settings.ts"
import { judgementsBeside } from "../model/Judgement.ts"

/** The tables of a TOML file; a syntax error names file, line and column. Integers beyond 2^53 come as bigint. */
const parse = (file: string, bytes: Uint8Array): Effect.Effect<Table, ConfigProblem> =>
  Effect.gen(function* () {
    const text = yield* Effect.try({
      try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
      catch: (): ConfigProblem => ({ where: file, detail: "not valid UTF-8, which TOML requires" })
    })
    // Loaded lazily, since most runs have no file.
    const toml = yield* Effect.promise(() => import("smol-toml"))
    return yield* Effect.try({
      try: (): Table => toml.parse(text, { integersAsBigInt: "asNeeded" }),
      catch: (error): ConfigProblem => {
        if (!(error instanceof toml.TomlError)) throw error
        // Without the lines around it, which may have a password.
        const what = error.message.split("\n")[0]?.replace(/^Invalid TOML document: /, "") ?? "invalid TOML"
        return { where: `${file}:${error.line}:${error.column}`, detail: what }
      }
    })
  })

/** A configuration file. One that was merely found in the working directory is not trusted with addresses and keys. */
interface ConfigFile {
  readonly path: string
  readonly trusted: boolean
  readonly bytes: Uint8Array
}

interface Place {
  /** The value of `--config`. */
  readonly config?: string | undefined
  readonly cwd: string
  readonly env: Env
}

/** A base directory of the XDG specification, which requires that relative paths are ignored. */
const baseDirectory = (env: Env, variable: string, underHome: string) =>
  Effect.map(Path.Path, (path) => {
    const set = present(env, variable)
    const homeDirectory = home(env)
    if (set !== undefined && path.isAbsolute(set)) return Option.some(set)
    return homeDirectory === undefined ? Option.none() : Option.some(path.join(homeDirectory, underHome))
  })

/** The default path of the database; none without a home directory. */
const defaultDatabase = Effect.fnUntraced(function* (env: Env) {
  const path = yield* Path.Path
  const base = yield* baseDirectory(env, variables.dataHome, path.join(".local", "share"))
  return Option.map(base, (base) => path.join(base, "clew", "index.db"))
})

const code = (error: PlatformError): unknown =>
  error._tag === "SystemError" && error.cause instanceof Error && "code" in error.cause ? error.cause.code : undefined

/** No such file; ENOTDIR if the home directory is a file like /dev/null. */
const isAbsent = (error: PlatformError): boolean =>
  (error._tag === "SystemError" && error.reason === "NotFound") || code(error) === "ENOTDIR"

const unreadable = (error: PlatformError): string => {
  if (isAbsent(error)) return "there is no such file"
  if (code(error) === "EISDIR") return "this is a folder; the configuration is a TOML file"
  if (code(error) === "EACCES") return "no permission to read it"
  return `it cannot be read (${error.message})`
}

/** Of a file that was merely found, which may be anything: a pipe, or a device without an end. */
const mostBytes = 2 ** 20

/**
 * `--config`, `$CLEW_CONFIG`, `./clew.toml`, `$XDG_CONFIG_HOME/clew/config.toml`: only the first that exists counts.
 */
const discover = Effect.fnUntraced(function* ({ config, cwd, env }: Place) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const fromEnv = present(env, variables.config)
  const named =
    config !== undefined
      ? { value: config, origin: { kind: "flag", name: "--config" } as const }
      : fromEnv !== undefined
        ? { value: fromEnv, origin: { kind: "environment", name: variables.config } as const }
        : undefined

  if (named !== undefined) {
    const file = resolvePath({ path, cwd, home: home(env) }, named.value, named.origin)
    const where = describeOrigin(named.origin)
    const bytes = yield* Effect.mapError(fs.readFile(file), (error): ConfigProblem => ({
      where,
      detail: `${file || "the path is empty"}: ${unreadable(error)}`
    }))
    return Option.some<ConfigFile>({ path: file, trusted: true, bytes })
  }
  const base = yield* baseDirectory(env, variables.configHome, ".config")
  const candidates = [
    { path: path.join(cwd, "clew.toml"), trusted: false },
    ...Option.toArray(base).map((base) => ({ path: path.join(base, "clew", "config.toml"), trusted: true }))
  ]
  for (const candidate of candidates) {
    const { path: where } = candidate
    const problem = (error: PlatformError): ConfigProblem => ({ where, detail: unreadable(error) })
    const info = yield* fs.stat(where).pipe(
      Effect.asSome,
      Effect.catchIf(isAbsent, () => Effect.succeedNone),
      Effect.mapError(problem)
    )
    if (Option.isNone(info)) continue
    const { size, type } = info.value
    if (type !== "Directory" && (type !== "File" || size > mostBytes)) {
      return yield* Effect.fail<ConfigProblem>({ where, detail: `it is no file of at most ${mostBytes / 2 ** 20} MiB` })
    }
    return Option.some<ConfigFile>({ ...candidate, bytes: yield* Effect.mapError(fs.readFile(where), problem) })
  }
  return Option.none<ConfigFile>()
})

/**
 * A flag that sets a key: `{ name: "--db", key: "store.path", value: "x.db" }`. Without a value, the flag was not
 * given.
 */
interface Flag {
  readonly name: string
  readonly key: KeyPath
  readonly value: unknown
}

export interface LoadOptions extends Place {
  readonly flags?: ReadonlyArray<Flag> | undefined
}

/** The effective configuration, and where it came from. */
export interface Loaded {
  readonly settings: Settings
  readonly apiKeys: ApiKeys
  /** The file that was read. */
  readonly file: Option.Option<string>
  /** The origin of each key that is not at its default. */
  readonly origins: ReadonlyMap<string, Origin>
}

interface FileContent {
  readonly file: Option.Option<string>
  readonly content: Table
  readonly problems: ReadonlyArray<ConfigProblem>
  /** The folder of a file that was merely found, without links. */
  readonly within?: ReadonlyArray<string>
}

/** The content of the configuration file. Its problems do not keep the rest from being checked. */
const readFile = (options: LoadOptions) =>
  Effect.gen(function* () {
    const found = yield* discover(options)
    if (Option.isNone(found)) return { file: Option.none(), content: {}, problems: [] } satisfies FileContent
    const { bytes, path, trusted } = found.value
    const content = yield* parse(path, bytes)
    const { problems, within } = trusted ? { problems: [] } : yield* untrusted(options.env, path, content)
    return { file: Option.some(path), content, problems, within }
  }).pipe(
    Effect.catchAll((problem: ConfigProblem) =>
      Effect.succeed<FileContent>({ file: Option.none(), content: {}, problems: [problem] })
    )
  )

const valueOf = (content: Table, key: KeyPath): unknown => {
  const [section = "", name = ""] = key.split(".")
  const table = content[section]
  return isTable(table) && Object.hasOwn(table, name) ? table[name] : undefined
}

/**
 * What a file that was merely found may not set: addresses, keys, and places outside of its folder to index, or to write
 * to unless they are named like what is written there: a shell runs the lines of its own files.
 */
const untrusted = Effect.fnUntraced(function* (env: Env, file: string, content: Table) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  // A link in the folder may lead out of it.
  const real = (place: string): Effect.Effect<string> =>
    fs.realPath(place).pipe(
      // A link that leads nowhere yet may lead anywhere later.
      Effect.orElse(() => Effect.as(fs.readLink(place), "/")),
      Effect.orElse(() => Effect.map(real(path.dirname(place)), (folder) => path.join(folder, path.basename(place))))
    )
  const folder = yield* real(path.dirname(file))
  const problems = entrustedKeys.flatMap((key) =>
    valueOf(content, key) === undefined ? [] : [untrustedAddress(file, key)]
  )
  const index = valueOf(content, "store.path")
  const judgements = typeof index === "string" ? judgementsBeside(index) : undefined
  for (const [key, ending] of ownPlaces) {
    for (const place of Arr.ensure(valueOf(content, key) ?? (key === "store.judgements" ? judgements : undefined))) {
      if (typeof place !== "string") continue
      const resolved = resolvePath({ path, cwd: folder, home: home(env) }, place, { kind: "flag", name: key })
      const at = yield* real(resolved)
      const within = path.relative(folder, at)
      const isOutside = within.split(path.sep)[0] === ".." || path.isAbsolute(within)
      if (isOutside && !(ending !== undefined && at.endsWith(ending))) {
        problems.push(untrustedPlace(file, key, place, ending))
      }
    }
  }
  return { problems, within: [folder] }
})

const decode = Schema.decodeUnknown(Settings, { errors: "all", onExcessProperty: "error" })

/** What is wrong with a value that does not count: it does once the flag or the variable over it is gone. */
const problemsOf = Effect.fnUntraced(function* (
  { key, origin, value }: Tree["shadowed"][number],
  places: Parameters<typeof resolvePaths>[1]
) {
  const tree = empty()
  set(tree, key, value, origin)
  resolvePaths(tree, places)
  // Those that count are no measure for it.
  const decoded = yield* Effect.either(Schema.decodeUnknown(keysAlone())(tree.data, { errors: "all" }))
  return Either.isLeft(decoded) ? fromParseError(tree, decoded.left).filter((problem) => problem.key === key) : []
})

/**
 * The configuration: flag over environment over file over default. Reads one file and nothing else; what surrounds the
 * process comes in through the options.
 */
export const load = Effect.fn("Config.load")(function* (options: LoadOptions) {
  const { cwd, env } = options
  const path = yield* Path.Path
  const tree = empty()

  const database = yield* defaultDatabase(env)
  if (Option.isSome(database)) set(tree, "store.path", database.value, { kind: "default", name: "default" })

  const { content, file, problems, within } = yield* readFile(options)
  if (Option.isSome(file)) overlay(tree, content, { kind: "file", name: file.value })

  const { unknown, values } = read(env)
  for (const { key, value } of values) set(tree, key.path, value, { kind: "environment", name: key.variable })
  for (const { key, name, value } of options.flags ?? []) {
    if (value !== undefined) set(tree, key, value, { kind: "flag", name })
  }
  const places = { path, cwd, home: home(env) }
  resolvePaths(tree, places)

  const decoded = yield* Effect.either(decode(tree.data))
  const wrong = [
    ...problems,
    ...(Either.isLeft(decoded) ? fromParseError(tree, decoded.left) : []),
    ...(yield* Effect.forEach(tree.shadowed, (one) => problemsOf(one, places))).flat(),
    ...unknown.map(unknownVariable)
  ]
  if (Arr.isNonEmptyArray(wrong)) return yield* new ConfigError({ problems: wrong })
  const { watch, ...rest } = yield* Effect.orDie(decoded)
  const isFound = tree.origins.get("watch.paths")?.kind === "file"
  const settings = { ...rest, watch: { ...watch, within: isFound ? within : undefined } }
  return { settings, apiKeys: apiKeys(env), file, origins: tree.origins } satisfies Loaded
})
