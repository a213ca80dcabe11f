import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { Embedder, EmbedderUnavailable } from "../Embedder.ts"
import type { Embedders } from "../Embedders.ts"
import { type Collection, type EmbedderIdentity, identicalEmbedder } from "../model/Collection.ts"
import type { Vector } from "../model/Passage.ts"
import { spannedGen } from "../runtime/tracing.ts"
import type { EmbedderMismatch } from "../Store.ts"

type Service = (typeof Embedder)["Service"]

/** The query vector and the share of the query it represents, 0 to 1, or why there is none. */
type QueryVector =
  | {
      readonly vector: Vector
      readonly share: number
      readonly isMultilingual: boolean
      readonly isEnglish: boolean
      readonly likeness: Service["likeness"]
    }
  | { readonly missing: string }

/** A collection, and what its embedder makes of a query. */
export interface Embedded {
  readonly collection: Collection
  readonly answer: Either.Either<QueryVector, EmbedderMismatch | EmbedderUnavailable>
}

/** A passage that others are to be like: its text, and the vector that its collection has of it. */
export interface Like {
  readonly text: string
  readonly stored?: { readonly embedder: EmbedderIdentity; readonly vector: Vector } | undefined
}

const embed = spannedGen("Search.embed")(function* (
  { forCollection }: typeof Embedders.Service,
  query: string,
  collection: Collection,
  like: Like | undefined
) {
  const open = forCollection(collection, "urgent")
  const kept =
    like?.stored !== undefined && identicalEmbedder(like.stored.embedder, collection.embedder)
      ? like.stored.vector
      : undefined
  // What is stored is compared even if no embedder answers.
  const embedder = yield* kept === undefined
    ? open
    : Effect.catchTag(open, "EmbedderUnavailable", () => Effect.succeed(undefined))
  const vector =
    kept !== undefined
      ? Option.some(kept)
      : like === undefined
        ? yield* embedder!.embedQuery(query)
        : (yield* embedder!.embedPassages([like.text]))[0]!
  if (Option.isNone(vector)) {
    // A model of which this is not asked knows all words.
    const missing =
      embedder?.knownShare === undefined
        ? "the embedding model's vector of the query is zero or missing"
        : "the query has no word that the embedding model knows"
    return { missing } satisfies QueryVector
  }
  const share = embedder?.knownShare === undefined ? 1 : yield* embedder.knownShare(query)
  const languages = embedder?.languages === undefined ? undefined : yield* embedder.languages
  const isMultilingual = languages === undefined ? multilingual.test(collection.embedder.model) : languages.length > 1
  const isEnglish = languages?.length === 1 && languages[0] === "en"
  return { vector: vector.value, share, isEnglish, isMultilingual, likeness: embedder?.likeness } satisfies QueryVector
})

/** Models that serve many languages, by their names, since no server tells. */
const multilingual = /multilingual|bge-m3|snowflake-arctic-embed2|embeddinggemma|qwen3-embedding/i

/** The vector of the query, or of the passage, for each collection; a shared embedder is asked once. */
export const embedded: (
  embedders: typeof Embedders.Service,
  query: string,
  collections: ReadonlyArray<Collection>,
  like?: Like
) => Effect.Effect<ReadonlyArray<Embedded>> = Effect.fnUntraced(function* (embedders, query, collections, like) {
  const firsts = collections.filter(
    ({ embedder }, at) => collections.findIndex((other) => identicalEmbedder(other.embedder, embedder)) === at
  )
  const answers = yield* Effect.forEach(
    firsts,
    (collection) => Effect.either(embed(embedders, query, collection, like)),
    {
      // Concurrent ones each get a fiber.
      concurrency: firsts.length === 1 ? 1 : "unbounded"
    }
  )
  return collections.map((collection): Embedded => ({
    collection,
    answer: answers[firsts.findIndex(({ embedder }) => identicalEmbedder(embedder, collection.embedder))]!
  }))
})

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

/** The likeness of words by the embedder of all collections, if they share one that has it. */
export const likenessOf = (embedded: ReadonlyArray<Embedded>): Service["likeness"] => {
  const all = embedded.map(({ answer }) =>
    Either.isRight(answer) && "likeness" in answer.right ? answer.right.likeness : undefined
  )
  return all.every((each) => each === all[0]) ? all[0] : undefined
}
