import type { Hit } from "../model/SearchResult.ts"
import { type Statement, statementsOf } from "./statements.ts"
import { splitQuery, terms } from "../terms/terms.ts"

/** A statement of passage `n`, with n from 1. */
export interface Quote {
  readonly n: number
  readonly text: string
  /** False: a table's row, with its columns' names. */
  readonly isVerbatim: boolean
}

interface Candidate extends Statement {
  readonly n: number
  readonly terms: ReadonlySet<string>
  /** The terms of the headings above it. */
  readonly context: ReadonlySet<string>
  /** How well it fits the kind of answer that the question asks for. */
  readonly fit: number
}

/** The weight of a term in the headings, relative to one in the statement. */
const ofHeading = 0.5
/** The same for the first statement of a section. */
const ofNearHeading = 0.7
/** If the best statement has a smaller share of the question's terms, by weight, there is no answer. */
const leastShare = 0.34

const isDefinition =
  /^\s*(?:what(?:'s| is| are| was| were)|who(?:'s| is| are)|define|what (?:does|do) .{1,200} (?:do|mean)\b)(?!.*\b(?:default|port|size|limit|maximum|difference)\b)/i
const isValue =
  /\b(?:how (?:many|much|long|often|large|big|old|far)|default|which|when|maximum|minimum|limit|port|size)\b/i
const isCount = /\bhow (?:many|much|long|often|large|big|old|far)\b|\b(?:maximum|minimum|limit|size)\b/i
const isHowTo = /^\s*how (?:do|can|could|to|should|does one)\b/i

/** Words that say how the question is asked, not what it is about: they are rare in the answer. */
const asking = new Set(
  ["what happens meaning mean called used uses use using want need do does work works possible way difference"]
    .flatMap((words) => words.split(" "))
    .flatMap((word) => terms(word))
)
const ofAsking = 0.3

/** How well a statement fits the kind of answer that a question asks for: a definition, a value, steps. */
const fitting = (query: string, subject: ReadonlySet<string>) => {
  const [defines, values, counts, steps] = [isDefinition, isValue, isCount, isHowTo].map((kind) => kind.test(query))
  return ({ heading, isFirst, kind, text }: Statement, above: string): number => {
    let fit = 1
    if (defines) {
      const head = kind === "definition" ? text.slice(0, text.indexOf(": ")) : text.split(/\s+/).slice(0, 8).join(" ")
      const named = new Set(terms(head))
      const isOfIt = [...subject].every((term) => named.has(term) || asking.has(term))
      if (isOfIt && /\b(?:is|are|means|refers|lets|allows|stands for)\b/.test(text.slice(0, head.length + 40))) {
        fit *= kind === "definition" ? 2.2 : 1.6
      } else if (kind === "definition") {
        // The more of the term's words the question has, the better.
        const own = [...named].filter((term) => subject.has(term)).length
        if (isFirst && own > 0) fit *= 1 + 1.2 * (own / named.size)
      } else if (isFirst) {
        // The beginning of a section explains its heading without repeating it.
        const headed = new Set(terms(heading === "" ? above : heading))
        const own = [...headed].filter((term) => subject.has(term)).length
        if (own > 0 && own * 2 >= headed.size) fit *= 1.8
      }
    }
    const hasNumber = /\d/.test(text)
    if (counts) fit *= hasNumber ? 1.5 : 0.7
    else if (values && (kind === "row" || hasNumber || text.includes("`"))) fit *= 1.25
    if (values && /\bdefault/i.test(query) && /\bdefault/i.test(text)) fit *= 1.3
    if (steps && (kind === "steps" || text.includes("`"))) fit *= 1.3
    return fit
  }
}

/**
 * Names in the question: words with a capital that is not the first of a sentence. A name without any statement gives
 * no answer.
 */
const namesIn = (query: string): ReadonlyArray<string> =>
  [...query.matchAll(/[\p{L}\p{N}_-]+/gu)]
    .filter(({ 0: word, index }) => (/^\p{Lu}/u.test(word) && index > 0 ? word !== "I" : /^\p{L}+\p{Lu}/u.test(word)))
    .flatMap(({ 0: word }) => terms(word))

/**
 * The best answers, at most `count`, in the order of the passages: sentences, rows with their columns' names, steps.
 * Each choice is the statement that adds most: the weight of the query's terms that no chosen one has, counting half in
 * its headings. Rarer terms weigh more, statements of the kind that the question asks for count more, and passages
 * further down count less. None if the best one has too little of the query.
 */
export const extract = (query: string, hits: ReadonlyArray<Hit>, count = 3): ReadonlyArray<Quote> => {
  const wanted = new Set(splitQuery(query).content)
  const fit = fitting(query, wanted)
  const candidates = hits.flatMap(({ document, passage }, index) => {
    const above = [document.title ?? "", ...passage.heading]
    const nearest = passage.heading.at(-1) ?? document.title ?? ""
    return statementsOf(passage.text, passage.tableHeader).map((statement): Candidate => ({
      ...statement,
      n: index + 1,
      terms: new Set(terms(statement.text)),
      context: new Set(terms([...above, statement.heading].join("\n"))),
      fit: fit(statement, nearest)
    }))
  })
  const has = (term: string) => (candidate: Candidate) => candidate.terms.has(term) || candidate.context.has(term)
  const weights = new Map<string, number>()
  for (const term of wanted) {
    const holding = candidates.filter(has(term)).length
    const weight = asking.has(term) ? ofAsking : 1
    if (holding > 0) weights.set(term, weight * Math.log(1 + candidates.length / holding))
  }
  // The question is about its names: passages without them only share its other words.
  if (namesIn(query).some((term) => wanted.has(term) && !weights.has(term))) return []
  // A term in no statement counts as much as the rarest one.
  const all =
    [...weights.values()].reduce((sum, weight) => sum + weight, 0) +
    [...wanted].filter((term) => !weights.has(term) && !asking.has(term)).length * Math.max(0, ...weights.values())
  const covered = new Map<string, number>()
  const share = (candidate: Candidate, discount: (term: string) => number): number => {
    let sum = 0
    for (const [term, weight] of weights) {
      if (candidate.terms.has(term)) sum += weight * discount(term)
      else if (candidate.context.has(term)) {
        sum += weight * (candidate.isFirst ? ofNearHeading : ofHeading) * discount(term)
      }
    }
    return sum
  }
  // Repeated terms count less, not nothing: another statement may say it better, or say more.
  const gain = (candidate: Candidate): number =>
    [...weights.keys()].some((term) => candidate.terms.has(term)) || candidate.fit > 1
      ? (candidate.fit * share(candidate, (term) => 0.4 ** (covered.get(term) ?? 0))) / (1 + 0.15 * (candidate.n - 1))
      : 0
  const chosen: Array<Candidate> = []
  const texts = new Set<string>()
  let first = 0
  while (chosen.length < count) {
    let best: Candidate | undefined
    let most = 0
    for (const candidate of candidates) {
      if (texts.has(candidate.text)) continue
      const value = gain(candidate)
      if (value > most) [best, most] = [candidate, value]
    }
    if (best === undefined || most < first / 5) break
    if (chosen.length === 0 && share(best, () => 1) < leastShare * all) break
    first ||= most
    chosen.push(best)
    texts.add(best.text)
    for (const term of new Set([...best.terms, ...best.context])) {
      if (weights.has(term)) covered.set(term, (covered.get(term) ?? 0) + 1)
    }
  }
  return chosen
    .sort((a, b) => a.n - b.n || a.at - b.at)
    .map(({ kind, n, text }) => ({ n, text, isVerbatim: kind === "sentence" || kind === "steps" }))
}
