import type { MessageAnnotation } from "effect/SchemaAST"

const kinds: Readonly<Record<string, string>> = { string: "a string", number: "a number", boolean: "a boolean" }

/** What a JSON value is, in words. */
export const kindOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "a list" : (kinds[typeof value] ?? "nothing")

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const longest = 60

/** A value as an error repeats it: a long string by its length. */
export const shown = (value: unknown): string => {
  if (typeof value === "number") return String(value)
  const text = typeof value === "string" ? JSON.stringify(value) : kindOf(value)
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}

/** The message for what is no object where one should be; what is wrong inside of one is said of its fields. */
export const mustBeObject =
  (name: string): MessageAnnotation =>
  ({ actual }) => ({
    message: `${name} must be a JSON object, not ${kindOf(actual)}`,
    override: !isObject(actual)
  })

/** The message for a string that is none, or whose length is not from 1 to `most`; `also` says what else it must be. */
export const mustHaveLength =
  (name: string, most: number, also = ""): MessageAnnotation =>
  ({ actual }) => ({
    message: `${name} must be ${typeof actual === "string" ? "" : "a string of "}1 to ${most} characters${also}, got ${
      typeof actual === "string" && (actual === "" || actual.length > most) ? actual.length : shown(actual)
    }`,
    override: true
  })

/** The message for a number that is none, no integer where it should be one, or out of range. */
export const mustBeWithin =
  (name: string, { max, min }: { readonly min: number; readonly max: number }, kind: "integer" | "number") =>
  ({ actual }: { readonly actual: unknown }) => {
    const isKind = kind === "integer" ? Number.isInteger(actual) : Number.isFinite(actual)
    const range = isKind
      ? `between ${min} and ${max}`
      : `${kind === "integer" ? "an" : "a"} ${kind} from ${min} to ${max}`
    return { message: `${name} must be ${range}, got ${shown(actual)}`, override: true }
  }
