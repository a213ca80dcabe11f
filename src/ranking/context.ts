import * as Effect from "effect/Effect"
import type { Scored } from "../model/Passage.ts"
import type { Fused } from "./fusion.ts"
import { present } from "../model/Damaged.ts"
import type { Snapshot } from "./Snapshot.ts"
import type { TieOrder } from "./ties.ts"

/** Passages whose neighbours are read: the best of the fusion. Twenty gave the same results, and so did all. */
const lookedAt = 50

/**
 * The neighbours' share of a passage's score, by leg; the values that measured best: docs/quality.md. Vectors with a
 * background are made by models that read a passage as a whole, and its neighbours say nothing more of it.
 */
const shares = { plain: { vector: 0.35, keyword: 0.1 }, above: { vector: 0, keyword: 0.1 } } as const

type Leg = keyof typeof shares.plain

/** The mean scores of the passages before and after a hit, if there are any. */
export type Beside = ReadonlyMap<number, Readonly<Record<Leg, number | undefined>>>

/** The mean of the scores that there are; undefined: of none. */
const mean = (
  passages: ReadonlyArray<number>,
  scoreOf: (passage: number) => number | undefined
): number | undefined => {
  let [sum, count] = [0, 0]
  for (const passage of passages) {
    const score = scoreOf(passage)
    if (score === undefined) continue
    sum += score
    count++
  }
  return count === 0 ? undefined : sum / count
}

/**
 * The ranking of score fusion, in which the passages before and after a passage count for it, by their share of each
 * leg's score: a section that answers goes on about the question. Only the best of the ranking are adjusted; the rest
 * keep their order, scaled to stay below. A neighbour's keyword score counts only if it is a candidate itself.
 */
export const inContext = Effect.fnUntraced(function* <E>(
  snapshot: Pick<Snapshot<E>, "beside">,
  order: ReadonlyArray<Fused>,
  scoreIn: (leg: Leg, id: number) => number | undefined,
  similarity: (passages: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<Scored>, E>,
  ties: TieOrder<E>,
  kind: keyof typeof shares
) {
  const share = shares[kind]
  const [head, tail] = [order.slice(0, lookedAt), order.slice(lookedAt)]
  const neighbours = yield* snapshot.beside(head.map(({ id }) => id))
  const wanted = share.vector === 0 ? [] : [...neighbours.values()].flat()
  const unknown = new Set(wanted.filter((id) => scoreIn("vector", id) === undefined))
  const near = new Map<number, number>()
  for (const { id, score } of yield* similarity([...unknown])) near.set(id, score)
  const beside = new Map<number, Record<Leg, number | undefined>>()
  for (const { id } of head) {
    const ids = neighbours.get(id) ?? []
    beside.set(id, {
      vector: share.vector === 0 ? undefined : mean(ids, (id) => scoreIn("vector", id) ?? near.get(id)),
      keyword: mean(ids, (id) => scoreIn("keyword", id) ?? 0)
    })
  }

  const units = { vector: unitOf("vector", order, scoreIn), keyword: unitOf("keyword", order, scoreIn) }
  const risen = head.map((hit): Fused => {
    const around = present(beside.get(hit.id), () => `passage ${hit.id}`)
    const partOf = (leg: Leg) =>
      around[leg] === undefined
        ? hit.parts[leg]
        : (1 - share[leg]) * hit.parts[leg] + share[leg] * units[leg] * around[leg]
    const parts = { vector: partOf("vector"), keyword: partOf("keyword") }
    const score = parts.vector + parts.keyword
    return { ...hit, parts, score, second: score }
  })
  risen.sort(ties.best)
  return { order: [...risen, ...below(risen.at(-1), tail)], beside }
})

/** How much a leg's score of 1 adds to the fused score. */
const unitOf = (
  leg: Leg,
  order: ReadonlyArray<Fused>,
  scoreIn: (leg: Leg, id: number) => number | undefined
): number => {
  const some = order.find(({ id, parts }) => parts[leg] !== 0 && scoreIn(leg, id))
  return some === undefined ? 0 : some.parts[leg] / scoreIn(leg, some.id)!
}

/** Hits with their scores scaled to stay below the last one before them. */
const below = (last: Fused | undefined, hits: ReadonlyArray<Fused>): ReadonlyArray<Fused> => {
  const first = hits[0]
  if (first === undefined || last === undefined || first.score <= Math.max(0, last.score)) return hits
  const factor = Math.max(0, last.score) / first.score
  return hits.map((hit) => ({
    ...hit,
    score: hit.score * factor,
    second: hit.second * factor,
    parts: { vector: hit.parts.vector * factor, keyword: hit.parts.keyword * factor }
  }))
}
