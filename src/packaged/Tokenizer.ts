import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as SynchronizedRef from "effect/SynchronizedRef"
import * as fs from "node:fs/promises"
import { EmbedderUnavailable } from "../Embedder.ts"
import { packagedModelFolder } from "./model.ts"
import { parse, type Tokenizer as Loaded } from "../text/tokenizer/tokenizer.ts"

/** Where the packaged tokenizer stands, for another thread to read it. */
export const packagedTokenizerFile = `${packagedModelFolder}tokenizer.json`

const read = Effect.gen(function* () {
  const bytes = yield* Effect.tryPromise({
    try: () => fs.readFile(packagedTokenizerFile),
    catch: (error) =>
      new EmbedderUnavailable({
        reason: `${packagedTokenizerFile} cannot be read, install clew again: ${(error as Error).message}`
      })
  })
  return yield* Either.mapLeft(
    parse(bytes),
    ({ reason }) => new EmbedderUnavailable({ reason: `${packagedTokenizerFile}: ${reason}` })
  )
})

// One for the process: the file does not change, and whoever counts warms the cache for whoever embeds.
const loaded = SynchronizedRef.unsafeMake(Option.none<Loaded>())

/** The packaged model's tokenizer: read at its first use, and once; a failure is tried again. */
export const packagedTokenizer: Effect.Effect<Loaded, EmbedderUnavailable> =
  // Uninterruptible, since a caller interrupted while it waits would cancel it for all others.
  Effect.uninterruptible(
    SynchronizedRef.modifyEffect(loaded, (before) =>
      Option.match(before, {
        onSome: (tokenizer) => Effect.succeed([tokenizer, before] as const),
        onNone: () => Effect.map(read, (tokenizer) => [tokenizer, Option.some(tokenizer)] as const)
      })
    )
  )

/** The tokenizer by which passages and budgets are measured, whatever the embedder. */
export class Tokenizer extends Effect.Service<Tokenizer>()("clew/Tokenizer", {
  succeed: {
    /** Once it is there, its functions are synchronous; they need no `this`. */
    load: packagedTokenizer
  }
}) {}
