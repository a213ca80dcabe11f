import { isSpace, LineWalker, skipSpace, skipWord, trimEnd } from "../../entries/scanning.ts"
import { lazily } from "../../model/lazily.ts"
import { eachSentence } from "../sentences.ts"
import { append, cut, type Draft, fits, type Measure, type Unit } from "./unit.ts"

const segmenter = lazily(() => new Intl.Segmenter("en", { granularity: "grapheme" }))

/** How far to search for a grapheme's bounds; longer ones are stacks of marks made to break software. */
const reach = 64

const splitsPair = (text: string, at: number): boolean =>
  at > 0 && (text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800

/** The last offset up to `to` that splits no surrogate pair; always after `from`. */
const wholePairs = (text: string, from: number, to: number): number =>
  splitsPair(text, to) ? (to - 1 > from ? to - 1 : to + 1) : to

/** Bounds of the grapheme that a cut at `at` would split; both `at` if it splits none. */
const graphemeAround = (text: string, from: number, at: number): readonly [start: number, end: number] => {
  if (at <= from || at >= text.length) return [at, at]
  const right = text.charCodeAt(at)
  // No grapheme but CR LF joins characters below U+0300.
  if (right !== 10 && right < 0x300 && text.charCodeAt(at - 1) < 0x300) return [at, at]
  const base = wholePairs(text, from, Math.max(from, at - reach))
  const around = segmenter()
    .segment(text.slice(base, at + reach))
    .containing(at - base)
  if (around === undefined || base + around.index === at) return [at, at]
  return [base + around.index, base + around.index + around.segment.length]
}

/** Adds a span as one unit, or if no passage can hold it, as pieces cut between words, or else between characters. */
export const addSpan = (m: Measure, units: Array<Unit>, draft: Draft): void => {
  const end = trimEnd(m.text, draft.start, draft.end)
  const start = skipSpace(m.text, draft.start, end)
  if (start === end) return
  // A token has at least one character, so a span that is much too long need not be counted.
  if (end - start <= m.longest) {
    const tokens = draft.tokens ?? m.count(start, end)
    if (fits(m, tokens, start, end)) {
      const { cut, flow, several = false } = draft
      append(m, units, { start, end, tokens, extra: m.extra(start, end), cut, flow, several })
      return
    }
  }
  addWords(m, units, { ...draft, start, end })
}

/** Cuts between words about every half `size` characters, preferably after a comma, or better at a line's end. */
const addWords = (m: Measure, units: Array<Unit>, { cut: after, end, flow, start }: Draft): void => {
  const least = Math.max(1, m.size >> 2)
  for (let at = start; at < end;) {
    const found = at + 3 * least < end ? breakAfter(m.text, at + least, at + 3 * least, end) : undefined
    const stop = found === undefined ? end : trimEnd(m.text, at, found.at)
    const piece = { start: at, end: stop, cut: found === undefined ? after : found.cut, flow }
    const tokens = stop - at <= m.longest ? m.count(at, stop) : Infinity
    if (fits(m, tokens, at, stop)) append(m, units, { ...piece, tokens, extra: m.extra(at, stop), several: false })
    else addCharacters(m, units, piece)
    at = found === undefined ? end : skipSpace(m.text, found.at, end)
  }
}

/** The best white space in `[from, to)`, else the first after it; undefined if there is none before `end`. */
const breakAfter = (text: string, from: number, to: number, end: number) => {
  let best: { readonly at: number; readonly cut: number } | undefined
  for (let at = skipWord(text, from, to); at < to; at = skipWord(text, skipSpace(text, at, to), to)) {
    const cost = breakCost(text, at, end)
    if (best === undefined || cost < best.cut) best = { at, cut: cost }
    if (cost === cut.clause) break
  }
  if (best !== undefined) return best
  const at = skipWord(text, to, end)
  return at === end ? undefined : { at, cut: breakCost(text, at, end) }
}

const breakCost = (text: string, at: number, end: number): number => {
  for (let i = at; i < end && isSpace(text.charCodeAt(i)); i++) {
    const code = text.charCodeAt(i)
    if (code === 10 || code === 13) return cut.clause
  }
  return ",;:)]—–-".includes(text.charAt(at - 1)) ? cut.clause : cut.word
}

const good = " \t\n\r;,})]>&|。，、；：！？」』）"

/** A place to cut in the last quarter before `to`, after white space or a mark; else `to`. */
const niceCut = (text: string, from: number, to: number): number => {
  const least = to - ((to - from) >> 2)
  for (let at = to; at > least && at > from + 1; at--) if (good.includes(text.charAt(at - 1))) return at
  return to
}

/** Cuts between characters, each piece as long as fits: there are no better places. */
const addCharacters = (m: Measure, units: Array<Unit>, { cut: after, end, flow, start }: Draft): void => {
  let step = m.width
  for (let at = start; at < end;) {
    const piece = longest(m, at, end, step)
    const stop = trimEnd(m.text, at, piece.end)
    const next = skipSpace(m.text, piece.end, end)
    const extra = m.extra(at, stop)
    append(m, units, {
      start: at,
      end: stop,
      tokens: piece.tokens,
      extra,
      cut: next < end ? cut.character : after,
      flow,
      several: false
    })
    const fill = Math.max(piece.tokens / m.size, (stop - at + extra) / m.width)
    step = Math.max(1, Math.min(m.width, Math.ceil((stop - at) / fill)))
    at = next
  }
}

/** The piece from `at` of about `step` characters, shortened until it fits; at least one character. */
const longest = (m: Measure, at: number, end: number, step: number): { end: number; tokens: number } => {
  let stop = at + step >= end ? end : niceCut(m.text, at, at + step)
  for (;;) {
    if (stop < end) {
      const [first, last] = graphemeAround(m.text, at, stop)
      if (first > at) stop = first
      else {
        const whole = last > stop && last <= end ? m.count(at, last) : Infinity
        if (fits(m, whole, at, last)) return { end: last, tokens: whole }
        stop = wholePairs(m.text, at, stop)
      }
    }
    const tokens = m.count(at, stop)
    const length = stop - at
    const over = Math.max(tokens / m.size, (length + m.extra(at, stop)) / m.width)
    const shorter = wholePairs(m.text, at, at + Math.max(1, Math.min(length - 1, Math.floor((length / over) * 0.95))))
    if (over <= 1 || shorter >= stop) return { end: stop, tokens }
    stop = niceCut(m.text, at, shorter)
  }
}

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

/** Typical for English prose: a paragraph with fewer characters per token is counted in vain. */
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
