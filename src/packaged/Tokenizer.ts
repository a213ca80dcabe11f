import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { existsSync } from "node:fs"
import * as fs from "node:fs/promises"
import { serialize } from "node:v8"
import { EmbedderUnavailable } from "../Embedder.ts"
import { packagedModelFolder } from "./model.ts"
import { once } from "../runtime/once.ts"
import { parse, type Tokenizer as Loaded } from "../tokenizer/tokenizer.ts"

/** As the build packs it (scripts/build.mjs), in the version of V8's format that this Node writes. */
const packedFile = `${packagedModelFolder}tokenizer.${serialize(0)[1]}.packed`

/** The packaged tokenizer's file, for another thread to read. */
export const packagedTokenizerFile = existsSync(packedFile) ? packedFile : `${packagedModelFolder}tokenizer.json`

const read = Effect.gen(function* () {
  const bytes = yield* Effect.tryPromise({
    try: () => fs.readFile(packagedTokenizerFile),
    catch: (error) =>
      new EmbedderUnavailable({
        reason: `${packagedTokenizerFile} cannot be read; install clew again, or if a bundler has taken it in, leave it out of the bundle: ${(error as Error).message}`
      })
  })
  return yield* Either.mapLeft(
    parse(packagedTokenizerFile, bytes),
    ({ reason }) => new EmbedderUnavailable({ reason: `${packagedTokenizerFile}: ${reason}` })
  )
})

/**
 * The packaged model's tokenizer. One for the process: the file does not change, and counting tokens warms the cache for
 * embedding.
 */
export const packagedTokenizer: Effect.Effect<Loaded, EmbedderUnavailable> = once(read)

/** The tokenizer that measures passages and budgets, whatever the embedder. */
export class Tokenizer extends Effect.Service<Tokenizer>()("clew/Tokenizer", {
  succeed: {
    /** Its functions are synchronous and need no `this`. */
    load: packagedTokenizer
  }
}) {}
