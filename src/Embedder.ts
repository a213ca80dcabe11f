import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { EmbedderIdentity } from "./model/Collection.ts"
import type { KeptText, RareWord, Vector } from "./model/Passage.ts"
import { fault, reasonOf } from "./model/fault.ts"

/** The embedder cannot answer now: unreachable, not loadable, or with invalid output. */
export class EmbedderUnavailable extends fault<EmbedderUnavailable>()(
  "EmbedderUnavailable",
  503,
  {
    reason: Schema.String,
    /** It refused these texts only; others may be embedded. */
    refused: Schema.optional(Schema.Boolean)
  },
  reasonOf
) {}

/** Turns text into vectors of a fixed width. Queries and passages may be encoded differently. */
export class Embedder extends Context.Tag("clew/Embedder")<
  Embedder,
  {
    /** The embedder's identity; may have to load or ask the model. */
    readonly identity: Effect.Effect<EmbedderIdentity, EmbedderUnavailable>
    /** The same for callers who write: they wait for a busy server as long as passages do. Absent if it cannot be busy. */
    readonly patient?: Effect.Effect<EmbedderIdentity, EmbedderUnavailable>
    /** The next `identity` is asked anew: the name may mean another model by now. Absent if it cannot. */
    readonly forget?: Effect.Effect<void>
    /** ISO 639 codes of the languages that the model serves, if its folder tells; undefined or absent: unknown. */
    readonly languages?: Effect.Effect<ReadonlyArray<string> | undefined, EmbedderUnavailable>
    /** None if the text has no known token except punctuation, or a model's vector of it is zero: it has no direction. */
    readonly embedQuery: (text: string) => Effect.Effect<Option.Option<Vector>, EmbedderUnavailable>
    /**
     * The share of a query's letters that the model knows, 0 to 1; it scales the weight of the vector leg. An embedder
     * without this method knows all.
     */
    readonly knownShare?: (text: string) => Effect.Effect<number, EmbedderUnavailable>
    /**
     * Order of results matches order of texts; vectors are L2-normalised. `told` is called with the index of a text
     * that was truncated or refused, and a message.
     */
    readonly embedPassages: (
      texts: ReadonlyArray<string>,
      told?: (at: number, what: string) => Effect.Effect<void>
    ) => Effect.Effect<ReadonlyArray<Option.Option<Vector>>, EmbedderUnavailable>
    /**
     * How nearly each text has a question's words, 0 to 1: for each word the greatest cosine with any of the text's,
     * weighted by its `rarity`. Only models with a vector for each word, whatever is beside it, have this method.
     */
    readonly likeness?: (
      words: ReadonlyArray<RareWord>,
      texts: ReadonlyArray<KeptText>
    ) => Effect.Effect<ReadonlyArray<number>, EmbedderUnavailable>
    /** For a model that reads only so many tokens at once: what share of them each text takes, above 1 if it is too long. */
    readonly fill?: (texts: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<number>, EmbedderUnavailable>
    /** For callers that cannot wait: fails at once if the embedder is known to be down. Absent if it cannot be down. */
    readonly urgent?: {
      readonly identity: Effect.Effect<EmbedderIdentity, EmbedderUnavailable>
      /** Fails if it does not answer; asks only if it has not answered recently. */
      readonly check: Effect.Effect<unknown, EmbedderUnavailable>
    }
  }
>() {}

/** The packaged model, whatever embeds the collections. */
export class PackagedEmbedder extends Context.Tag("clew/PackagedEmbedder")<
  PackagedEmbedder,
  typeof Embedder.Service
>() {}
