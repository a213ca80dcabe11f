import * as Schema from "effect/Schema"
import { int, text } from "./fields.ts"
import * as Struct from "effect/Struct"

/** The rule for names, in words. */
export const nameRule =
  "a collection's name is 1 to 64 letters, digits, '.', '_' or '-', and starts with a letter or digit"

/** A collection's name: letters, digits, `.`, `_`, `-`. */
export const CollectionName = Schema.String.annotations({ message: () => nameRule }).pipe(
  Schema.pattern(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, { message: () => nameRule }),
  Schema.brand("CollectionName"),
  Schema.annotations({ identifier: "CollectionName", description: "Name of a collection" })
)
export type CollectionName = typeof CollectionName.Type

export const defaultCollection = CollectionName.make("default")

/**
 * How Clew makes vectors, apart from the model: raise it when the text that is embedded changes (`embeddedText`), or what
 * the packaged model makes of a text. 0.1.0 had 1: a table's header was not embedded, and punctuation had a meaning.
 */
export const presentMaking = 2

/** The identity of an embedder: vectors of different identities are never mixed. */
export const EmbedderIdentity = Schema.Struct({
  backend: text("builtin, onnx, ollama or openai"),
  model: text("Name or directory of the model"),
  dimensions: Schema.Int.pipe(Schema.positive()).annotations({ description: "Dimensions of a vector" }),
  queryPrefix: Schema.String.pipe(Schema.propertySignature, Schema.fromKey("query_prefix")),
  passagePrefix: Schema.String.pipe(Schema.propertySignature, Schema.fromKey("passage_prefix")),
  digest: Schema.optional(text("Digest of the model's weights, if the server reports it")),
  making: Schema.optional(int("The older version of Clew's way to make vectors, if it is not the present one"))
}).annotations({ identifier: "EmbedderIdentity", description: "The embedder that made a collection's vectors" })
export type EmbedderIdentity = typeof EmbedderIdentity.Type

/** An embedder by its model alone. */
export type Model = Pick<EmbedderIdentity, "backend" | "model" | "dimensions">

/**
 * Whether what a collection's vectors have in common is taken off their similarities. Static models gave better results
 * without it: docs/quality.md.
 */
export const hasBackground = ({ backend }: Pick<EmbedderIdentity, "backend">): boolean => backend !== "builtin"

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
  /** Another embedder that is making vectors for the collection, and how many passages have one. */
  readonly next?: { readonly embedder: Model; readonly done: number } | undefined
}

/** To Ollama, a name without a tag means `:latest`. */
const modelOf = ({ backend, model }: Model): string => (backend === "ollama" ? model.replace(/:latest$/, "") : model)

export const sameModel = (a: Model, b: Model): boolean =>
  a.backend === b.backend && modelOf(a) === modelOf(b) && a.dimensions === b.dimensions

const samePrefixes = (a: EmbedderIdentity, b: EmbedderIdentity): boolean =>
  a.queryPrefix === b.queryPrefix && a.passagePrefix === b.passagePrefix

const sameDigest = (a: EmbedderIdentity, b: EmbedderIdentity): boolean =>
  a.digest === undefined || b.digest === undefined || a.digest === b.digest

/** Whether only the weights behind the model's name, or Clew's way to make vectors, may differ. */
export const sameButForDigest = (a: EmbedderIdentity, b: EmbedderIdentity): boolean =>
  sameModel(a, b) && samePrefixes(a, b)

/** Whether vectors of both are comparable; an unknown digest counts as equal. */
export const sameEmbedder = (a: EmbedderIdentity, b: EmbedderIdentity): boolean =>
  sameButForDigest(a, b) && sameDigest(a, b) && a.making === b.making

/** The embedder with Clew's present way to make vectors. */
export const presently = (identity: EmbedderIdentity): EmbedderIdentity => Struct.omit(identity, "making")

/** As `sameEmbedder`, and both digests are known or both unknown. */
export const identicalEmbedder = (a: EmbedderIdentity, b: EmbedderIdentity): boolean =>
  sameEmbedder(a, b) && a.digest === b.digest

const prefixesOf = ({ passagePrefix, queryPrefix }: EmbedderIdentity): string =>
  `${JSON.stringify(queryPrefix)} before queries and ${JSON.stringify(passagePrefix)} before passages`

/** Describes the difference between the recorded embedder and another. */
export const describeDifference = (recorded: EmbedderIdentity, other: EmbedderIdentity): string => {
  const name = describeEmbedder(recorded)
  if (!sameModel(recorded, other)) return `created with ${name}, but ${describeEmbedder(other)} is configured`
  if (samePrefixes(recorded, other) && sameDigest(recorded, other)) {
    return `created with ${name}, and vectors that Clew makes in another way now are not comparable`
  }
  return samePrefixes(recorded, other)
    ? `created with ${name} of digest ${short(recorded.digest)}, but that name now means ${short(other.digest)}: ` +
        `the model was pulled again or replaced, and vectors of the two are not comparable`
    : `created with ${name} and the prefixes ${prefixesOf(recorded)}, but ${prefixesOf(other)} are configured: ` +
        `the model is the same, only its prefixes differ`
}

const short = (digest = "") => digest.slice(0, 12)

export const describeEmbedder = (e: Model & Pick<EmbedderIdentity, "making">): string =>
  `${e.backend} ${e.model} (${e.dimensions} dimensions${e.making === undefined ? "" : ", vectors made as an older Clew made them"})`
