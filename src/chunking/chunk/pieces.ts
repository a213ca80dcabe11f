import { graphemeAround, wholePairs } from "./graphemes.ts"
import type { Measure } from "./measure.ts"
import { isSpace, skipSpace, skipWord, trimEnd } from "../../entries/space.ts"
import { append, cut, type Draft, fits, type Unit } from "./unit.ts"

/** Adds a span as one unit, or if no passage can hold it, as pieces cut between words, or else between characters. */
export const addSpan = (m: Measure, units: Array<Unit>, draft: Draft): void => {
  const end = trimEnd(m.text, draft.start, draft.end)
  const start = skipSpace(m.text, draft.start, end)
  if (start === end) return
  // A token has at least one character, so a span that is much too long need not be counted.
  if (end - start <= m.width) {
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
    const tokens = stop - at <= m.width ? m.count(at, stop) : Infinity
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
