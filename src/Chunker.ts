import * as Effect from "effect/Effect"
import { PipelineConfig } from "./Config.ts"
import type { EmbedderUnavailable } from "./Embedder.ts"
import type { Format } from "./model/Document.ts"
import type { Passage } from "./model/Passage.ts"
import * as thread from "./Chunker/thread.ts"
import { chunk } from "./chunking/chunk.ts"
import { Tokenizer } from "./packaged/Tokenizer.ts"

/** Raised whenever the same text would be chunked differently, so that documents are indexed again. */
const revision = 7

/** Longer texts are chunked in a worker, since they would block the event loop. */
const long = 32_768

/** Splits documents into passages, measured in tokens of the built-in tokenizer for every embedder. */
export class Chunker extends Effect.Service<Chunker>()("clew/Chunker", {
  scoped: Effect.gen(function* () {
    const tokenizer = yield* Tokenizer
    const { chunkOverlap, chunkSize } = yield* PipelineConfig
    const elsewhere = yield* thread.make

    return {
      /** Identifies everything but the text that decides where it is split. */
      settings: `${revision}/${chunkSize}/${chunkOverlap}`,
      /** Passages in order of their start; none for blank text. */
      chunk: (
        content: string,
        format: Format,
        language?: string,
        /** Less than pipeline.chunk_size by this factor, up to 1. */
        share = 1
      ): Effect.Effect<ReadonlyArray<Passage>, EmbedderUnavailable> =>
        Effect.suspend(() => {
          const options = {
            size: Math.max(8, Math.floor(share * chunkSize)),
            overlap: Math.floor(share * chunkOverlap),
            format,
            ...(language === undefined ? {} : { language })
          }
          return content.length > long
            ? elsewhere({ content, options })
            : Effect.map(tokenizer.load, ({ count }) => chunk(content, { ...options, countTokens: count }))
        })
    }
  })
}) {}
