import type { Compared, Grade, Hit } from "./wire.ts"

export const keyOf = ({ metadata }: Hit): string =>
  `${metadata.collection}\n${metadata.doc_id}\n${metadata.chunk_index}`

/** The passages of both lists, each once, the best ranked first; of equally good ones that of a. */
export const pooled = ({ a, b }: Compared): ReadonlyArray<Hit> => {
  const all = new Map<string, Hit>()
  for (let at = 0; at < Math.max(a.results.length, b.results.length); at++) {
    for (const hit of [a.results[at], b.results[at]]) {
      if (hit !== undefined && !all.has(keyOf(hit))) all.set(keyOf(hit), hit)
    }
  }
  return [...all.values()]
}

/** A list's best ten, judged: as `clew benchmark --judgements` scores them (src/measuring). */
export interface Place {
  readonly source: string
  readonly start: number
  readonly end: number
}

export const placeOf = ({ metadata }: Hit): Place => ({
  source: metadata.source,
  start: metadata.start_line,
  end: metadata.end_line
})

const isSource = (source: string, judged: string): boolean =>
  source === judged || (source.endsWith(judged) && /[/\\]/.test(source.charAt(source.length - judged.length - 1)))

/** Whether a judgement is about a passage: about its document, or about lines where half of one lies in the other. */
const isAbout = ({ end_line: to, source, start_line: from }: Grade, place: Place): boolean => {
  if (!isSource(place.source, source)) return false
  if (from === undefined || to === undefined) return true
  const common = Math.min(to, place.end) - Math.max(from, place.start) + 1
  return common > 0 && 2 * common >= Math.min(to - from, place.end - place.start) + 1
}

/** The grade of a passage, if it was judged: the latest one. */
export const gradeOf = (place: Place, grades: ReadonlyArray<Grade>): number | undefined =>
  grades.findLast((grade) => isAbout(grade, place))?.grade

/** The latest grade of each place, as the server keeps them. */
export const latest = (grades: ReadonlyArray<Grade>): ReadonlyArray<Grade> => [
  ...new Map(grades.map((each) => [`${each.source}\n${each.start_line}\n${each.end_line}`, each])).values()
]

const discounted = (gains: ReadonlyArray<number>): number =>
  gains.reduce((sum, gain, at) => sum + gain / Math.log2(at + 2), 0)

/** nDCG of the best ten; undefined if nothing judged answers. A judged thing counts once, at its best place. */
export const ndcg = (hits: ReadonlyArray<Hit>, grades: ReadonlyArray<Grade>): number | undefined => {
  const ordered = [...grades].sort((a, b) => b.grade - a.grade)
  const ideal = discounted(
    ordered
      .map(({ grade }) => grade)
      .filter((grade) => grade > 0)
      .slice(0, 10)
  )
  if (ideal === 0) return undefined
  const counted = new Set<Grade>()
  const gains: Array<number> = []
  for (const place of hits.map(placeOf)) {
    const about = ordered.filter((grade) => isAbout(grade, place))
    const fresh = about.find((grade) => !counted.has(grade))
    if (fresh !== undefined) {
      counted.add(fresh)
      gains.push(Math.max(0, fresh.grade))
    } else if (about.length === 0) gains.push(0)
  }
  return discounted(gains.slice(0, 10)) / ideal
}

export interface Interval {
  readonly mean: number
  readonly low: number
  readonly high: number
}

const rounds = 2000

/** Numbers from 0 to below 1 (mulberry32, Tommy Ettinger). */
const randomFrom = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** The mean, and Efron's percentile bootstrap of it at 95 %. */
export const interval = (values: ReadonlyArray<number>): Interval => {
  const random = randomFrom(1)
  const means = Array.from({ length: rounds }, () => {
    let sum = 0
    for (let n = 0; n < values.length; n++) sum += values[Math.floor(random() * values.length)]!
    return sum / values.length
  }).sort((a, b) => a - b)
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  return { mean, low: means[Math.floor(0.025 * rounds)]!, high: means[Math.ceil(0.975 * rounds) - 1]! }
}
