import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type SourceFile, Unsupported } from "../Loader.ts"
import { kindOf } from "./kind.ts"
import { headBytes, sizeText } from "./read.ts"

export const tooLarge = (path: string, size: number, limit: number): Unsupported =>
  new Unsupported({
    path,
    reason: `${sizeText(size)}, more than limits.max_file_bytes allows (${sizeText(limit)})`,
    isLimit: true
  })

/** Opens bytes that have no file of their own: standard input, unpacked files, mail attachments. */
export const openBytes = Effect.fnUntraced(function* (path: string, all: Uint8Array, limit: number) {
  if (all.length === 0) return yield* new Unsupported({ path, reason: "empty" })
  const head = all.subarray(0, headBytes)
  const bytes = all.length > limit ? tooLarge(path, all.length, limit) : Effect.succeed(all)
  return {
    path,
    size: all.length,
    head,
    kind: yield* kindOf(path, head),
    bytes,
    stream: Stream.make(all)
  } satisfies SourceFile
})
