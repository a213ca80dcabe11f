import type { MessageAnnotation } from "effect/SchemaAST"

const kinds: Readonly<Record<string, string>> = { string: "a string", number: "a number", boolean: "a boolean" }

/** The kind of a JSON value, in words. */
export const kindOf = (value: unknown): string =>
  value === null
    ? "null"
    : Array.isArray(value)
      ? "a list"
      : isObject(value)
        ? "an object"
        : (kinds[typeof value] ?? "nothing")

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const longest = 60

/** A value as shown in errors, shortened. */
export const valueText = (value: unknown): string => {
  if (typeof value === "number") return String(value)
  const text = typeof value === "string" ? JSON.stringify(value.slice(0, longest + 1)) : kindOf(value)
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}

/** The first whole number of a JSON text, outside of strings, that is beyond 2^53 and would change; undefined if none is. */
export const changedNumber = (json: string): string | undefined =>
  json
    .match(/"(?:[^"\\]|\\.)*"?|-?\d[\d.eE+-]*/gs)
    ?.find((token) => /^-?\d{16,300}$/.test(token) && BigInt(token) !== BigInt(Number(token)))

/** A place in a JSON value, such as `documents[57].content`; a key may be as long as the body, and is cut. */
export const pathText = (path: ReadonlyArray<PropertyKey>): string =>
  path.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`
    const name = String(key)
    return `${text}${text === "" ? "" : "."}${name.length > longest ? `${name.slice(0, longest)}…` : name}`
  }, "")

/** The message for a value that is not an object; faults inside an object are reported by field. */
export const mustBeObject =
  (name: string): MessageAnnotation =>
  ({ actual }) => ({
    message: `${name} must be a JSON object, not ${kindOf(actual)}`,
    override: !isObject(actual)
  })

/** The message for a value of another kind, or out of range. */
export const mustBe =
  (name: string, what: string): MessageAnnotation =>
  ({ actual }) => ({ message: `${name} must be ${what}, got ${valueText(actual)}`, override: true })

/** The message for what is no list, or has too many items. */
export const mustBeList =
  (name: string, of: string, most: number): MessageAnnotation =>
  ({ actual }) =>
    Array.isArray(actual)
      ? `${name} must have at most ${most} items, got ${actual.length}`
      : { message: `${name} must be a list of ${of}, got ${valueText(actual)}`, override: true }

/** The length in characters as in JSON Schema: code points. */
export const codePoints = (text: string): number => {
  let count = text.length
  for (let i = 1; i < text.length; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xdc00 && (text.charCodeAt(i - 1) & 0xfc00) === 0xd800) count--
  }
  return count
}

/** Whether a text has more code points than `most`. */
export const isLongerThan = (text: string, most: number): boolean =>
  text.length > most && (text.length > most * 2 || codePoints(text) > most)

/** Whether a text has no lone surrogates, which UTF-8 cannot represent. */
export const isWellFormed = (text: string): boolean => text.isWellFormed()

/** A text that UTF-8 can represent: a lone surrogate becomes U+FFFD, which keeps the length, and with it every offset. */
export const wellFormed = (text: string): string => text.toWellFormed()

/** The message for a text with a lone surrogate. */
export const notWellFormed = (name: string): string => `${name} must not contain half a surrogate pair`

/**
 * The message for a value that is not a string, or whose length is not from 1 to `most`; `also` names further
 * conditions.
 */
export const mustHaveLength =
  (name: string, most: number, also = ""): MessageAnnotation =>
  ({ actual }) => ({
    message:
      typeof actual === "string" && !isWellFormed(actual)
        ? notWellFormed(name)
        : `${name} must be ${typeof actual === "string" ? "" : "a string of "}1 to ${most} characters${also}, got ${
            typeof actual === "string" && (actual === "" || isLongerThan(actual, most))
              ? codePoints(actual)
              : valueText(actual)
          }`,
    override: true
  })

/** The message for a value that is not a number, not an integer as required, or out of range. */
export const mustBeWithin =
  (name: string, { max, min }: { readonly min: number; readonly max: number }, kind: "integer" | "number") =>
  ({ actual }: { readonly actual: unknown }) => {
    const isKind = kind === "integer" ? Number.isInteger(actual) : Number.isFinite(actual)
    const range = isKind
      ? `between ${min} and ${max}`
      : `${kind === "integer" ? "an" : "a"} ${kind} from ${min} to ${max}`
    return { message: `${name} must be ${range}, got ${valueText(actual)}`, override: true }
  }
