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

/**
 * Reads a query and passages together and scores how well each answers. Without a reranker, searches keep their
 * ranking.
 */
export class Reranker extends Context.Tag("clew/Reranker")<
  Reranker,
  {
    /** What reranks, as people are told; without the path or address of it. */
    readonly name: string
    /** How many of the best passages it reranks. */
    readonly top: number
    /** Milliseconds after which it may leave out the rest; undefined: it always reads all. */
    readonly budgetMs?: number
    /**
     * A finite score for each text, in order, higher is better; the scale is unspecified. Fewer scores, but at least one,
     * if the time did not suffice for the rest.
     */
    readonly rerank: (
      query: string,
      texts: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<number>, RerankerUnavailable>
  }
>() {}
