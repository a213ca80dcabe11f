import type { Hit } from "../model/SearchResult.ts"
import { eachSentence } from "./chunk/sentences.ts"
import { splitQuery, terms } from "./terms.ts"

/** A sentence of passage `n`, n from 1. */
export interface Quote {
  readonly n: number
  readonly text: string
}

interface Candidate extends Quote {
  readonly at: number
  readonly terms: ReadonlySet<string>
}

/** Shorter ones are headings and scraps, longer ones tables and code. */
const bounds = { min: 20, max: 600 }

const sentencesOf = (hit: Hit, n: number): ReadonlyArray<Candidate> => {
  const { text } = hit.passage
  const found: Array<Candidate> = []
  for (const paragraph of text.matchAll(/\S(?:.|\n(?!\s*\n))*/g)) {
    let from = paragraph.index
    eachSentence(text, from, from + paragraph[0].length, (end) => {
      const sentence = text.slice(from, end).replace(/\s+/g, " ").trim()
      if (sentence.length >= bounds.min && sentence.length <= bounds.max) {
        found.push({ n, text: sentence, at: from, terms: new Set(terms(sentence)) })
      }
      from = end
    })
  }
  return found
}

/**
 * The sentences that answer best, at most `count`, in the order of their passages. Each is the one that adds most: the
 * weight of the query's terms in it that no chosen one has (rarer among the sentences weighs more), less for passages
 * further down. None where no sentence has a term of the query.
 */
export const extract = (query: string, hits: ReadonlyArray<Hit>, count = 4): ReadonlyArray<Quote> => {
  const wanted = new Set(splitQuery(query).content)
  const candidates = hits.flatMap((hit, index) => sentencesOf(hit, index + 1))
  const weights = new Map<string, number>()
  for (const term of wanted) {
    const holding = candidates.reduce((sum, candidate) => sum + Number(candidate.terms.has(term)), 0)
    if (holding > 0) weights.set(term, Math.log(1 + candidates.length / holding))
  }
  const covered = new Map<string, number>()
  const gain = (candidate: Candidate): number => {
    let sum = 0
    // What is said once already counts a quarter: it may be said better, or with more beside it.
    for (const [term, weight] of weights) {
      if (candidate.terms.has(term)) sum += weight * 0.25 ** (covered.get(term) ?? 0)
    }
    return sum / (1 + 0.15 * (candidate.n - 1))
  }
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
    first ||= most
    chosen.push(best)
    texts.add(best.text)
    for (const term of best.terms) if (weights.has(term)) covered.set(term, (covered.get(term) ?? 0) + 1)
  }
  return chosen.sort((a, b) => a.n - b.n || a.at - b.at).map(({ n, text }) => ({ n, text }))
}
