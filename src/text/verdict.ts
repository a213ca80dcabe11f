import type { Verdict } from "../model/Verdict.ts"
import { eachSentence } from "./chunk/sentences.ts"
import { languageOf } from "./language.ts"
import { functionWords } from "./terms/functionWords.ts"
import { terms } from "./terms.ts"

/** The support from which a sentence is supported, and below which it is not found: see docs/answers.md. */
export const supportThreshold = 0.5
export const absenceThreshold = 0.35

/** From this share of the claim's content terms on, a sentence of the passage is about the same. */
const alike = 0.5
/** The same, if only a negation distinguishes them. */
const nearlySame = 0.6

/** Words of scripts that separate them by spaces. */
const letters = String.raw`\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}_`
const token = new RegExp(String.raw`[${letters}]+(?:[.,'\u2019:/-][${letters}]+)*%?`, "gu")
const tokensOf = (text: string): ReadonlyArray<string> => text.match(token) ?? []

const numberWords = new Map(
  "zero one two three four five six seven eight nine ten eleven twelve".split(" ").map((word, n) => [word, String(n)])
)
for (const [n, word] of "twenty thirty forty fifty sixty seventy eighty ninety".split(" ").entries()) {
  numberWords.set(word, String(20 + 10 * n))
}

/** `1,000` and `1000` are the same number, and so are `v1.2` and `1.2`; undefined: not a number. */
const numberOf = (word: string): string | undefined => {
  const spelt = numberWords.get(word.toLowerCase())
  if (spelt !== undefined) return spelt
  const [digits] = /^\d+(?:[.,]\d+)*/.exec(word.replace(/^v(?=\d)/i, "")) ?? []
  if (digits === undefined) return undefined
  // `64MB` is a number with a unit; `3DES` and `2nd` are not.
  const rest = word.replace(/^v(?=\d)/i, "").slice(digits.length)
  if (!/^(?:%|s|ms|m|h|d|x|[kmgt]i?b|px)?$/i.test(rest)) return undefined
  return /^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(digits) ? digits.replaceAll(",", "") : digits
}

/** A name in the form that programs and standards use: `llm.timeout_ms`, `SCRAM-SHA-256`, `autoSelectFamily`. */
const isIdentifier = (word: string): boolean =>
  numberOf(word) === undefined &&
  (/_|\p{Ll}\p{Lu}|\p{L}[.:/]\p{L}/u.test(word) ||
    (/\d/.test(word) && /\p{L}/u.test(word)) ||
    /^\p{Lu}{2,}$/u.test(word))

const content = (text: string): ReadonlyArray<string> => terms(text).filter((term) => !functionWords.has(term))

const shareOf = (wanted: ReadonlyArray<string>, there: ReadonlySet<string>): number =>
  wanted.length === 0 ? 0 : wanted.filter((term) => there.has(term)).length / wanted.length

/** The passage's sentence that is closest to the claim, and its share of the claim's terms. */
const nearest = (claim: ReadonlyArray<string>, text: string) => {
  let best = { text: "", share: 0 }
  for (const paragraph of text.matchAll(/[^\n]+/g)) {
    let from = paragraph.index
    eachSentence(text, from, from + paragraph[0].length, (end) => {
      const sentence = text.slice(from, end)
      const share = shareOf(claim, new Set(terms(sentence)))
      if (share > best.share) best = { text: sentence, share }
      from = end
    })
  }
  return best
}

const negations = new Set("not no never nor neither nobody without cannot none nothing hardly".split(" "))
const isNegation = (word: string): boolean => negations.has(word) || /n['’]t$/.test(word)

/** The terms of a sentence, by whether the nearest preceding negation in the clause applies to them. */
const polarity = (sentence: string) => {
  const negated = new Set<string>()
  const stated = new Set<string>()
  for (const clause of sentence.split(/[,;:()]|\b(?:but|whereas|while)\b/)) {
    let isNegated = false
    for (const word of tokensOf(clause.toLowerCase())) {
      if (isNegation(word)) {
        isNegated = true
        continue
      }
      const [term] = content(word)
      if (term === undefined) continue
      ;(isNegated ? negated : stated).add(term)
      isNegated = false
    }
  }
  return { negated, stated }
}

const isDenied = (claim: string, source: string): boolean => {
  const [a, b] = [polarity(claim), polarity(source)]
  const opposes = (one: typeof a, other: typeof a): boolean =>
    [...one.negated].some((term) => !one.stated.has(term) && other.stated.has(term) && !other.negated.has(term))
  return opposes(a, b) || opposes(b, a)
}

/** Words that each contradict or exclude the others in the same line. */
const rivals = [
  "enable disable",
  "allow refuse forbid deny",
  "increase decrease",
  "always never",
  "true false",
  "minimum maximum",
  "more less fewer",
  "higher lower",
  "first last",
  "all none nobody",
  "anyone nobody",
  "read write execute",
  "encrypt decrypt",
  "synchronous asynchronous",
  "required optional",
  "add remove",
  "start stop",
  "open closed",
  "success failure",
  "input output",
  "client server",
  "millisecond second minute hour day week month year",
  "byte kilobyte megabyte gigabyte",
  "binary decimal hexadecimal octal",
  "january february march april may june july august september october november december",
  "monday tuesday wednesday thursday friday saturday sunday"
].map((line) => new Set(terms(line)))

/** Whether the claim has a rival that the whole passage lacks, while the closest sentence has another. */
const isRivalled = (claim: ReadonlySet<string>, source: ReadonlySet<string>, passage: ReadonlySet<string>): boolean =>
  rivals.some(
    (line) =>
      [...line].some((term) => claim.has(term) && !passage.has(term)) &&
      [...line].some((term) => source.has(term) && !claim.has(term))
  )

const numbersIn = (text: string): ReadonlySet<string> =>
  new Set(
    tokensOf(text)
      .flatMap((word) => word.split(/[:/-]/).concat(word))
      .flatMap((word) => numberOf(word) ?? [])
  )

const units = new Set(
  terms("millisecond second minute hour day week month year byte kilobyte megabyte gigabyte percent")
)

/** The numbers that a sentence states; `one` and `two` only before a unit, since they have many other uses. */
const numbersClaimed = (sentence: string): ReadonlyArray<string> => {
  const words = tokensOf(sentence)
  return words.flatMap((word, at) => {
    const number = numberOf(word)
    if (number === undefined) return []
    const isVague = /^(?:zero|one|two)$/i.test(word)
    return isVague && !terms(words[at + 1] ?? "").some((term) => units.has(term)) ? [] : [number]
  })
}

/** The names that a sentence states: identifiers, and in English, capitalised words within the sentence. */
const namesClaimed = (sentence: string, isEnglish: boolean): ReadonlyArray<string> =>
  tokensOf(sentence).filter(
    (word, at) => isIdentifier(word) || (isEnglish && at > 0 && /^\p{Lu}\p{L}/u.test(word) && word !== "I")
  )

export interface Evidence {
  readonly sentence: string
  /** The passage, with its title and headings. */
  readonly passage: string
  /** 0 to 1: how far both are about the same thing, by their terms and vectors. */
  readonly support: number
}

/**
 * Checks a sentence against a passage. Its numbers and names must occur there. It must not state what the passage
 * negates, or negate what the passage states. Otherwise the verdict follows the support by its words and meaning.
 */
export const verdictOf = ({ passage, sentence, support }: Evidence): Verdict => {
  const claimed = content(sentence)
  const there = new Set(terms(passage))
  const [own, its] = [languageOf(sentence), languageOf(passage)]
  const isForeign = own !== undefined && its !== undefined && own !== its
  const source = isForeign ? { text: "", share: 0 } : nearest(claimed, passage)
  const speaksOfIt = source.share >= alike

  const numbers = numbersIn(passage)
  if (numbersClaimed(sentence).some((number) => !numbers.has(number))) {
    return speaksOfIt && numbersIn(source.text).size > 0 ? "contradicted" : "not_found"
  }
  const lower = passage.toLowerCase()
  const isThere = (name: string) => lower.includes(name.toLowerCase()) || terms(name).every((term) => there.has(term))
  if (namesClaimed(sentence, own === "en").some((name) => !isThere(name))) return "not_found"
  if (isForeign) return support >= supportThreshold ? "supported" : "unclear"
  if (speaksOfIt) {
    if (source.share >= nearlySame && isDenied(sentence, source.text)) return "contradicted"
    if (isRivalled(new Set(terms(sentence)), new Set(terms(source.text)), there)) return "contradicted"
  }
  if (support >= supportThreshold) return "supported"
  return support < absenceThreshold ? "not_found" : "unclear"
}
