import type { Hit } from "../model/SearchResult.ts"
import { type Statement, statementsOf } from "./statements.ts"
import { splitQuery, terms } from "./terms.ts"

/** What passage `n` says, n from 1. */
export interface Quote {
  readonly n: number
  readonly text: string
  /** False: a table's row, told with its columns' names. */
  readonly isVerbatim: boolean
}

interface Candidate extends Statement {
  readonly n: number
  readonly terms: ReadonlySet<string>
  /** Of the headings above it. */
  readonly context: ReadonlySet<string>
  /** How well it is of the kind that the question asks for. */
  readonly fit: number
}

/** What a term of the headings counts beside one of the statement. */
const ofHeading = 0.5
/** A question of whose terms the best statement holds less by weight is not answered. */
const leastShare = 0.25

const isDefinition =
  /^\s*(?:what(?:'s| is| are| was| were)|who(?:'s| is| are)|define)\b(?!.*\b(?:default|port|size|limit|maximum|difference)\b)/i
const isValue =
  /\b(?:how (?:many|much|long|often|large|big|old|far)|default|which|when|maximum|minimum|limit|port|size)\b/i
const isHowTo = /^\s*how (?:do|can|could|to|should|does one)\b/i

/** How well a statement is of the kind that a question asks for: a definition, a value, steps. */
const fitting = (query: string, subject: ReadonlySet<string>) => {
  const [defines, values, steps] = [isDefinition.test(query), isValue.test(query), isHowTo.test(query)]
  return ({ kind, text }: Statement): number => {
    let fit = 1
    if (defines) {
      const head = text.split(/\s+/).slice(0, 8).join(" ")
      const named = new Set(terms(head))
      const isOfIt = [...subject].every((term) => named.has(term))
      if (isOfIt && /\b(?:is|are|means|refers|lets|allows|stands for)\b/.test(text.slice(0, head.length + 40)))
        fit *= 1.6
    }
    if (values && (kind === "row" || /\d|`/.test(text))) fit *= 1.25
    if (steps && (kind === "steps" || text.includes("`"))) fit *= 1.3
    return fit
  }
}

/**
 * What answers best, at most `count`, in the order of the passages: sentences, rows with their columns' names, steps. Each
 * is the one that adds most: the weight of the query's terms in it, and half of that in its headings, that no chosen one
 * has (rarer among all weighs more), more where it is of the kind that the question asks for, less for passages further
 * down. None where the best one has too little of the query.
 */
export const extract = (query: string, hits: ReadonlyArray<Hit>, count = 3): ReadonlyArray<Quote> => {
  const wanted = new Set(splitQuery(query).content)
  const fit = fitting(query, wanted)
  const candidates = hits.flatMap(({ document, passage }, index) => {
    const above = [document.title ?? "", ...passage.heading]
    return statementsOf(passage.text, passage.tableHeader).map((statement): Candidate => ({
      ...statement,
      n: index + 1,
      terms: new Set(terms(statement.text)),
      context: new Set(terms([...above, statement.heading].join("\n"))),
      fit: fit(statement)
    }))
  })
  const has = (term: string) => (candidate: Candidate) => candidate.terms.has(term) || candidate.context.has(term)
  const weights = new Map<string, number>()
  for (const term of wanted) {
    const holding = candidates.filter(has(term)).length
    if (holding > 0) weights.set(term, Math.log(1 + candidates.length / holding))
  }
  // What no statement has counts as much as what the fewest have.
  const all =
    [...weights.values()].reduce((sum, weight) => sum + weight, 0) +
    (wanted.size - weights.size) * Math.max(0, ...weights.values())
  const covered = new Map<string, number>()
  const share = (candidate: Candidate, discount: (term: string) => number): number => {
    let sum = 0
    for (const [term, weight] of weights) {
      if (candidate.terms.has(term)) sum += weight * discount(term)
      else if (candidate.context.has(term)) sum += weight * ofHeading * discount(term)
    }
    return sum
  }
  // What is said once already counts a quarter: it may be said better, or with more beside it.
  const gain = (candidate: Candidate): number =>
    [...weights.keys()].some((term) => candidate.terms.has(term)) || candidate.fit > 1
      ? (candidate.fit * share(candidate, (term) => 0.25 ** (covered.get(term) ?? 0))) / (1 + 0.15 * (candidate.n - 1))
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
    if (best === undefined || most < first / 4) break
    if (chosen.length === 0 && share(best, () => 1) < leastShare * all) break
    first ||= most
    chosen.push(best)
    texts.add(best.text)
    for (const term of [...best.terms, ...best.context]) {
      if (weights.has(term)) covered.set(term, (covered.get(term) ?? 0) + 1)
    }
  }
  return chosen
    .sort((a, b) => a.n - b.n || a.at - b.at)
    .map(({ kind, n, text }) => ({ n, text, isVerbatim: kind !== "row" }))
}
