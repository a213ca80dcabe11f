import { LineWalker } from "../../entries/lines.ts"
import type { Measure } from "./measure.ts"
import { addSpan } from "./pieces.ts"
import { eachSentence } from "../sentences.ts"
import { skipSpace, trimEnd } from "../../entries/space.ts"
import { cut, type Unit } from "./unit.ts"

/** Calls `visit` with each run of lines between blank lines, in order, from its first character to its last. */
export const eachParagraph = (
  text: string,
  from: number,
  to: number,
  visit: (start: number, end: number) => void
): void => {
  const line = new LineWalker(text, from, to)
  let start = -1
  let end = from
  while (line.next()) {
    // A form feed ends a page, and so its paragraph.
    const blank = skipSpace(text, line.start, line.end) === line.end
    if (start >= 0 && (blank || text.charCodeAt(line.start) === 12)) {
      visit(start, end)
      start = -1
    }
    if (blank) continue
    if (start < 0) start = skipSpace(text, line.start, line.end)
    end = line.end
  }
  if (start >= 0) visit(start, end)
}

/**
 * Typical for English prose. A paragraph with fewer characters per token is counted in vain; one with more is
 * segmented.
 */
const charactersPerToken = 5

/** Adds a paragraph: whole if it is short, else its sentences, or its lines if it is not wrapped prose. */
export const addProse = (
  m: Measure,
  units: Array<Unit>,
  paragraph: {
    readonly start: number
    readonly end: number
    readonly flow: number
    /** The cost of ending a passage after it; by default, its own last words decide. */
    readonly cut?: number
    /** Tokens already in the passage it begins in: headings, which must not be left behind. */
    readonly before?: number
  }
): void => {
  const { text } = m
  const start = skipSpace(text, paragraph.start, paragraph.end)
  const end = trimEnd(text, start, paragraph.end)
  if (start === end) return
  const { before = 0, flow } = paragraph
  const after = paragraph.cut ?? cutAfter(text, start, end)
  // Sentences are searched only if they are probably needed; a paragraph that was counted whole is not counted again.
  if (end - start <= (m.size - before) * charactersPerToken) {
    const tokens = m.count(start, end)
    if (tokens + before <= m.size) return addSpan(m, units, { start, end, cut: after, flow, several: true, tokens })
  }
  const lines = areRecords(text, start, end)
  const each = lines ? eachLine : eachSentence
  const between = lines ? cut.line : cut.sentence
  let at = start
  each(text, start, end, (stop) => {
    addSpan(m, units, { start: at, end: stop, cut: stop < end ? between : after, flow, several: lines })
    at = stop
  })
}

const eachLine = (text: string, from: number, to: number, visit: (end: number) => void): void => {
  const line = new LineWalker(text, from, to)
  while (line.next()) visit(Math.min(line.after, to))
}

const small = /^[^\p{L}]{0,3}[\p{Ll}\p{Lo}]/u

/** Lines read to find out what kind they are. */
const sample = 60

/** Whether lines are independent (a log, a table, verse): hardly any continues the way wrapped prose does. */
const areRecords = (text: string, start: number, end: number): boolean => {
  const line = new LineWalker(text, start, end)
  let lines = 0
  let wrapped = 0
  while (lines < sample && line.next()) {
    lines++
    if (lines > 1 && small.test(text.slice(line.start, Math.min(line.start + 8, line.end)).trimStart())) wrapped++
  }
  return lines >= 4 && wrapped < (lines - 1) * 0.15
}

const closed = /[.!?…。！？;,)\]|}>"'”’»」』]/

/** A sentence that introduces the next paragraph stays with it. */
const cutAfter = (text: string, start: number, end: number): number => {
  const last = text.charAt(end - 1)
  if (last === ":" || last === "：") return cut.introduction
  const title = end - start < 80 && !closed.test(last) && text.slice(start, end).search(/[\n\r]/) < 0
  return title ? cut.introduction : cut.block
}
