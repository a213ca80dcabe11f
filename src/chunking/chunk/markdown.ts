import { LineWalker } from "../../entries/lines.ts"
import { atxLevel, columns, fenceLength, htmlEnd, isItem, isRule, isTableRule, setextLevel } from "./markdownLine.ts"
import { skipSpace, trimEnd } from "../../entries/space.ts"

/** `text` is HTML, which may contain blank lines; `depth` is an item's nesting level. */
export interface Block {
  readonly kind: "paragraph" | "item" | "code" | "table" | "text" | "rule"
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
  /** True ends the scan. */
  readonly heading: (heading: Heading) => boolean
}

interface Open {
  kind: Block["kind"]
  start: number
  end: number
  lines: number
  depth: number
  lastStart: number
}

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
    if (open !== undefined) sink.block(open)
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
        if (sink.heading({ level, start: at, end, title: [at + level, end] })) return
        continue
      }
      const under = open?.kind === "paragraph" && !inList && open.lines <= setextLines ? setextLevel(text, at, end) : 0
      if (under > 0 && open !== undefined && text.charCodeAt(open.lastStart) !== 62) {
        const heading = { level: under, start: open.start, end, title: [open.start, open.end] as const }
        open = undefined
        if (sink.heading(heading)) return
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
