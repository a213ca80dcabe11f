import type { TextSpan } from "../model/Passage.ts"
import type { Found, Hit } from "./wire.ts"

/** As the server sets a weak match apart (ranking/relevance.ts). */
export const isLikely = ({ relevance = 1 }: Hit): boolean => relevance >= 0.1

const folded = (text: string): string => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase()

/** Words that say nothing of what is asked; only where the server has not told its terms. */
const empty = new Set(
  "a an and are as at be but by can do does for from how i if in is it its me my no not of on or so that the their them then there they this to was we were what when where which who why will with you your".split(
    " "
  )
)

/** Longer than any ending that a stem lacks. */
const longestEnding = 4

const isUnspaced = (text: string): boolean =>
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(text)

/** A term that adds less than this share of the best one is not worth a mark. */
const leastShare = 0.15

/** What is marked in the results: the terms that count, as the server says, else the question's own words. */
export const wordsToMark = (question: string, found?: Found): ReadonlyArray<string> => {
  const scores = new Map<string, number>()
  for (const { explain } of found?.results ?? []) {
    for (const { score, term } of explain?.keyword?.terms ?? []) {
      scores.set(folded(term), Math.max(score, scores.get(folded(term)) ?? 0))
    }
  }
  const best = Math.max(0, ...scores.values())
  const terms = [...scores].flatMap(([term, score]) => (score >= leastShare * best ? [term] : []))
  const own = (question.match(/[\p{L}\p{N}_]+/gu) ?? []).map(folded).filter((word) => !empty.has(word))
  return [...new Set(terms.length > 0 ? terms : own)].slice(0, 200)
}

const isOneOf = (word: string, wanted: ReadonlyArray<string>): boolean =>
  wanted.some((each) => {
    if (word === each) return true
    const stem = each.endsWith("i") && each.length > 3 ? each.slice(0, -1) : each
    return stem.length >= 3 && word.startsWith(stem) && word.length - stem.length <= longestEnding
  })

/** The words of a text to mark, in order; none touches another. */
export const matchesIn = (text: string, wanted: ReadonlyArray<string>): ReadonlyArray<TextSpan> => {
  if (wanted.length === 0) return []
  const spans: Array<TextSpan> = []
  const unspaced = wanted.filter(isUnspaced)
  for (const { 0: word, index } of text.matchAll(/[\p{L}\p{N}_]+/gu)) {
    if (unspaced.length > 0 && isUnspaced(word)) {
      for (let at = 0; at < word.length;) {
        const found = unspaced.find((each) => word.startsWith(each, at))
        if (found !== undefined) spans.push({ start: index + at, end: index + at + found.length })
        at += found?.length ?? 1
      }
      continue
    }
    const parts = word.replace(/([\p{Ll}\p{N}])(?=\p{Lu})/gu, "$1_").split("_")
    const all = parts.length > 1 ? [word, ...parts] : [word]
    if (all.some((each) => each !== "" && isOneOf(folded(each), wanted)))
      spans.push({ start: index, end: index + word.length })
  }
  return spans
}

/** What is shorter may be anywhere. */
const shortestQuote = 12

/** Where a text has a sentence of an answer word for word, whatever the spaces and quotes, and but for its marks `[1]`. */
export const quotedIn = (text: string, sentence: string): TextSpan | undefined => {
  const wanted = sentence.replace(/\[\d{1,3}\]|[\s“”"]/g, "")
  const places: Array<number> = []
  let packed = ""
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (/[\s“”"]/.test(character)) continue
    packed += character
    places.push(at)
  }
  const found = wanted.length < shortestQuote ? -1 : packed.indexOf(wanted)
  return found === -1 ? undefined : { start: places[found]!, end: places[found + wanted.length - 1]! + 1 }
}

/** The part of a text of about `most` characters with the most matches; it begins and ends at a word. */
export const excerpt = (text: string, wanted: ReadonlyArray<string>, most: number): TextSpan => {
  if (text.length <= most) return { start: 0, end: text.length }
  const spans = matchesIn(text, wanted)
  let best = { from: 0, count: 0 }
  for (let first = 0, last = 0; first < spans.length; first++) {
    while (last < spans.length && spans[last]!.end - spans[first]!.start <= most) last++
    if (last - first > best.count) best = { from: spans[first]!.start, count: last - first }
  }
  const lead = Math.max(0, Math.min(best.from - Math.floor(most / 5), text.length - most))
  const line = text.lastIndexOf("\n", best.from) + 1
  const start = line >= lead ? line : lead === 0 ? 0 : text.indexOf(" ", lead) + 1
  const limit = start + most
  const end = limit >= text.length ? text.length : Math.max(text.lastIndexOf(" ", limit), start + Math.floor(most / 2))
  return { start, end }
}

/** A number of things, in words. */
export const count = (number: number, one: string): string =>
  `${number.toLocaleString("en")} ${one}${number === 1 ? "" : "s"}`

export const bytes = (size: number): string => {
  const units = ["bytes", "KB", "MB", "GB", "TB"]
  let [value, unit] = [size, 0]
  while (value >= 1000 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1]
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`
}

const time = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" })

/** A time, as people read it. */
export const when = (at: number | string): string => {
  const date = new Date(at)
  return Number.isNaN(date.getTime()) ? String(at) : time.format(date)
}

export const seconds = (ms: number): string =>
  ms < 1000 ? `${Math.round(ms)} ms` : ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`

/** What the server says, as a sentence. */
export const sentence = (text: string): string =>
  `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${text.endsWith(".") || text.endsWith("?") ? "" : "."}`

/** The last part of a source's path, and what is before it. */
export const splitSource = (source: string): readonly [folder: string, name: string] => {
  const at = Math.max(source.lastIndexOf("/"), source.lastIndexOf("\\")) + 1
  return at >= source.length ? ["", source] : [source.slice(0, at), source.slice(at)]
}
