import * as Either from "effect/Either"
import type { EmbedderUnavailable } from "../Embedder.ts"
import type { Collection } from "../model/Collection.ts"
import type { Vector } from "../model/Passage.ts"
import type { EmbedderMismatch } from "../Store.ts"

/** What the vector leg is asked and how much of the query that says, 0 to 1, or why it is not asked. */
export type QueryVector = { readonly vector: Vector; readonly share: number } | { readonly missing: string }

type Embedded = {
  readonly collection: Collection
  readonly answer: Either.Either<QueryVector, EmbedderMismatch | EmbedderUnavailable>
}

/** Why the vector leg did not answer for collections; each reason names those that it holds for, unless it holds for all. */
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
    reason.startsWith(knowsOnly) ? "" : vectorAlone ? " not searched" : " searched by keywords alone"
  return Array.from(reasons, ([reason, names]) =>
    names.length === embedded.length
      ? reason
      : `${names.length === 1 ? "collection" : "collections"} ${names.join(", ")}${how(reason)}: ${reason}`
  ).join("; ")
}

const knowsOnly = "the embedding model knows only"

/** What a model that knows but a share of the query's letters leaves out. */
const partly = (share: number, vectorAlone: boolean): string | undefined =>
  share === 1
    ? undefined
    : `${knowsOnly} ${Math.round(100 * share)} % of the query's letters` +
      (vectorAlone ? "" : ", so meaning counts that much less")
