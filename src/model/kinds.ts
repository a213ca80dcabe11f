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
  const text = typeof value === "string" ? JSON.stringify(value.slice(0, longest + 1)) : kindOf(value)
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}

/** The message for what is no object where one should be; what is wrong inside of one is said of its fields. */
export const mustBeObject =
  (name: string): MessageAnnotation =>
  ({ actual }) => ({
    message: `${name} must be a JSON object, not ${kindOf(actual)}`,
    override: !isObject(actual)
  })

/** Characters as JSON Schema counts them: code points. */
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

/** No half of a surrogate pair stands alone: such a text has no form in UTF-8. */
export const isWellFormed = (text: string): boolean =>
  // Known to Node 20 and browsers, not yet to the types.
  (text as string & { isWellFormed(): boolean }).isWellFormed()

/** What is wrong with a text that no length is: half a surrogate pair. */
export const notWellFormed = (name: string): string => `${name} must not contain half a surrogate pair`

/** The message for a string that is none, or whose length is not from 1 to `most`; `also` says what else it must be. */
export const mustHaveLength =
  (name: string, most: number, also = ""): MessageAnnotation =>
  ({ actual }) => ({
    message:
      typeof actual === "string" && !isWellFormed(actual)
        ? notWellFormed(name)
        : `${name} must be ${typeof actual === "string" ? "" : "a string of "}1 to ${most} characters${also}, got ${
            typeof actual === "string" && (actual === "" || isLongerThan(actual, most))
              ? codePoints(actual)
              : shown(actual)
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
