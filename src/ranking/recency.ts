import * as Effect from "effect/Effect"
import type { Recency } from "../model/Stored.ts"
import { ageInDays, decay, timeOf } from "./age.ts"
import type { Fused } from "./fusion.ts"
import type { Snapshot } from "./Snapshot.ts"
import { tied, type TieOrder } from "./ties.ts"

/** The age of a passage's document, and the change that it makes to the score, which is 0 or less. */
export interface Aged {
  readonly ageDays: number
  readonly contribution: number
}

export type Ages = ReadonlyMap<number, Aged>

/**
 * The ranking with scores that fade with the document's age: after each half-life, half is left. A document without a
 * valid date, or with a date in the future, keeps its score. A score below 0 falls by as much as one above it.
 */
export const byRecency = Effect.fnUntraced(function* <E>(
  snapshot: Pick<Snapshot<E>, "metadata">,
  order: ReadonlyArray<Fused<number>>,
  { halfLifeDays, key, now }: Recency,
  ties: TieOrder<E>,
  limit: number
) {
  const values = yield* snapshot.metadata(
    order.map((hit) => hit.key),
    key
  )
  const ages = new Map<number, Aged>()
  const aged = order.map((hit): Fused<number> => {
    const time = timeOf(values.get(hit.key))
    if (time === undefined) return hit
    const ageDays = ageInDays(time, now)
    const contribution = -Math.abs(hit.score) * (1 - decay(ageDays, halfLifeDays))
    ages.set(hit.key, { ageDays, contribution })
    return { ...hit, score: hit.score + contribution }
  })
  aged.sort(ties.best)
  if (yield* ties.learn(tied(aged, limit))) aged.sort(ties.best)
  return { order: aged, ages: ages as Ages }
})
