import * as Schema from "effect/Schema"

/** One mistake: where it is, and how to fix it. */
export const ConfigProblem = Schema.Struct({
  /** A file, an environment variable or a flag. */
  where: Schema.String,
  /** The key as in TOML, with its section. */
  key: Schema.optional(Schema.String),
  /** The value as written; left out if it may be a secret. */
  found: Schema.optional(Schema.String),
  allowed: Schema.optional(Schema.String),
  /** The nearest known keys or variables. */
  nearest: Schema.optional(Schema.Array(Schema.String)),
  /** All of the above in one sentence, without `where`. */
  detail: Schema.String
})
export type ConfigProblem = typeof ConfigProblem.Type

/** The configuration cannot be used; every problem is listed, not only the first. */
export class ConfigError extends Schema.TaggedError<ConfigError>()("ConfigError", {
  problems: Schema.NonEmptyArray(ConfigProblem)
}) {
  override get message() {
    return this.problems.map(({ detail, where }) => `${where}: ${detail}`).join("\n")
  }
}
