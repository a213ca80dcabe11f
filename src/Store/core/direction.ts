import * as Effect from "effect/Effect"
import { hasBackground, identicalEmbedder } from "../../model/Collection.ts"
import type { Vector } from "../../model/Passage.ts"
import { dot } from "../../model/numbers.ts"
import type { Searched } from "../../ranking/Snapshot.ts"

/** A query's vector, and the mean of the vectors above which similarities are told; undefined: they are plain cosines. */
export interface Direction {
  readonly vector: Vector
  readonly background?: Vector | undefined
}

/** The share of the mean that is taken off vectors; of 0, .5, .7, .85 and 1 the best on left-out sets: docs/quality.md. */
const taken = 0.7
/** With a mean of this cosine to the query, the share of a similarity above it is rounding. */
const mostUsual = 0.99

/**
 * How vectors x are scored: as 1 - (1 - c) * `scale`, where c is the cosine of x - `off` and `toward`, by whose products
 * codes rank nearly the same. A similarity above the background m is 1 - (1 - c) / (1 - b), where c is the cosine of
 * x - .7 m and q - .7 m, and b about its mean over all x: 0 is what unrelated texts have, and 1 is equality.
 */
export const measureBy = ({
  background: mean,
  vector
}: Direction): { readonly off?: Vector; readonly toward: Vector; readonly scale: number } => {
  if (mean === undefined || dot(vector, vector) === 0) return { toward: vector, scale: 1 }
  const off = mean.map((value) => taken * value)
  const toward = vector.map((value, d) => value - off[d]!)
  const length = Math.sqrt(1 - taken * (2 - taken) * dot(mean, mean))
  const usual = ((1 - taken) * dot(mean, toward)) / (Math.sqrt(dot(toward, toward)) * length)
  // Where nearly all vectors point the same way, nothing is told above that.
  return usual > mostUsual ? { toward: vector, scale: 1 } : { off, toward, scale: 1 / (1 - usual) }
}

/** The mean of some vectors, and their number. */
export interface Mean {
  readonly vector: Vector
  readonly of: number
}

/** The mean of fewer vectors says more about their texts than about the model. */
export const fewestForMean = 32

/** The mean over all of these; none of too few vectors. */
const meanOver = (means: ReadonlyArray<Mean>, dimensions: number): Vector | undefined => {
  const count = means.reduce((sum, { of }) => sum + of, 0)
  return count < fewestForMean
    ? undefined
    : Float32Array.from({ length: dimensions }, (_, d) =>
        means.reduce((sum, { of, vector }) => sum + (vector[d]! * of) / count, 0)
      )
}

/** Collections with the mean over all of them that have the same embedder, so that their similarities are comparable. */
export const withBackgrounds = <E>(
  all: ReadonlyArray<Searched>,
  meanIn: (one: Searched) => Effect.Effect<Mean, E>
): Effect.Effect<ReadonlyArray<Searched>, E> =>
  Effect.forEach(all, (each) => {
    const { embedder, vector } = each
    if (vector === undefined || !hasBackground(embedder)) return Effect.succeed(each)
    const alike = all.filter((other) => identicalEmbedder(other.embedder, embedder))
    return Effect.map(Effect.forEach(alike, meanIn), (means) => ({
      ...each,
      background: meanOver(means, embedder.dimensions)
    }))
  })
