import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { type Embedder, EmbedderUnavailable } from "../Embedder.ts"
import type { EmbedderIdentity } from "../model/Collection.ts"
import * as Model from "../onnx/Model.ts"
import { prefixesOf } from "./prefixes.ts"

export interface OnnxOptions {
  /** A model's folder in the layout of Hugging Face, or one .onnx file in it. */
  readonly folder: string
  readonly threads: number | "auto"
  /** Fewer than the model's own: the first of them, which is what Matryoshka models are trained for. */
  readonly dimensions?: number | undefined
  readonly queryPrefix?: string | undefined
  readonly passagePrefix?: string | undefined
}

/**
 * A transformer on this machine. Its identity is the folder with a hash of what determines a vector. A text longer than
 * the model's window is read in parts, and its vector is their mean.
 */
export const make = (options: OnnxOptions): Effect.Effect<typeof Embedder.Service, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { dimensions, folder: path } = options
    const unavailable = ({ reason }: { readonly reason: string }) => new EmbedderUnavailable({ reason })
    const opened = (yield* Model.make(options)).pipe(
      Effect.mapError(unavailable),
      Effect.filterOrFail(
        (model) => dimensions === undefined || dimensions <= model.dimensions,
        (model) =>
          unavailable({
            reason: `embedding.dimensions is ${dimensions}, but ${path} gives ${model.dimensions}: set that or fewer, or remove the setting`
          })
      )
    )
    const prefixes = Effect.map(opened, ({ folder: { family, passagePrefix, queryPrefix } }) => {
      const usual = prefixesOf(family, options)
      return {
        query: options.queryPrefix ?? queryPrefix ?? usual.query,
        passage: options.passagePrefix ?? passagePrefix ?? usual.passage
      }
    })
    const identity = Effect.map(Effect.all([opened, prefixes]), ([model, { passage, query }]): EmbedderIdentity => ({
      backend: "onnx",
      model: `${path}@${model.hash}`,
      dimensions: dimensions ?? model.dimensions,
      queryPrefix: query,
      passagePrefix: passage
    }))
    const blank = (text: string) => text.trim() === ""

    return {
      identity,
      languages: Effect.map(opened, ({ folder }) => folder.languages),
      knownShare: (text) => Effect.flatMap(opened, ({ urgent }) => Effect.mapError(urgent("known", text), unavailable)),
      fill: (texts) =>
        Effect.gen(function* () {
          const { folder, patient } = yield* opened
          const { passage } = yield* prefixes
          const counts = yield* patient(
            "count",
            texts.map((text) => passage + text)
          )
          return counts.map((count) => count / folder.window)
        }).pipe(Effect.mapError(unavailable)),
      embedQuery: (text) =>
        blank(text)
          ? Effect.succeedNone
          : Effect.gen(function* () {
              const { urgent } = yield* opened
              const { query } = yield* prefixes
              const { vector } = yield* Effect.mapError(urgent("embed", { prefix: query, text }), unavailable)
              return Option.fromNullable(vector)
            }),
      embedPassages: Effect.fn("Onnx.embedPassages")(function* (texts, told = () => Effect.void) {
        const { folder, patient } = yield* opened
        const { passage } = yield* prefixes
        return yield* Effect.forEach(texts, (text, at) =>
          blank(text)
            ? Effect.succeedNone
            : patient("embed", { prefix: passage, text }).pipe(
                Effect.mapError(unavailable),
                Effect.tap(({ parts }) =>
                  parts === 1
                    ? Effect.void
                    : told(
                        at,
                        `longer than the ${folder.window} tokens that ${folder.name} reads: its vector is the mean of ${parts} parts; with a smaller pipeline.chunk_size each passage has its own`
                      )
                ),
                Effect.map(({ vector }) => Option.fromNullable(vector))
              )
        )
      })
    }
  })
