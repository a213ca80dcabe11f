import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ConfigProblem } from "./ConfigError.ts"
import { type Env, home, present, variables } from "./Env.ts"
import { describeOrigin, resolvePath } from "./Tree.ts"

/** A configuration file. One that was merely found in the working directory is not trusted with addresses. */
export interface ConfigFile {
  readonly path: string
  readonly trusted: boolean
  readonly bytes: Uint8Array
}

export interface Place {
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
export const defaultDatabase = (env: Env) =>
  Effect.gen(function* () {
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

/**
 * `--config`, `$CLEW_CONFIG`, `./clew.toml`, `$XDG_CONFIG_HOME/clew/config.toml`: only the first that exists counts.
 */
export const discover = ({ config, cwd, env }: Place) =>
  Effect.gen(function* () {
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
        found: file,
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
      const bytes = yield* fs.readFile(candidate.path).pipe(
        Effect.asSome,
        Effect.catchIf(isAbsent, () => Effect.succeedNone),
        Effect.mapError((error): ConfigProblem => ({ where: candidate.path, detail: unreadable(error) }))
      )
      if (Option.isSome(bytes)) return Option.some<ConfigFile>({ ...candidate, bytes: bytes.value })
    }
    return Option.none<ConfigFile>()
  })
