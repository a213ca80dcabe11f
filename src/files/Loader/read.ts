import type { PlatformError } from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"

export const headBytes = 64 * 1024
const pieceBytes = 256 * 1024

/** The first bytes of an open file: 64 KiB, or all of a shorter one. */
export const readHead = Effect.fnUntraced(function* (handle: FileSystem.File, size: number) {
  // A file without a size may have content, as under /proc, and is read to its end.
  const wanted = size > 0 ? Math.min(size, headBytes) : headBytes
  const buffer = new Uint8Array(wanted)
  let filled = 0
  while (filled < wanted) {
    const read = Number(yield* handle.read(buffer.subarray(filled)))
    if (read === 0) break
    filled += read
  }
  return buffer.subarray(0, filled)
})

/** An open file from its start, in pieces of at most 256 KiB. */
export const pieces = (handle: FileSystem.File): Stream.Stream<Uint8Array, PlatformError> =>
  Stream.unwrap(
    Effect.as(
      handle.seek(0n, "start"),
      Stream.repeatEffectOption(
        handle
          .readAlloc(pieceBytes)
          .pipe(
            Effect.mapError(Option.some),
            Effect.flatMap(Option.match({ onNone: () => Effect.fail(Option.none()), onSome: Effect.succeed }))
          )
      )
    )
  )

/** A whole stream, up to `limit`: a file may grow while it is read. */
export const bytesOf = <E, E2>(
  stream: Stream.Stream<Uint8Array, E>,
  limit: number,
  tooLarge: (read: number) => E2
): Effect.Effect<Uint8Array, E | E2> =>
  Effect.gen(function* () {
    const parts: Array<Uint8Array> = []
    let read = 0
    yield* Stream.runForEach(stream, (part): Effect.Effect<void, E2> => {
      read += part.length
      if (read > limit) return Effect.fail(tooLarge(read))
      parts.push(part)
      return Effect.void
    })
    return Buffer.concat(parts, read)
  })

/** A size in readable units, such as 1.5 MiB. */
export const sizeText = (bytes: number): string => {
  if (bytes < 1024) return `${bytes} bytes`
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), 4)
  const amount = bytes / 1024 ** power
  return `${Number.isInteger(amount) ? amount : amount.toFixed(1)} ${["", "KiB", "MiB", "GiB", "TiB"][power]}`
}
