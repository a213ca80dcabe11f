import { LineWalker, skipSpace } from "./scanning.ts"
import type { Entry } from "./Entry.ts"
import { stringEnd } from "./json.ts"

const longestKey = 300

/** The parts of a dotted name. */
const parts = (name: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  let part = ""
  for (let at = 0; at < name.length; at++) {
    const char = name.charAt(at)
    if (char === '"' || char === "'") {
      const end = stringEnd(name, at, name.length)
      part += name.slice(at + 1, end - 1)
      at = end - 1
    } else if (char === ".") {
      found.push(part.trim())
      part = ""
    } else part += char
  }
  return [...found, part.trim()].filter((each) => each !== "")
}

/** The last character of a string on its line; an unclosed string is a mistake and ends with the line. */
const quoteEnd = (text: string, from: number, to: number): number => {
  for (let at = from + 1; at < to; at++) {
    const char = text.charAt(at)
    if (char === "\n") return at - 1
    if (char === "\\" && text.charAt(from) === '"') at++
    else if (char === text.charAt(from)) return at
  }
  return to - 1
}

/** The end of a value's last line: strings and lists may span several. */
const valueEnd = (text: string, from: number, to: number): number => {
  let depth = 0
  for (let at = from; at < to; at++) {
    const char = text.charAt(at)
    if (char === "\n" && depth <= 0) return at + 1
    if (char === "#") {
      const end = text.indexOf("\n", at)
      if (end < 0 || end >= to) return to
      at = end - 1
    } else if (char === '"' || char === "'") {
      const long = char.repeat(3)
      if (text.startsWith(long, at)) {
        const end = text.indexOf(long, at + 3)
        if (end < 0) return to
        at = end + 2
      } else {
        at = quoteEnd(text, at, to)
      }
    } else if (char === "[" || char === "{") depth++
    else if (char === "]" || char === "}") depth--
  }
  return to
}

/** Each line that begins a key or a table, with the comments above it. */
function* lines(text: string, body: number, to: number): Generator<{ from: number; at: number; isTable: boolean }> {
  const walker = new LineWalker(text, body, to)
  let above = -1
  let until = body
  while (walker.next()) {
    if (walker.start < until) continue
    const at = skipSpace(text, walker.start, walker.end)
    if (at === walker.end) continue
    const char = text.charAt(at)
    if (char === "#") {
      if (above < 0) above = walker.start
      continue
    }
    const from = above < 0 ? walker.start : above
    above = -1
    yield { from, at, isTable: char === "[" }
    until = char === "[" ? walker.end : valueEnd(text, at, to)
  }
}

/** The key of a line, if it is one. */
function* keyOf(
  text: string,
  { at, from }: { readonly at: number; readonly from: number },
  to: number
): Generator<Entry> {
  const equals = text.slice(at, Math.min(to, at + longestKey)).indexOf("=")
  if (equals <= 0) return
  yield {
    from,
    key: parts(text.slice(at, at + equals)),
    value: skipSpace(text, at + equals + 1, to),
    inside: undefined
  }
}

/** The keys of one table. */
function* keys(text: string, body: number, to: number): Generator<Entry> {
  for (const line of lines(text, body, to)) if (!line.isTable) yield* keyOf(text, line, to)
}

/** The keys above all tables, and the tables; tables of an array are numbered. */
export function* tomlEntries(text: string, body: number, to: number): Generator<Entry> {
  const counts = new Map<string, number>()
  let inTable = false
  for (const found of lines(text, body, to)) {
    const { at, from, isTable } = found
    inTable ||= isTable
    if (!isTable) {
      if (!inTable) yield* keyOf(text, found, to)
      continue
    }
    const end = text.indexOf("\n", at)
    const line = text.slice(at, Math.min(end < 0 ? to : end, at + longestKey))
    const name = /^\[\[?([^\]]*)\]/.exec(line)?.[1] ?? line
    const isList = line.startsWith("[[")
    const index = counts.get(name) ?? 0
    if (isList) counts.set(name, index + 1)
    yield {
      from,
      key: isList ? [...parts(name), `[${index}]`] : parts(name),
      value: at,
      inside: { read: keys, body: at, base: 0 }
    }
  }
}
