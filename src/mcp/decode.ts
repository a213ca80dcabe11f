import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { limits } from "../model/Limits.ts"
import { allowed, type Json, schemaAt } from "./jsonSchema.ts"
import { didYouMean } from "../terms/nearest.ts"
import { invalidParams, type Problem, type RpcError } from "./RpcError.ts"

const pathText = (path: ReadonlyArray<PropertyKey>): string =>
  path.reduce<string>(
    (text, key) => (typeof key === "number" ? `${text}[${key}]` : text === "" ? String(key) : `${text}.${String(key)}`),
    ""
  )

const valueAt = (value: unknown, path: ReadonlyArray<PropertyKey>): unknown =>
  path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key], value)

const longest = 60

const show = (value: unknown): string => {
  if (typeof value === "string" && value.length > longest) return `a string of ${[...value].length} characters`
  if (Array.isArray(value) && value.length > 4) return `${value.length} items`
  const text = JSON.stringify(value) ?? "nothing"
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}

const unexpected = (json: Json, path: ReadonlyArray<PropertyKey>): string => {
  const parent = schemaAt(json, path.slice(0, -1)).schema["properties"]
  const known = Object.keys((parent as Json | undefined) ?? {})
  const takes = known.length === 0 ? "no arguments" : known.join(", ")
  return `${pathText(path)} is unknown${didYouMean(String(path.at(-1)), known)}; allowed: ${takes}`
}

/** One message for each fault: the field, what is allowed, what was found. */
const problems = (value: unknown, json: Json, issues: ReadonlyArray<ParseResult.ArrayFormatterIssue>) => {
  const found = new Map<string, Problem>()
  for (const issue of issues) {
    // The other half of an optional property; the informative issue came before.
    if (issue.message.startsWith("Expected undefined")) continue
    const { path, schema } =
      issue._tag === "Unexpected" || issue._tag === "Missing"
        ? { path: issue.path, schema: json }
        : schemaAt(json, issue.path)
    const name = pathText(path)
    if (found.has(name)) continue
    const message =
      issue._tag === "Missing"
        ? `${name} is required`
        : issue._tag === "Unexpected"
          ? unexpected(json, path)
          : /^(Expected|Unable to decode) /.test(issue.message)
            ? `${name === "" ? "arguments" : name} must be ${allowed(schema)}, got ${show(valueAt(value, path))}`
            : issue.message.startsWith(String(path.at(-1)))
              ? issue.message
              : `${name}: ${issue.message}${issue.message.includes(", got ") ? "" : `, got ${show(valueAt(value, path))}`}`
    found.set(name, { path: name, message })
    if (found.size === limits.errors) break
  }
  return [...found.values()]
}

/** Reports a list with too many items before decoding, which would check each of them. */
const tooLong = (value: unknown, json: Json): ReadonlyArray<Problem> =>
  Object.entries(value ?? {}).flatMap(([name, inner]) => {
    const { schema } = schemaAt(json, [name])
    const most = schema["maxItems"]
    return Array.isArray(inner) && typeof most === "number" && inner.length > most
      ? [{ path: name, message: `${name} must be ${allowed(schema)}, got ${show(inner)}` }]
      : []
  })

/** Models often send null for an absent argument. */
const withoutNulls = (value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== null))
    : value

/** Decodes arguments, or fails with -32602 and all their faults. */
export const decoder = <A, I>(schema: Schema.Schema<A, I>, json: Json) => {
  const decode = Schema.decodeUnknown(schema, { errors: "all", onExcessProperty: "error" })
  return (value: unknown): Effect.Effect<A, RpcError> => {
    const given = withoutNulls(value)
    const long = tooLong(given, json)
    if (long.length > 0) return invalidParams(long)
    return Effect.mapError(decode(given), (error) =>
      invalidParams(problems(given, json, ParseResult.ArrayFormatter.formatErrorSync(error)))
    )
  }
}
