import { isSpace, LineWalker, skipSpace, trimEnd } from "../../entries/scanning.ts"

/** Columns of white space from `start` to `end`; a tab goes to the next multiple of four. */
export const columns = (text: string, start: number, end: number): number => {
  let column = 0
  for (let at = start; at < end; at++) column += text.charCodeAt(at) === 9 ? 4 - (column % 4) : 1
  return column
}

/** The number of repetitions of the character at `at`, at least 1. */
const run = (text: string, at: number, end: number): number => {
  const code = text.charCodeAt(at)
  let to = at + 1
  while (to < end && text.charCodeAt(to) === code) to++
  return to - at
}

/** Level of the ATX heading that begins at `at`, 0 for none; an empty heading does not count. */
const atxLevel = (text: string, at: number, end: number): number => {
  if (text.charCodeAt(at) !== 35) return 0
  const level = run(text, at, end)
  return level <= 6 && isSpace(text.charCodeAt(at + level)) && skipSpace(text, at + level, end) < end ? level : 0
}

/** Level that a line of only `=` or `-` gives to the paragraph above it, 0 for any other line. */
const setextLevel = (text: string, at: number, end: number): number => {
  const code = text.charCodeAt(at)
  if (code !== 61 && code !== 45) return 0
  return skipSpace(text, at + run(text, at, end), end) === end ? (code === 61 ? 1 : 2) : 0
}

/** Length of the fence of backticks or tildes at `at`, 0 for none; an opening fence may have an info string. */
export const fenceLength = (text: string, at: number, end: number, opens: boolean): number => {
  const code = text.charCodeAt(at)
  if (code !== 96 && code !== 126) return 0
  const length = run(text, at, end)
  if (length < 3) return 0
  const info = skipSpace(text, at + length, end)
  if (info === end) return length
  if (!opens) return 0
  const tick = code === 96 ? text.indexOf("`", info) : -1
  return tick >= 0 && tick < end ? 0 : length
}

/** `***`, `---` or `___`, with optional spaces. */
const isRule = (text: string, at: number, end: number): boolean => {
  const code = text.charCodeAt(at)
  if (code !== 42 && code !== 45 && code !== 95) return false
  let marks = 0
  for (let i = at; i < end; i++) {
    if (text.charCodeAt(i) === code) marks++
    else if (!isSpace(text.charCodeAt(i))) return false
  }
  return marks >= 3
}

/** Whether a list item begins at `at`; in a paragraph, a numbered item must start with 1. */
const isItem = (text: string, at: number, end: number, inParagraph: boolean): boolean => {
  const code = text.charCodeAt(at)
  const spaceAt = (i: number) => (i < end ? isSpace(text.charCodeAt(i)) : !inParagraph)
  if (code === 42 || code === 43 || code === 45) return spaceAt(at + 1)
  let to = at
  while (to < end && to - at < 9 && text.charCodeAt(to) >= 48 && text.charCodeAt(to) <= 57) to++
  if (to === at || (text[to] !== "." && text[to] !== ")") || !spaceAt(to + 1)) return false
  return !inParagraph || text.slice(at, to) === "1"
}

/** The row of dashes below the head of a table, the only row that identifies a table. */
export const isTableRule = (text: string, at: number, end: number): boolean => {
  let dashes = false
  let bars = false
  for (let i = at; i < end; i++) {
    const char = text.charAt(i)
    if (char === "-") dashes = true
    else if (char === "|") bars = true
    else if (char !== ":" && char !== " " && char !== "\t") return false
  }
  return dashes && bars
}

const blockTags =
  /^<\/?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?=[\s>]|\/>|$)/i

const spans: ReadonlyArray<readonly [RegExp, string]> = [
  [/^<!--/, "-->"],
  [/^<\?/, "?>"],
  [/^<!\[CDATA\[/, "]]>"],
  [/^<![a-z]/i, ">"],
  [/^<script(?=[\s>]|$)/i, "</script>"],
  [/^<pre(?=[\s>]|$)/i, "</pre>"],
  [/^<style(?=[\s>]|$)/i, "</style>"],
  [/^<textarea(?=[\s>]|$)/i, "</textarea>"]
]

/** What ends the HTML block that begins at `at`: the returned text, or a blank line (""); undefined if none begins. */
const htmlEnd = (text: string, at: number, end: number): string | undefined => {
  if (text.charCodeAt(at) !== 60) return undefined
  const line = text.slice(at, Math.min(end, at + 40))
  const span = spans.find(([begin]) => begin.test(line))
  return span !== undefined ? span[1] : blockTags.test(line) ? "" : undefined
}

/**
 * `text` is HTML, which may contain blank lines; `label` stands before what follows it: a target, attributes, a comment;
 * `depth` is an item's nesting level.
 */
export interface Block {
  readonly kind: "paragraph" | "item" | "code" | "table" | "text" | "rule" | "label"
  readonly start: number
  readonly end: number
  readonly depth: number
}

export interface Heading {
  readonly level: number
  readonly start: number
  readonly end: number
  /** The span of its words, with their markup. */
  readonly title: readonly [start: number, end: number]
}

export interface MarkdownSink {
  readonly block: (block: Block) => void
  readonly heading: (heading: Heading) => void
  /** The text of the last heading of this level or a deeper one ends before the next block. */
  readonly leave: (level: number) => void
}

interface Open {
  kind: Block["kind"]
  start: number
  end: number
  lines: number
  depth: number
  lastStart: number
}

const longestLabels = 400
/** Targets of HTML and of MyST, and comments. */
const labels =
  /^(?:(?:<(?:a|div|span)\s[^<>]{1,200}>(?:\s?<\/(?:a|div|span)>)?|\([^()\s]{1,200}\)=|<!--(?:[^-]|-(?!->))*-->)\s*)+$/i

/** Most lines of a setext heading: a longer paragraph above a row of dashes is followed by a rule. */
const setextLines = 3

/**
 * Reads the blocks of CommonMark (with GitHub's tables) in one pass, line by line, as far as passages need them.
 * Nothing in lists, quotes, code or HTML is a heading.
 */
export const scanMarkdown = (text: string, from: number, sink: MarkdownSink): void => {
  const line = new LineWalker(text, from)
  let open: Open | undefined
  let fence = 0
  let fenceChar = 0
  let html: string | undefined
  let inList = false
  let afterBlank = true

  const close = () => {
    if (open !== undefined) {
      const { end, kind, start } = open
      const isShort = (kind === "paragraph" || kind === "text") && end - start <= longestLabels
      sink.block(isShort && labels.test(text.slice(start, end)) ? { ...open, kind: "label" } : open)
    }
    open = undefined
    fence = 0
    html = undefined
  }
  const begin = (kind: Block["kind"], start: number, depth = 0): Open => {
    close()
    open = { kind, start, end: line.end, lines: 1, depth, lastStart: start }
    return open
  }
  const extend = (block: Open, at: number) => {
    block.end = line.end
    block.lines++
    block.lastStart = at
  }

  while (line.next()) {
    const { end } = line
    const at = skipSpace(text, line.start, end)
    const blank = at === end
    const indent = columns(text, line.start, at)
    const wasBlank = afterBlank
    afterBlank = blank

    if (open !== undefined && fence > 0) {
      extend(open, at)
      if (!blank && text.charCodeAt(at) === fenceChar && fenceLength(text, at, end, false) >= fence) close()
      continue
    }
    if (open !== undefined && html !== undefined && (html !== "" || !blank)) {
      extend(open, at)
      if (html !== "" && contains(text, html, line.start, end)) close()
      continue
    }
    if (blank) {
      // Indented code continues after blank lines; an open item does not, but its list does.
      if (open?.kind !== "code") close()
      continue
    }
    if (open?.kind === "code") {
      if (indent >= 4) {
        extend(open, at)
        continue
      }
      close()
    }
    if (inList && wasBlank && indent < 2 && !isItem(text, at, end, false)) inList = false
    const nested = inList && indent >= 2
    const paragraph = open !== undefined && (open.kind === "paragraph" || open.kind === "item")

    if (indent >= 4 && !inList && !paragraph) {
      begin("code", at)
      continue
    }
    if (indent < 4 && !nested) {
      const level = atxLevel(text, at, end)
      if (level > 0) {
        close()
        inList = false
        sink.heading({ level, start: at, end, title: [at + level, end] })
        continue
      }
      const under = open?.kind === "paragraph" && !inList && open.lines <= setextLines ? setextLevel(text, at, end) : 0
      if (under > 0 && open !== undefined && text.charCodeAt(open.lastStart) !== 62) {
        const heading = { level: under, start: open.start, end, title: [open.start, open.end] as const }
        open = undefined
        sink.heading(heading)
        continue
      }
    }
    if (indent < 4 || inList) {
      const length = fenceLength(text, at, end, true)
      if (length > 0) {
        begin("code", at, inList ? 1 : 0)
        fence = length
        fenceChar = text.charCodeAt(at)
        continue
      }
      if (isRule(text, at, end)) {
        begin("rule", at)
        close()
        if (!nested) inList = false
        continue
      }
      if (isItem(text, at, end, open?.kind === "paragraph" && !inList)) {
        begin("item", at, Math.min(8, indent >> 1))
        inList = true
        continue
      }
    }
    if (
      open !== undefined &&
      paragraph &&
      isTableRule(text, at, end) &&
      contains(text, "|", open.lastStart, open.end)
    ) {
      const head = open.lastStart
      open = open.lines > 1 ? { ...open, end: trimEnd(text, open.start, head) } : undefined
      begin("table", head)
      continue
    }
    const ends = htmlEnd(text, at, end)
    if (ends !== undefined) {
      begin("text", at)
      html = ends
      if (ends !== "" && contains(text, ends, at + 2, end)) close()
      continue
    }
    // A quote's blank line separates its paragraphs.
    const quote = text.charCodeAt(at) === 62
    if (quote && skipSpace(text, at + 1, end) === end) {
      if (open === undefined) begin("paragraph", at)
      else extend(open, at)
      close()
      continue
    }
    if (open === undefined || (quote && text.charCodeAt(open.start) !== 62)) begin("paragraph", at, inList ? 1 : 0)
    else extend(open, at)
  }
  close()
}

const contains = (text: string, part: string, from: number, to: number): boolean =>
  text.slice(from, to).toLowerCase().includes(part)
