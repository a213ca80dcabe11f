import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { EmbedderIdentity } from "./model/Collection.ts"
import type { Vector } from "./model/Passage.ts"

/** The embedder cannot answer now: not reachable, not loadable, or it gave rubbish. */
export class EmbedderUnavailable extends Schema.TaggedError<EmbedderUnavailable>()(
  "EmbedderUnavailable",
  {
    reason: Schema.String,
    /** It answers, but not to these texts: others may be embedded. */
    refused: Schema.optional(Schema.Boolean)
  },
  HttpApiSchema.annotations({ status: 503 })
) {
  override get message() {
    return this.reason
  }
}

/** Turns text into vectors of a fixed width. Queries and passages may be encoded differently. */
export class Embedder extends Context.Tag("clew/Embedder")<
  Embedder,
  {
    /** What the vectors are made by; may have to load or ask the model. */
    readonly identity: Effect.Effect<EmbedderIdentity, EmbedderUnavailable>
    /** None: the text has no known token but punctuation, so it has no direction. */
    readonly embedQuery: (text: string) => Effect.Effect<Option.Option<Vector>, EmbedderUnavailable>
    /**
     * The share of a query's letters that the model knows, 0 to 1, by which the vector leg counts less; an embedder
     * without it knows all.
     */
    readonly knownShare?: (text: string) => Effect.Effect<number, EmbedderUnavailable>
    /**
     * Order of results matches order of texts; vectors are L2-normalised. `told` is called for a text, by its place, that
     * was taken only in part or not at all, with what to say of it.
     */
    readonly embedPassages: (
      texts: ReadonlyArray<string>,
      told?: (at: number, what: string) => Effect.Effect<void>
    ) => Effect.Effect<ReadonlyArray<Option.Option<Vector>>, EmbedderUnavailable>
    /** For who cannot wait: fails at once where the embedder is known to be down. One that cannot be down has none. */
    readonly urgent?: {
      readonly identity: Effect.Effect<EmbedderIdentity, EmbedderUnavailable>
      /** Fails where it does not answer; asks it only where it has not answered lately. */
      readonly check: Effect.Effect<unknown, EmbedderUnavailable>
    }
  }
>() {}
