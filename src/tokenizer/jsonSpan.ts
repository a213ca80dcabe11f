/*
 * Finds a value in the UTF-8 of a JSON text without parsing it. Bytes that are not JSON give a wrong offset or none:
 * the caller must check what is there.
 */

export const byte = {
  quote: 0x22,
  comma: 0x2c,
  colon: 0x3a,
  openBracket: 0x5b,
  backslash: 0x5c,
  closeBracket: 0x5d,
  openBrace: 0x7b,
  closeBrace: 0x7d
} as const

/** The offset of a string's closing quote; the end if it has none. */
export const stringEnd = (json: Uint8Array, open: number): number => {
  let at = open + 1
  for (; at < json.length && json[at] !== byte.quote; at++) if (json[at] === byte.backslash) at++
  return Math.min(at, json.length)
}

export const skipSpace = (json: Uint8Array, at: number): number => {
  while (json[at]! <= 0x20) at++
  return at
}

/** The offset after the value that starts at `start`. */
const valueEnd = (json: Uint8Array, start: number): number => {
  let depth = 0
  for (let i = start; i < json.length; i++) {
    const c = json[i]
    if (c === byte.quote) i = stringEnd(json, i)
    else if (c === byte.openBrace || c === byte.openBracket) depth++
    else if (c === byte.closeBrace || c === byte.closeBracket) depth--
    else if (c === byte.comma && depth === 0) return i
    if (depth < 0) return i
  }
  return json.length
}

/** The start of a key's value in the object that starts at or after an offset; -1 if there is none. */
export const memberStart = (json: Uint8Array, object: number, key: string): number => {
  const utf8 = new TextDecoder()
  let at = skipSpace(json, object)
  if (json[at] !== byte.openBrace) return -1
  do {
    at = skipSpace(json, at + 1)
    if (json[at] !== byte.quote) return -1
    const end = stringEnd(json, at)
    const colon = skipSpace(json, end + 1)
    if (json[colon] !== byte.colon) return -1
    const value = skipSpace(json, colon + 1)
    if (utf8.decode(json.subarray(at + 1, end)) === key) return value
    at = skipSpace(json, valueEnd(json, value))
  } while (json[at] === byte.comma)
  return -1
}
