import type { TextSpan } from "../model/Passage.ts"

/** What a block of Markdown is. */
type Shape =
  | { readonly kind: "heading"; readonly level: number; readonly text: TextSpan }
  | { readonly kind: "paragraph"; readonly text: TextSpan }
  | { readonly kind: "quote"; readonly text: TextSpan }
  | { readonly kind: "item"; readonly depth: number; readonly mark: string; readonly text: TextSpan }
  | { readonly kind: "code"; readonly language: string; readonly text: TextSpan }
  | { readonly kind: "rule" }
  | { readonly kind: "table"; readonly rows: ReadonlyArray<ReadonlyArray<TextSpan>> }

/** A block, and where it is. */
export type Block = TextSpan & Shape

interface Line extends TextSpan {
  readonly text: string
}

const linesOf = (source: string): ReadonlyArray<Line> => {
  const lines: Array<Line> = []
  for (let start = 0; start <= source.length;) {
    const found = source.indexOf("\n", start)
    const end = found === -1 ? source.length : found
    lines.push({ start, end, text: source.slice(start, end) })
    start = end + 1
  }
  return lines
}

const trimmed = (source: string, start: number, end: number): TextSpan => {
  let [from, to] = [start, end]
  while (from < to && /\s/.test(source.charAt(from))) from++
  while (to > from && /\s/.test(source.charAt(to - 1))) to--
  return { start: from, end: to }
}

/** The cells of a table's row. */
const cellsOf = (source: string, line: Line): ReadonlyArray<TextSpan> => {
  const cells: Array<TextSpan> = []
  const { end, start } = trimmed(source, line.start, line.end)
  let from = source.charAt(start) === "|" ? start + 1 : start
  for (let at = from; at <= end; at++) {
    if (at < end && (source.charAt(at) !== "|" || source.charAt(at - 1) === "\\")) continue
    if (at === end && from >= end) break
    cells.push(trimmed(source, from, at))
    from = at + 1
  }
  return cells
}

const isDelimiter = (text: string): boolean => text.includes("-") && text.includes("|") && /^[\s|:-]+$/.test(text)

/** The mark and the language of a line that opens a block of code. */
const fenceIn = (text: string): { readonly mark: string; readonly language: string } | undefined => {
  const line = text.trim()
  const sign = line.charAt(0)
  if (sign !== "`" && sign !== "~") return undefined
  let length = 1
  while (line.charAt(length) === sign) length++
  const language = line.slice(length).trim()
  return length < 3 || language.includes("`") ? undefined : { mark: line.slice(0, length), language }
}
const heading = /^ {0,3}(#{1,6})(?:\s|$)/
const item = /^(\s{0,20})([-*+]|\d{1,9}[.)])\s/
const isRule = (text: string): boolean =>
  /^[-*_](?: ?[-*_]){2,79}$/.test(text.trim().slice(0, 200)) && text.length < 200
const isBlank = (text: string): boolean => text.trim() === ""

const begins = (text: string): boolean =>
  isBlank(text) ||
  fenceIn(text) !== undefined ||
  heading.test(text) ||
  item.test(text) ||
  text.startsWith(">") ||
  isRule(text)

/** The blocks of a text, in order; each line is in one of them, or blank. Linear in the text's length. */
export const blocksOf = (source: string): ReadonlyArray<Block> => {
  const lines = linesOf(source)
  const blocks: Array<Block> = []
  let at = 0
  /** The end of the lines from here on that pass. */
  const while_ = (from: number, passes: (line: Line) => boolean): number => {
    let to = from
    while (to < lines.length && passes(lines[to]!)) to++
    return to
  }
  if (lines[0]?.text.trim() === "---") {
    const end = lines.findIndex(({ text }, n) => n > 0 && n < 200 && text.trim() === "---")
    if (end > 0) {
      const text = { start: lines[1]!.start, end: lines[end - 1]!.end }
      blocks.push({ kind: "code", language: "yaml", text, start: 0, end: lines[end]!.end })
      at = end + 1
    }
  }
  while (at < lines.length) {
    const line = lines[at]!
    const { end, start, text } = line
    const opening = fenceIn(text)
    const level = heading.exec(text)?.[1]
    const marked = item.exec(text)
    let to = at + 1
    let shape: Shape | undefined
    if (opening !== undefined) {
      const { language, mark } = opening
      const close = while_(to, (each) => !each.text.trim().startsWith(mark))
      const from = Math.min(end + 1, source.length)
      shape = { kind: "code", language, text: { start: from, end: Math.max(from, lines[close - 1]!.end) } }
      to = close + 1
    } else if (level !== undefined) {
      const from = start + text.indexOf(level) + level.length
      shape = { kind: "heading", level: level.length, text: trimmed(source, from, end) }
    } else if (isRule(text) && marked === null) shape = { kind: "rule" }
    else if (text.includes("|") && isDelimiter(lines[to]?.text ?? "")) {
      to = while_(at + 2, (each) => each.text.includes("|") && !isBlank(each.text))
      shape = { kind: "table", rows: [line, ...lines.slice(at + 2, to)].map((row) => cellsOf(source, row)) }
    } else if (marked !== null) {
      to = while_(to, (each) => !begins(each.text))
      const depth = Math.min(4, Math.floor(marked[1]!.length / 2))
      const piece = trimmed(source, start + marked[0].length, lines[to - 1]!.end)
      shape = { kind: "item", depth, mark: marked[2]!, text: piece }
    } else if (text.startsWith(">")) {
      to = while_(to, (each) => each.text.startsWith(">"))
      shape = { kind: "quote", text: { start: start + 1, end: lines[to - 1]!.end } }
    } else if (!isBlank(text)) {
      to = while_(to, (each) => !begins(each.text))
      shape = { kind: "paragraph", text: { start, end: lines[to - 1]!.end } }
    }
    if (shape !== undefined) blocks.push({ ...shape, start, end: lines[Math.min(to, lines.length) - 1]!.end })
    at = to
  }
  return blocks
}

/** A run of a block's text. What a link leads to is never followed: it is only shown. */
export type Inline =
  | (TextSpan & { readonly kind: "text" })
  | (TextSpan & { readonly kind: "code" })
  | (TextSpan & { readonly kind: "strong" | "emphasis"; readonly inner: ReadonlyArray<Inline> })
  | (TextSpan & { readonly kind: "link"; readonly inner: ReadonlyArray<Inline>; readonly to: string })

const deepest = 4
/** Beyond this, a text is shown as it is. */
const longest = 20_000

/** The end of what a mark opens, within the paragraph. */
const closing = (source: string, mark: string, from: number, end: number): number => {
  const found = source.indexOf(mark, from)
  return found === -1 || found >= end || found === from ? -1 : found
}

/** Reads code, emphasis and links; everything else is text. */
export const inlinesOf = (source: string, { end, start }: TextSpan, depth = 0): ReadonlyArray<Inline> => {
  const parts: Array<Inline> = []
  let plain = start
  let at = start
  const flush = (to: number) => {
    if (to > plain) parts.push({ kind: "text", start: plain, end: to })
  }
  if (end - start > longest || depth > deepest) return [{ kind: "text", start, end }]
  // A mark that nothing closes is looked for once only.
  const unclosed = new Set<string>()
  const closes = (mark: string, from: number): number => {
    if (unclosed.has(mark)) return -1
    const found = closing(source, mark, from, end)
    if (found === -1 && source.indexOf(mark, from) !== from) unclosed.add(mark)
    return found
  }
  while (at < end) {
    const character = source.charAt(at)
    const next = source.charAt(at + 1)
    let part: Inline | undefined
    let [from, to] = [at, at]
    const inner = (start: number, end: number) => ({
      start,
      end,
      inner: inlinesOf(source, { start, end }, depth + 1)
    })
    if (character === "`") {
      const close = closes("`", at + 1)
      if (close !== -1) part = { kind: "code", start: at + 1, end: close }
      to = close + 1
    } else if ((character === "*" || character === "_") && next === character) {
      const close = closes(character + character, at + 2)
      if (close !== -1 && !/\s/.test(source.charAt(at + 2))) part = { kind: "strong", ...inner(at + 2, close) }
      to = close + 2
    } else if (character === "*" || (character === "_" && !/[\p{L}\p{N}]/u.test(source.charAt(at - 1)))) {
      const close = closes(character, at + 1)
      if (close !== -1 && !/\s/.test(next) && !/\s/.test(source.charAt(close - 1))) {
        part = { kind: "emphasis", ...inner(at + 1, close) }
      }
      to = close + 1
    } else if (character === "[") {
      const middle = closes("](", at + 1)
      const close = middle === -1 ? -1 : closing(source, ")", middle + 2, end)
      if (close !== -1 && close - at < 2000 && !source.slice(at + 1, middle).includes("[")) {
        part = { kind: "link", ...inner(at + 1, middle), to: source.slice(middle + 2, close) }
        // An image's mark goes with it.
        if (source.charAt(at - 1) === "!" && at > plain) from = at - 1
      }
      to = close + 1
    }
    if (part === undefined) at++
    else {
      flush(from)
      parts.push(part)
      at = plain = to
    }
  }
  flush(end)
  return parts
}
