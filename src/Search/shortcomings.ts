import * as Either from "effect/Either"
import type { EmbedderUnavailable } from "../Embedder.ts"
import type { Collection } from "../model/Collection.ts"
import type { Vector } from "../model/Passage.ts"
import type { EmbedderMismatch } from "../Store.ts"

/** The query vector and the share of the query it represents, 0 to 1, or why there is none. */
export type QueryVector = { readonly vector: Vector; readonly share: number } | { readonly missing: string }

type Embedded = {
  readonly collection: Collection
  readonly answer: Either.Either<QueryVector, EmbedderMismatch | EmbedderUnavailable>
}

/** Why the vector leg did not answer; each reason names its collections, unless it applies to all. */
export const shortcomings = (embedded: ReadonlyArray<Embedded>, vectorAlone: boolean): string | undefined => {
  const reasons = new Map<string, Array<string>>()
  for (const { answer, collection } of embedded) {
    const reason = Either.match(answer, {
      onLeft: (failure) =>
        failure._tag === "EmbedderUnavailable" ? `embedder unavailable: ${failure.reason}` : failure.message,
      onRight: (known) => ("missing" in known ? known.missing : partly(known.share, vectorAlone))
    })
    if (reason !== undefined) reasons.set(reason, [...(reasons.get(reason) ?? []), collection.name])
  }
  if (reasons.size === 0) return undefined
  const how = (reason: string) =>
    reason.startsWith(knowsOnly) ? "" : vectorAlone ? " not searched" : " searched by keywords only"
  return Array.from(reasons, ([reason, names]) =>
    names.length === embedded.length
      ? reason
      : `${names.length === 1 ? "collection" : "collections"} ${names.join(", ")}${how(reason)}: ${reason}`
  ).join("; ")
}

const knowsOnly = "the embedding model knows only"

/** The warning if the model knows only a share of the query's letters. */
const partly = (share: number, vectorAlone: boolean): string | undefined =>
  share === 1
    ? undefined
    : `${knowsOnly} ${Math.round(100 * share)} % of the query's letters` +
      (vectorAlone ? "" : ", so meaning counts proportionally less")
