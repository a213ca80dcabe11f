import { isSpace } from "./scanning.ts"
import type { Entry } from "./Entry.ts"
import { attempt } from "../model/attempt.ts"

/** Plain values in a list are combined into entries of this many characters: there may be millions of numbers. */
const together = 256

const [quote, apostrophe, slash, backslash] = [34, 39, 47, 92]

/** The end of the string that begins at `at`. */
export const stringEnd = (text: string, at: number, to: number): number => {
  const mark = text.charCodeAt(at)
  for (let i = at + 1; i < to; i++) {
    const code = text.charCodeAt(i)
    if (code === backslash) i++
    else if (code === mark) return i + 1
  }
  return to
}

/** The end of the comment that begins at `at`, if there is one, as in JSON with comments. */
const commentEnd = (text: string, at: number, to: number): number => {
  if (text.charCodeAt(at) !== slash) return at
  const next = text.charAt(at + 1)
  if (next !== "/" && next !== "*") return at
  const end = next === "/" ? text.indexOf("\n", at) : text.indexOf("*/", at + 2) + 2
  return end < at + 2 || end > to ? to : end
}

const isOpening = (code: number): boolean => code === 123 || code === 91
const isClosing = (code: number): boolean => code === 125 || code === 93

/** The end of the object or list that begins at `at`. */
const containerEnd = (text: string, at: number, to: number): number => {
  let depth = 0
  for (let i = at; i < to; i++) {
    const code = text.charCodeAt(i)
    if (code === quote || code === apostrophe) i = stringEnd(text, i, to) - 1
    else if (code === slash) i = Math.max(i, commentEnd(text, i, to) - 1)
    else if (isOpening(code)) depth++
    else if (isClosing(code) && --depth === 0) return i + 1
  }
  return to
}

const keyText = (raw: string): string => {
  const key = raw.slice(0, 300).trim()
  if (!key.startsWith('"')) return key.replace(/^'|'$/g, "")
  return attempt(() => String(JSON.parse(key))) ?? key.replaceAll('"', "")
}

/** The members of the object, or items of the list, at `body`; also in JSON with comments, JSON5 and broken JSON. */
export function* jsonEntries(text: string, body: number, to: number): Generator<Entry> {
  const isList = text.charCodeAt(body) === 91
  let index = 0
  let from = -1
  let key: string | undefined
  let value = -1
  let inside: Entry["inside"]
  /** The start of the plain values that are being combined into one entry. */
  let gathered = -1
  for (let at = body + 1; at <= to; at++) {
    const code = at < to ? text.charCodeAt(at) : 93
    if (code === 44 || isClosing(code)) {
      if (from >= 0) {
        if (!isList) yield { from, key: [key ?? text.slice(from, at).trim().slice(0, 80)], value, inside }
        else if (inside !== undefined || at - from > together || gathered < 0 || from - gathered > together) {
          yield { from, key: index, value, inside }
          gathered = inside === undefined ? from : -1
        }
        index++
      }
      if (code !== 44) return
      from = value = -1
      key = inside = undefined
      continue
    }
    if (isSpace(code)) continue
    if (from < 0) from = at
    const after = commentEnd(text, at, to)
    if (after > at) {
      at = after - 1
      continue
    }
    if (code === 58 && !isList && key === undefined) {
      key = keyText(text.slice(Math.max(from, value), at))
      value = -1
      continue
    }
    if (value < 0) value = at
    if (code === quote || code === apostrophe) at = stringEnd(text, at, to) - 1
    else if (isOpening(code)) {
      if (isList || key !== undefined) inside ??= { read: jsonEntries, body: at, base: 0 }
      at = containerEnd(text, at, to) - 1
    }
  }
}
