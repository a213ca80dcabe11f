import { isObject, isWellFormed } from "./kinds.ts"
import { limits } from "./Limits.ts"

const { bytes: mostBytes, depth: deepest, keys: mostKeys } = limits.metadata

export interface MetadataFault {
  readonly path: ReadonlyArray<string | number>
  readonly message: string
}

/** How many bytes a string takes in UTF-8. */
const utf8Length = (text: string): number => {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit >= 0x80) bytes += unit >= 0x800 && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1
  }
  return bytes
}

/**
 * Why metadata cannot be stored unchanged: too much of it, or a value that JSON in UTF-8 cannot represent. It stops at
 * the limits.
 */
export const metadataFault = (metadata: Readonly<Record<string, unknown>>): MetadataFault | undefined => {
  let keys = 0
  let bytes = 0
  const tooMuch: MetadataFault = {
    path: [],
    message: `metadata must be at most ${mostBytes} bytes as JSON in UTF-8`
  }

  const check = (value: unknown, path: ReadonlyArray<string | number>): MetadataFault | undefined => {
    // Quotes, commas and similar, without escapes.
    bytes += 1
    if (typeof value === "string") {
      if (value.length > mostBytes || (bytes += utf8Length(value) + 2) > mostBytes) return tooMuch
      return isWellFormed(value) ? undefined : { path, message: "must not contain half a surrogate pair" }
    }
    if (typeof value === "number") {
      bytes += 1
      return Number.isFinite(value) ? undefined : { path, message: `must be a finite number, got ${value}` }
    }
    if (typeof value !== "object" || value === null) return undefined
    if (path.length > deepest) return { path: path.slice(0, 3), message: `is nested deeper than ${deepest} levels` }
    if (!isObject(value)) {
      for (const [index, inner] of (value as ReadonlyArray<unknown>).entries()) {
        const fault = bytes > mostBytes ? tooMuch : check(inner, [...path, index])
        if (fault !== undefined) return fault
      }
      return undefined
    }
    for (const key of Object.keys(value)) {
      if (++keys > mostKeys) return { path: [], message: `metadata must have at most ${mostKeys} keys at all levels` }
      const fault = check(key, path) ?? check(value[key], [...path, key])
      if (fault !== undefined) return fault
    }
    return bytes > mostBytes ? tooMuch : undefined
  }
  return check(metadata, [])
}
