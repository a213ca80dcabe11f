import * as Schema from "effect/Schema"

/** A collection's name: letters, digits, `.`, `_`, `-`. */
export const CollectionName = Schema.String.pipe(
  Schema.pattern(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, {
    message: () => "a collection's name is 1 to 64 letters, digits, '.', '_' or '-', and starts with a letter or digit"
  }),
  Schema.brand("CollectionName"),
  Schema.annotations({ identifier: "CollectionName", description: "Name of a collection" })
)
export type CollectionName = typeof CollectionName.Type

export const defaultCollection = CollectionName.make("default")

/** What makes two embedders the same: vectors of different identities are never mixed. */
export const EmbedderIdentity = Schema.Struct({
  backend: Schema.String.annotations({ description: "builtin, ollama or openai" }),
  model: Schema.String.annotations({ description: "Name or directory of the model" }),
  dimensions: Schema.Int.pipe(Schema.positive()).annotations({ description: "Width of a vector" }),
  queryPrefix: Schema.String.pipe(Schema.propertySignature, Schema.fromKey("query_prefix")),
  passagePrefix: Schema.String.pipe(Schema.propertySignature, Schema.fromKey("passage_prefix"))
}).annotations({ identifier: "EmbedderIdentity", description: "The embedder that made a collection's vectors" })
export type EmbedderIdentity = typeof EmbedderIdentity.Type

/** A named set of documents with one embedder. */
export interface Collection {
  readonly id: number
  readonly name: CollectionName
  readonly embedder: EmbedderIdentity
  /** Milliseconds since the epoch. */
  readonly createdAt: number
}

export interface CollectionSummary extends Collection {
  readonly documents: number
  readonly passages: number
}

export const sameEmbedder: (a: EmbedderIdentity, b: EmbedderIdentity) => boolean = Schema.equivalence(EmbedderIdentity)

export const describeEmbedder = (e: Pick<EmbedderIdentity, "backend" | "model" | "dimensions">): string =>
  `${e.backend} ${e.model} (${e.dimensions} dimensions)`
