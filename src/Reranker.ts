import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** The reranker does not answer now; the reason says what to do. */
export class RerankerUnavailable extends Schema.TaggedError<RerankerUnavailable>()("RerankerUnavailable", {
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}

/** Reads a query and passages together and says how well each answers. Where there is none, searches stay as they are ranked. */
export class Reranker extends Context.Tag("clew/Reranker")<
  Reranker,
  {
    /** How many of the best passages it is asked about. */
    readonly top: number
    /** A finite number for each text, in their order, higher is better; of no particular scale. */
    readonly rerank: (
      query: string,
      texts: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<number>, RerankerUnavailable>
  }
>() {}
