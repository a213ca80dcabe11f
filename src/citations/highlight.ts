import type { TextSpan } from "../model/Passage.ts"
import { message } from "../terms/pasted.ts"
import type { Language } from "../terms/languages.ts"
import { formsIn } from "../terms/terms.ts"
import { isLoneCharacter, scan } from "../terms/scan.ts"

/** Joins a span with those it overlaps or touches; a compound comes after its parts and begins before them. */
const merge = (spans: Array<{ start: number; end: number }>, start: number, end: number): void => {
  let from = start
  let to = end
  for (let last = spans.at(-1); last !== undefined && last.end >= from; last = spans.at(-1)) {
    from = Math.min(from, last.start)
    to = Math.max(to, last.end)
    spans.pop()
  }
  spans.push({ start: from, end: to })
}

/**
 * Finds the words of a text whose index terms are among the query's: stems, folded accents, parts of identifiers, pairs
 * of unspaced scripts, in a loaded language its own stems. Function words count only if the query has nothing else. Spans
 * are in order and never touch.
 */
export const highlighter = (query: string): ((text: string, language?: Language) => ReadonlyArray<TextSpan>) => {
  const asked = message(query)
  const languages = new Map<Language, ReadonlySet<string>>()
  return (text, language = "en") => {
    const wanted = languages.get(language) ?? new Set(formsIn(asked, language))
    languages.set(language, wanted)
    const lone = [...wanted].filter(isLoneCharacter)
    const spans: Array<{ start: number; end: number }> = []
    // A lone character begins a pair, and ends where the next pair begins.
    let loneStart = -1
    scan(
      text,
      (term, start, end) => {
        if (loneStart >= 0) merge(spans, loneStart, start)
        loneStart = -1
        if (wanted.has(term)) merge(spans, start, end)
        else if (lone.some((character) => term.startsWith(character))) loneStart = start
      },
      language
    )
    return spans
  }
}

/** The first of the longest runs of spans that fit into `maxChars`, as its first and last index. */
const densest = (spans: ReadonlyArray<TextSpan>, maxChars: number): readonly [number, number] => {
  let best: readonly [number, number] = [0, -1]
  let first = 0
  for (const [last, { end }] of spans.entries()) {
    while (first <= last && end - (spans[first] as TextSpan).start > maxChars) first++
    if (last - first > best[1] - best[0]) best = [first, last]
  }
  return best[1] < 0 ? [0, 0] : best
}

const space = /\s/
const sentenceEnd = /[.!?…。！？]["'”’)\]]?$/

/** Whether a sentence, a line or the text begins at `i`. */
const opensSentence = (text: string, i: number): boolean => {
  if (i === 0 || /[\n。！？]/.test(text.charAt(i - 1))) return true
  return space.test(text.charAt(i - 1)) && sentenceEnd.test(text.slice(Math.max(0, i - 4), i).trimEnd())
}

/** Whether the text may be cut at `i` without splitting a word or, in unspaced scripts, a character. */
const opensWord = (text: string, i: number): boolean =>
  i === 0 || i === text.length || space.test(text.charAt(i - 1)) || space.test(text.charAt(i))
const opensCharacter = (text: string, i: number): boolean => !/^[\uDC00-\uDFFF\p{M}]/u.test(text.slice(i, i + 2))

type Test = (text: string, i: number) => boolean

/** The first place from `from` to `to`, inclusive, that passes a test; the tests are tried in order. */
const seek = (text: string, from: number, to: number, ...tests: ReadonlyArray<Test>): number => {
  const step = from <= to ? 1 : -1
  for (const passes of tests) {
    for (let i = from; i !== to + step; i += step) if (passes(text, i)) return i
  }
  return to
}

/**
 * The first part of a text, at most `maxChars` long, that contains the most spans. It begins at a sentence if there is
 * room, else at a word, and ends at a word. `spans` are in order and do not overlap.
 */
export const bestExcerpt = (text: string, spans: ReadonlyArray<TextSpan>, maxChars: number): TextSpan => {
  if (text.length <= maxChars) return { start: 0, end: text.length }
  const [first, last] = densest(spans, maxChars)
  const from = spans[first]?.start ?? 0
  const to = Math.min(spans[last]?.end ?? 0, from + maxChars)

  const earliest = Math.max(0, to - maxChars)
  const lead = Math.max(earliest, from - Math.floor((maxChars - (to - from)) / 2))
  let start = seek(text, from, earliest, opensSentence)
  if (!opensSentence(text, start)) start = seek(text, lead, from, opensWord, opensCharacter)
  const latest = text.length - maxChars
  if (start > latest) start = seek(text, latest, start, opensSentence, opensWord, opensCharacter)

  const end = seek(text, Math.min(text.length, start + maxChars), Math.max(to, start), opensWord, opensCharacter)
  return trimmed(text, start, end)
}

/** The span without white space at its ends. */
const trimmed = (text: string, start: number, end: number): TextSpan => {
  const part = text.slice(start, end)
  const from = start + part.length - part.trimStart().length
  return { start: from, end: Math.max(from, start + part.trimEnd().length) }
}
