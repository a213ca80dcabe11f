import * as Effect from "effect/Effect"
import { PipelineConfig } from "./Config.ts"
import type { EmbedderUnavailable } from "./Embedder.ts"
import type { Format } from "./model/Document.ts"
import type { Passage } from "./model/Passage.ts"
import * as thread from "./Chunker/thread.ts"
import { chunk } from "./text/chunk.ts"
import { Tokenizer } from "./packaged/Tokenizer.ts"

/** Raised whenever the same text would be cut otherwise than before, so that documents are indexed anew. */
const revision = 4

/** Characters beyond which cutting takes long enough to hold up everything else. */
const long = 32_768

/** Cuts documents into passages, measured in tokens of the built-in tokenizer whatever the embedder. */
export class Chunker extends Effect.Service<Chunker>()("clew/Chunker", {
  scoped: Effect.gen(function* () {
    const tokenizer = yield* Tokenizer
    const { chunkOverlap, chunkSize } = yield* PipelineConfig
    const elsewhere = yield* thread.make

    return {
      /** Names everything but the text that decides where it is cut. */
      settings: `${revision}/${chunkSize}/${chunkOverlap}`,
      /** In order of their start; none for a text of white space. */
      chunk: (
        content: string,
        format: Format,
        language?: string
      ): Effect.Effect<ReadonlyArray<Passage>, EmbedderUnavailable> =>
        Effect.suspend(() => {
          const options = {
            size: chunkSize,
            overlap: chunkOverlap,
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
