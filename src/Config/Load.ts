import * as Path from "@effect/platform/Path"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { ConfigError, type ConfigProblem } from "./ConfigError.ts"
import { defaultDatabase, discover, type Place } from "./Discovery.ts"
import { type ApiKeys, apiKeys, home, read } from "./Env.ts"
import { addressKeys, fromParseError, unknownVariable, untrustedAddress } from "./Problems.ts"
import { type KeyPath, Settings } from "./Settings.ts"
import * as Toml from "./Toml.ts"
import { empty, isTable, type Origin, overlay, resolvePaths, set, type Table } from "./Tree.ts"

/**
 * A flag that sets a key: `{ name: "--db", key: "store.path", value: "x.db" }`. Without a value, the flag was not
 * given.
 */
export interface Flag {
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
}

/** The content of the configuration file. Its problems do not keep the rest from being checked. */
const readFile = (options: LoadOptions) =>
  Effect.gen(function* () {
    const found = yield* discover(options)
    if (Option.isNone(found)) return { file: Option.none(), content: {}, problems: [] } satisfies FileContent
    const { bytes, path, trusted } = found.value
    const content = yield* Toml.parse(path, bytes)
    const untrusted = trusted ? [] : addressKeys.filter((key) => has(content, key))
    return { file: Option.some(path), content, problems: untrusted.map((key) => untrustedAddress(path, key)) }
  }).pipe(
    Effect.catchAll((problem: ConfigProblem) =>
      Effect.succeed<FileContent>({ file: Option.none(), content: {}, problems: [problem] })
    )
  )

const has = (content: Table, key: KeyPath): boolean => {
  const [section = "", name = ""] = key.split(".")
  const table = content[section]
  return isTable(table) && Object.hasOwn(table, name)
}

const decode = Schema.decodeUnknown(Settings, { errors: "all", onExcessProperty: "error" })

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

  const { content, file, problems } = yield* readFile(options)
  if (Option.isSome(file)) overlay(tree, content, { kind: "file", name: file.value })

  const { unknown, values } = read(env)
  for (const { key, value } of values) set(tree, key.path, value, { kind: "environment", name: key.variable })
  for (const { key, name, value } of options.flags ?? []) {
    if (value !== undefined) set(tree, key, value, { kind: "flag", name })
  }
  resolvePaths(tree, { path, cwd, home: home(env) })

  const decoded = yield* Effect.either(decode(tree.data))
  const wrong = [
    ...problems,
    ...(Either.isLeft(decoded) ? yield* fromParseError(tree, decoded.left) : []),
    ...(yield* Effect.forEach(unknown, unknownVariable))
  ]
  if (Arr.isNonEmptyArray(wrong)) return yield* new ConfigError({ problems: wrong })
  const settings = yield* Effect.orDie(decoded)
  return { settings, apiKeys: apiKeys(env), file, origins: tree.origins } satisfies Loaded
})
