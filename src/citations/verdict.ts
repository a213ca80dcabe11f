import { lazily } from "../model/lazily.ts"
import type { Verdict } from "../model/SearchResult.ts"
import { languageOf } from "../terms/languages.ts"
import { terms } from "../terms/terms.ts"
import { eachStated } from "./sentences.ts"
import { denies, relation } from "./verdict/stated.ts"
import { between, content, isIdentifier, numbersOf, tokensOf } from "./verdict/words.ts"

/** The support below which a sentence is not found. */
const absenceThreshold = 0.35

/** From this share of the claim's content terms on, a sentence of the passage is about the same. */
const alike = 0.5
/** The same, if only a negation distinguishes them. */
const nearlySame = 0.6

const shareOf = (wanted: ReadonlyArray<string>, there: ReadonlySet<string>): number =>
  wanted.length === 0 ? 0 : wanted.filter((term) => there.has(term)).length / wanted.length

/** The passage's sentence that is closest to the claim, and its share of the claim's terms. */
const nearest = (claim: ReadonlyArray<string>, text: string) => {
  let best = { text: "", share: 0 }
  let from = 0
  eachStated(text, (end) => {
    const sentence = text.slice(from, end)
    const share = shareOf(claim, new Set(terms(sentence)))
    if (share > best.share) best = { text: sentence, share }
    from = end
  })
  return best
}

/** Words that each contradict or exclude the others in the same line. */
const rivals = lazily(() =>
  [
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
)

/** Whether the claim has a rival that the whole passage lacks, while the closest sentence has another. */
const isRivalled = (claim: ReadonlySet<string>, source: ReadonlySet<string>, passage: ReadonlySet<string>): boolean =>
  rivals().some(
    (line) =>
      [...line].some((term) => claim.has(term) && !passage.has(term)) &&
      [...line].some((term) => source.has(term) && !claim.has(term))
  )

const date = /^\d\d?\.\d\d?\.\d{4}$/

const numbersIn = (text: string): ReadonlySet<string> =>
  new Set(
    tokensOf(text)
      .flatMap((word) => [word, ...word.split(date.test(word) ? "." : /[:/-]/), ...word.split(between)])
      .flatMap((word) => [word, word.replace(/^0(?=\d)/, "")])
      .flatMap(numbersOf)
  )

const units = new Set(
  terms("millisecond second minute hour day week month year byte kilobyte megabyte gigabyte percent")
)

/** The numbers that a sentence states, each as all that it may be; `one` and `two` only before a unit, since they have many other uses. */
const numbersClaimed = (sentence: string): ReadonlyArray<ReadonlyArray<string>> => {
  const words = tokensOf(sentence)
  return words.flatMap((word, at) => {
    const number = numbersOf(word)
    if (number.length === 0) return []
    const isVague = /^(?:zero|one|two)$/i.test(word)
    return isVague && !terms(words[at + 1] ?? "").some((term) => units.has(term)) ? [] : [number]
  })
}

/** The names that a sentence states: identifiers, and in English, capitalised words within the sentence. */
const namesClaimed = (sentence: string, isEnglish: boolean): ReadonlyArray<string> =>
  tokensOf(sentence).filter(
    (word, at) => isIdentifier(word) || (isEnglish && at > 0 && /^\p{Lu}\p{L}/u.test(word) && word !== "I")
  )

/** What leads to a statement and says nothing of its own. */
const lead =
  /^\W{0,4}(?:(?:answer:|yes,)\W{0,4}|(?:according to|based on|as (?:stated|described|mentioned|said) in)(?: (?:the|this|given|provided|passages?|contexts?|sources?|documents?|documentation|texts?|information)){0,5}, )/i

export interface Evidence {
  readonly sentence: string
  /** The passage, with its title and headings. */
  readonly passage: string
  /** The names of the columns, if the passage begins within a table. */
  readonly tableHeader?: string | undefined
  /** 0 to 1: how far both are about the same thing, by their terms and vectors. */
  readonly support: number
}

/**
 * Checks a sentence against a passage. Its numbers and names must occur there. It must not state what the passage
 * negates, or negate what the passage states. Otherwise the verdict follows the support by its words and meaning.
 */
export const verdictOf = ({ passage, sentence: whole, support, tableHeader }: Evidence): Verdict => {
  const isHeading = (label: string) =>
    passage.split("\n\n").some((part) => part === label || part.startsWith(`${label} {#`))
  const sentence = whole.replace(lead, "").replace(/^([^\n:]{1,120}): /, (all, label) => (isHeading(label) ? "" : all))
  const claimed = content(sentence)
  const there = new Set(terms(passage))
  const [own, its] = [languageOf(sentence), languageOf(passage)]
  const isForeign = own !== undefined && its !== undefined && own !== its
  const source = isForeign ? { text: "", share: 0 } : nearest(claimed, passage)
  const speaksOfIt = source.share >= alike

  const numbers = numbersIn(passage)
  if (numbersClaimed(sentence).some((number) => !number.some((it) => numbers.has(it)))) {
    return speaksOfIt && numbersIn(source.text).size > 0 ? "contradicted" : "not_found"
  }
  const lower = passage.toLowerCase()
  const isThere = (name: string) => lower.includes(name.toLowerCase()) || terms(name).every((term) => there.has(term))
  if (namesClaimed(sentence, own === "en").some((name) => !isThere(name))) return "not_found"
  const related = relation(sentence, passage, tableHeader)
  if (related === "said") return "mentioned"
  if (speaksOfIt) {
    if (source.share >= nearlySame && denies(sentence, source.text)) return "contradicted"
    if (isRivalled(new Set(terms(sentence)), new Set(terms(source.text)), there)) return "contradicted"
  }
  if (isForeign) return "unclear"
  if (related === "otherwise") return "contradicted"
  return support < absenceThreshold ? "not_found" : "unclear"
}
