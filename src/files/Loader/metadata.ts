import type { Metadata } from "../../model/Document.ts"

/** A nesting depth that every JSON reader can handle. */
const deepest = 64

/** A value nested too deep to be kept. */
export class TooDeep extends Error {
  override readonly message = `nested more than ${deepest} levels deep`
}

const loneSurrogates = /\p{Surrogate}/gu

/** A string that UTF-8 can represent: each lone surrogate becomes U+FFFD. */
export const wellFormed = (text: string): string =>
  // Node 20 has it, but its types do not. It is ten times as fast as the regex, which few texts need.
  (text as string & { isWellFormed(): boolean }).isWellFormed() ? text : text.replace(loneSurrogates, "\ufffd")

/** TOML dates are a day, a time without a zone, or a point in time, which becomes UTC. */
const dateText = (date: Date): string => {
  const text = date.toISOString()
  return /[-+]\d\d:\d\d$/.test(text) ? new Date(date.getTime()).toISOString() : text
}

/**
 * A value as JSON: dates become ISO 8601 text, numbers that JSON cannot represent become text, undefined members are left
 * out. Throws TooDeep.
 */
export const toJson = (value: unknown, depth = 0): unknown => {
  if (depth > deepest) throw new TooDeep()
  switch (typeof value) {
    case "string":
      return wellFormed(value)
    case "boolean":
      return value
    case "number":
      return Number.isFinite(value) ? value : String(value)
    case "bigint":
      return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
    case "object":
      if (value === null) return null
      if (value instanceof Date) return Number.isNaN(value.getTime()) ? String(value) : dateText(value)
      if (Array.isArray(value)) return value.map((item) => toJson(item, depth + 1) ?? null)
      return Object.fromEntries(
        Object.entries(value).flatMap(([key, item]) => {
          const kept = toJson(item, depth + 1)
          return kept === undefined ? [] : [[wellFormed(key), kept]]
        })
      )
    default:
      return undefined
  }
}

/**
 * A record's own keys as metadata. `source` becomes `original_source`, since the source of a document from a file is the
 * file.
 */
export const toMetadata = (record: Readonly<Record<string, unknown>>): Metadata => {
  const { source, ...rest } = toJson(record) as Record<string, unknown>
  return source === undefined ? rest : { original_source: source, ...rest }
}
