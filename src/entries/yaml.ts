import { LineWalker } from "./scanning.ts"
import type { Entry, Inside } from "./Entry.ts"
import { jsonEntries, stringEnd } from "./json.ts"

const longestKey = 300

const blankOr = (text: string, at: number, end: number): boolean => at >= end || " \t".includes(text.charAt(at))

/** First character of a line that is not a space. */
const indentEnd = (text: string, start: number, end: number): number => {
  let at = start
  while (at < end && text.charCodeAt(at) === 32) at++
  return at
}

const isDash = (text: string, at: number, end: number): boolean => text.charAt(at) === "-" && blankOr(text, at + 1, end)

/** The first colon that ends a key: one before white space. */
const colonAt = (text: string, from: number, limit: number, end: number): number => {
  for (let at = from; at < limit; at++) if (text.charCodeAt(at) === 58 && blankOr(text, at + 1, end)) return at
  return -1
}

/** A line's key at `at`, and where its value would begin. */
const keyAt = (text: string, at: number, end: number): { readonly key: string; readonly after: number } | undefined => {
  const first = text.charAt(at)
  if ("[]{}>|%@`#,&*!".includes(first)) return undefined
  const limit = Math.min(end, at + longestKey)
  const isQuoted = first === '"' || first === "'"
  const colon = isQuoted ? indentEnd(text, stringEnd(text, at, limit), limit) : colonAt(text, at, limit, end)
  if (colon < 0 || colon >= limit || text.charAt(colon) !== ":" || !blankOr(text, colon + 1, end)) return undefined
  const raw = text.slice(at, colon).trim()
  return { key: isQuoted ? raw.slice(1, -1) : raw, after: colon + 1 }
}

/** The value after a key or a dash, past anchors and tags. */
const valueAt = (text: string, from: number, end: number): number => {
  let at = from
  for (;;) {
    while (at < end && " \t".includes(text.charAt(at))) at++
    if (at >= end || text.charAt(at) === "#") return end
    if (!"&!".includes(text.charAt(at))) return at
    while (at < end && !" \t".includes(text.charAt(at))) at++
  }
}

const isBlankOrComment = (text: string, at: number, end: number): boolean =>
  at >= end || text.charAt(at) === "#" || text.charAt(at) === "\r"

/** The inside of an entry whose value begins at `value`, on the same line or below. */
const insideOf = (text: string, value: number, walker: LineWalker, to: number, base: number): Inside | undefined => {
  if (value < walker.end) {
    if ("[{".includes(text.charAt(value))) return { read: jsonEntries, body: value, base: 0 }
    return undefined
  }
  const below = new LineWalker(text, walker.after, to)
  while (below.next()) {
    const at = indentEnd(text, below.start, below.end)
    if (isBlankOrComment(text, at, below.end)) continue
    const column = at - below.start
    const isInside = column > base || (column === base && isDash(text, at, below.end))
    return isInside ? { read: yamlEntries, body: below.start, base: column } : undefined
  }
  return undefined
}

/** The inside of a list item on the line of its dash: keys, or a list. */
const insideItem = (text: string, value: number, walker: LineWalker, to: number, base: number): Inside | undefined =>
  value < walker.end && (isDash(text, value, walker.end) || keyAt(text, value, walker.end) !== undefined)
    ? { read: yamlEntries, body: value, base: base + (value - indentEnd(text, walker.start, walker.end)) }
    : insideOf(text, value, walker, to, base)

/** The keys or items at one indentation; `body` may follow a dash. */
export function* yamlEntries(text: string, body: number, to: number, base: number): Generator<Entry> {
  const walker = new LineWalker(text, body, to)
  let index = 0
  let above = -1
  let isMap = false
  for (let first = true; walker.next(); first = false) {
    const at = indentEnd(text, walker.start, walker.end)
    const column = first ? base : at - walker.start
    if (at >= walker.end) continue
    if (column <= base && text.charAt(at) === "#") {
      if (above < 0) above = walker.start
      continue
    }
    const from = above < 0 ? walker.start : above
    above = -1
    if (column !== base) continue
    if (isDash(text, at, walker.end)) {
      // A list may be directly below its key, at the same indentation.
      if (isMap) continue
      const value = valueAt(text, at + 1, walker.end)
      yield { from, key: index++, value, inside: insideItem(text, value, walker, to, base) }
      continue
    }
    const found = keyAt(text, at, walker.end)
    if (found === undefined) continue
    isMap = true
    const value = valueAt(text, found.after, walker.end)
    yield { from, key: [found.key], value, inside: insideOf(text, value, walker, to, base) }
  }
}

const isDivider = (text: string, start: number, end: number): boolean =>
  text.startsWith("---", start) && blankOr(text, start + 3, end)

/** Where the keys of a document begin, and their indentation. */
const bodyOf = (text: string, from: number, to: number): Inside => {
  const walker = new LineWalker(text, from, to)
  while (walker.next()) {
    const at = indentEnd(text, walker.start, walker.end)
    if (isBlankOrComment(text, at, walker.end) || isDivider(text, walker.start, walker.end)) continue
    if (text.charAt(at) === "%") continue
    if ("[{".includes(text.charAt(at))) return { read: jsonEntries, body: at, base: 0 }
    return { read: yamlEntries, body: from, base: at - walker.start }
  }
  return { read: yamlEntries, body: from, base: 0 }
}

/** The documents of a file, separated by `---`. */
function* documents(text: string, body: number, to: number): Generator<Entry> {
  const walker = new LineWalker(text, body, to)
  let from = body
  let index = 0
  while (walker.next()) {
    if (!isDivider(text, walker.start, walker.end) || walker.start === body) continue
    if (text.slice(from, walker.start).trim() !== "")
      yield { from, key: index++, value: from, inside: bodyOf(text, from, walker.start) }
    from = walker.start
  }
  yield { from, key: index, value: from, inside: bodyOf(text, from, to) }
}

/** A YAML file: its keys, or its documents if it has several. */
export const yamlFile = (text: string): Inside => {
  let count = 0
  for (const { from } of documents(text, 0, text.length)) {
    count++
    if (count > 1 && from > 0) return { read: documents, body: 0, base: 0 }
  }
  return bodyOf(text, 0, text.length)
}
