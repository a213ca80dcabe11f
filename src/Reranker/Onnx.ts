import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { basename } from "node:path"
import * as Model from "../onnx/Model.ts"
import { type Reranker, RerankerUnavailable } from "../Reranker.ts"

export interface OnnxOptions {
  /** A cross-encoder's folder in the layout of Hugging Face, or one .onnx file in it. */
  readonly folder: string
  readonly threads: number | "auto"
  readonly top: number
  /** It begins to read no further passage after this time, in milliseconds; loading the model does not count. */
  readonly budgetMs: number
}

/**
 * A cross-encoder on this machine. It reads as many passages as the budget allows, the best ones first, at least one. A
 * passage that does not fit into the model's window beside the query is cut at its end.
 */
export const make = ({
  budgetMs,
  top,
  ...options
}: OnnxOptions): Effect.Effect<typeof Reranker.Service, never, Scope.Scope> =>
  Effect.map(Model.make({ ...options, scores: true }), (opened) => ({
    name: `onnx ${basename(options.folder)}`,
    top,
    budgetMs,
    rerank: Effect.fn("Reranker.rerank")(
      function* (query, texts) {
        const { urgent } = yield* opened
        const until = (yield* Clock.currentTimeMillis) + budgetMs
        const scores: Array<number> = []
        for (const text of texts) {
          if (scores.length > 0 && (yield* Clock.currentTimeMillis) >= until) break
          scores.push(yield* urgent("score", { query, text }))
        }
        return scores
      },
      Effect.mapError(({ reason }) => new RerankerUnavailable({ reason }))
    )
  }))
