import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import { Chunker } from "../src/Chunker.ts"
import { PipelineConfig, SearchConfig } from "../src/Config.ts"
import { Embedder, EmbedderUnavailable } from "../src/Embedder.ts"
import * as Embedders from "../src/Embedders.ts"
import type { EmbedderIdentity } from "../src/model/Collection.ts"
import { Tokenizer } from "../src/packaged/Tokenizer.ts"
import { Search } from "../src/Search.ts"
import { layerMemory } from "../src/Store/Sqlite.ts"

export const words = ["north", "east", "south", "west"]

export const compass: EmbedderIdentity = {
  backend: "test",
  model: "compass",
  dimensions: words.length,
  queryPrefix: "",
  passagePrefix: ""
}

/** Counts the compass's words; a text with none of them has no vector. */
const embed = (text: string): Option.Option<Float32Array> => {
  const counts = words.map((word) => text.toLowerCase().split(word).length - 1)
  const norm = Math.hypot(...counts)
  return norm === 0 ? Option.none() : Option.some(Float32Array.from(counts, (count) => count / norm))
}

/** An embedder that can be switched off, and that counts what it is given. */
export const makeEmbedder = (identity: EmbedderIdentity = compass) =>
  Effect.gen(function* () {
    const down = yield* Ref.make<string | undefined>(undefined)
    const embedded = yield* Ref.make(0)
    const whenUp = <A>(value: () => A) =>
      Effect.flatMap(Ref.get(down), (reason) =>
        reason === undefined
          ? Effect.sync(value)
          : reason === "silent"
            ? Effect.never
            : Effect.fail(new EmbedderUnavailable({ reason }))
      )
    const embedder = Embedder.of({
      identity: Effect.succeed(identity),
      embedQuery: (text) => whenUp(() => embed(text)),
      embedPassages: (texts) =>
        Effect.zipLeft(
          whenUp(() => texts.map(embed)),
          Ref.update(embedded, (count) => count + texts.length)
        )
    })
    return { embedder, down, embedded }
  })

export const embeddersLayer = (embedder: Embedder["Type"]) =>
  Embedders.layerSingle.pipe(Layer.provide(Layer.succeed(Embedder, embedder)))

/** The configuration of Search, with what a test changes of it. */
export const searchConfig = (over: Partial<typeof SearchConfig.Service> = {}) =>
  Layer.succeed(SearchConfig, {
    topK: 5,
    rrfK: 10,
    context: true,
    fold: true,
    perDocument: 0,
    graph: "auto",
    ...over
  })

/** Search by one embedder over a store in memory, which comes with it. */
export const searchLayer = (embedder: Embedder["Type"]) =>
  Search.Default.pipe(
    Layer.provide(Layer.merge(embeddersLayer(embedder), searchConfig())),
    Layer.provideMerge(layerMemory)
  )

/** Cuts documents into passages of this size, by the packaged tokenizer. */
export const chunkerOf = (chunkSize: number, chunkOverlap: number) =>
  Chunker.Default.pipe(Layer.provide([Tokenizer.Default, Layer.succeed(PipelineConfig, { chunkSize, chunkOverlap })]))
