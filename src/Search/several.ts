import { limits } from "../model/Limits.ts"
import { byScore } from "../model/Passage.ts"
import { type Hit, type SearchExplanation, passageKey } from "../model/SearchResult.ts"

/** How many places of each query's list are fused: a short list is then the head of a longer one. */
export const placesOfEach = 50

/** How many are fused for what comes after the first `placesOfEach`, whatever page it is: the longest list there is. */
export const mostPlacesOfEach = limits.topK.max + limits.offset.max

/**
 * The constant of the fusion. Parts of a question have little in common, so the first of each must come before what two of them
 * have far down: of 26 questions of MuSiQue, split by hand, 24 had all their evidence among the ten best; 20 with 10, 14 with 60.
 */
const k = 1

/** The passages that a hit shows or stands for. */
const keysOf = (hit: Hit): ReadonlyArray<string> => [
  passageKey(hit),
  ...(hit.spans ?? []).map((passage) => passageKey({ ...hit, passage })),
  ...(hit.similar ?? []).map(passageKey)
]

interface Place {
  readonly query: number
  readonly rank: number
  readonly hit: Hit
}

/**
 * One list of those that several queries found, by reciprocal ranks. What two of them found is one hit, as the query shows it
 * that ranks it best; each says which queries found it, and has its greatest relevance.
 */
export const fused = (lists: ReadonlyArray<ReadonlyArray<Hit>>): ReadonlyArray<Hit> => {
  const groups: Array<Array<Place>> = []
  const known = new Map<string, Array<Place>>()
  for (const [query, list] of lists.entries()) {
    for (const [at, hit] of list.entries()) {
      const keys = keysOf(hit)
      const key = keys.find((one) => known.has(one))
      const group = key === undefined ? [] : known.get(key)!
      if (key === undefined) groups.push(group)
      group.push({ query, rank: at + 1, hit })
      for (const one of keys) if (!known.has(one)) known.set(one, group)
    }
  }
  return groups
    .map((places) => {
      const [best] = places.toSorted((a, b) => a.rank - b.rank)
      // One query may find two passages that another shows as one.
      const first = [...new Map(places.toReversed().map((place) => [place.query, place])).values()].reverse()
      const shares = first.map(({ query, rank }) => ({ query, rank, contribution: 1 / (k + rank) }))
      const relevances = places.flatMap(({ hit }) => hit.relevance ?? [])
      const { explain, ...hit } = best!.hit
      return {
        ...hit,
        score: shares.reduce((sum, { contribution }) => sum + contribution, 0),
        ...(relevances.length === 0 ? {} : { relevance: Math.max(...relevances) }),
        foundBy: shares.map(({ query }) => query).sort((a, b) => a - b),
        ...(explain && { explain: { ...explain, queries: shares } })
      } satisfies Hit as Hit
    })
    .sort(byScore)
}

/** A list that goes on with what it lacks of a longer one. */
export const continued = (head: ReadonlyArray<Hit>, longer: ReadonlyArray<Hit>): ReadonlyArray<Hit> => {
  const known = new Set(head.flatMap(keysOf))
  return [...head, ...longer.filter((hit) => !keysOf(hit).some((key) => known.has(key)))]
}

/** The reports of several searches as one: what was searched is the same, and the times add up. */
export const together = (reports: ReadonlyArray<SearchExplanation>): SearchExplanation | undefined => {
  const [first] = reports
  if (first === undefined) return undefined
  const names = Object.keys(first.stages_us) as ReadonlyArray<keyof SearchExplanation["stages_us"]>
  const times = names.map((name) => [name, reports.reduce((sum, { stages_us }) => sum + (stages_us[name] ?? 0), 0)])
  return { ...first, stages_us: Object.fromEntries(times) as SearchExplanation["stages_us"] }
}
