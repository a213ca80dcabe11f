import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { extension } from "../../chunking/format.ts"
import type { FileFormat, Loaded } from "../Loader.ts"
import { type Frame, makeSplitter } from "../../runtime/lines.ts"
import { asBuffer, decode, decodeLine, narrow } from "./decode.ts"
import { toLoaded } from "./record.ts"

const endings = new Set(["jsonl", "ndjson", "jsonlines", "ldjson"])
const mebibyte = 1024 * 1024
const longestLine = 32 * mebibyte

const tooLong = `longer than ${longestLine / mebibyte} MiB, the most a line may be`

/** Reads pieces of UTF-8 or windows-1252 as records, a line each. */
export const makeReader = (limit: number) => {
  const splitter = makeSplitter(limit)
  let line = 0
  const toRecord = (frame: Frame): Loaded | undefined => {
    line++
    if (frame._tag === "TooLong") return { _tag: "Rejected", line, reason: tooLong }
    // Line by line, since most lines are ASCII, which decodes many times faster than a piece with one accent.
    return toLoaded(line, decodeLine(frame.bytes))
  }
  const toRecords = (frames: ReadonlyArray<Frame>): ReadonlyArray<Loaded> =>
    frames.flatMap((frame) => toRecord(frame) ?? [])
  return {
    push: (piece: Uint8Array) => toRecords(splitter.push(asBuffer(piece))),
    end: () => toRecords(splitter.end())
  }
}

/**
 * JSON Lines, one document a line (record.ts maps the keys), read as a stream: memory depends on the longest line, not on
 * the file's size. A line that is not such a record is rejected with its number.
 */
export const format: FileFormat = {
  name: "json lines",
  version: 2,
  // The name is not enough: a line in the head must open an object or a list.
  accepts: (file) =>
    file.kind._tag === "Text" &&
    endings.has(extension(file.path) ?? "") &&
    /^[ \t]*[[{]/m.test(decode(file.head, file.kind.encoding)),
  load: (file) =>
    Stream.suspend(() => {
      const { end, push } = makeReader(longestLine)
      const recode = narrow(file.kind._tag === "Text" ? file.kind.encoding : "utf-8")
      return file.stream.pipe(
        Stream.mapConcat((piece) => push(recode(piece))),
        Stream.concat(Stream.fromIterableEffect(Effect.sync(end)))
      )
    })
}
