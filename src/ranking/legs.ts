import type { Scored } from "../model/Scored.ts"
import type { Fused, Leg, Ranked } from "./fusion.ts"

/** The passages of a list of scores. */
export const idsOf = (scored: ReadonlyArray<Scored>): ReadonlyArray<number> => scored.map((hit) => hit.id)

/** The passages of `some` that are not in `others`. */
export const without = (some: ReadonlyArray<Scored>, others: ReadonlyArray<Scored>): ReadonlyArray<number> => {
  const known = new Set(idsOf(others))
  return idsOf(some).filter((id) => !known.has(id))
}

/** By falling scores. */
export const toCandidates = (scored: ReadonlyArray<Scored>): Array<Ranked<number>> =>
  scored.map(({ id, score }) => ({ key: id, score })).sort((a, b) => b.score - a.score)

/** The best `depth` passages of a leg as its ranking; the others keep their scores, for fusion by score. */
export const toLeg = (
  sorted: ReadonlyArray<Ranked<number>>,
  others: ReadonlyArray<Scored>,
  depth: number
): Leg<number> & { readonly scores: ReadonlyMap<number, number> } => {
  const scores = new Map([
    ...others.map(({ id, score }) => [id, score] as const),
    ...sorted.map(({ key, score }) => [key, score] as const)
  ])
  return { ranked: sorted.slice(0, depth), scoreOf: (id) => scores.get(id), scores }
}

/** The ranking of the only leg. */
export const alone = (name: "vector" | "keyword", leg: Leg<number>): ReadonlyArray<Fused<number>> =>
  leg.ranked.map(({ key, score }, index) => ({
    key,
    score,
    second: score,
    vector: undefined,
    keyword: undefined,
    parts: { vector: 0, keyword: 0, [name]: score },
    [name]: { rank: index + 1, score }
  }))
