import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { FileFormat, Loaded } from "../Loader.ts"
import { extension } from "../../chunking/format.ts"
import { decode, narrow } from "./decode.ts"
import { type Line, Lines } from "./lines.ts"
import { toLoaded } from "./record.ts"

const endings = new Set(["jsonl", "ndjson", "jsonlines", "ldjson"])
const mebibyte = 1024 * 1024
const longestLine = 32 * mebibyte

const toRecord = ({ number, text }: Line): Loaded | undefined =>
  text === undefined
    ? { _tag: "Rejected", line: number, reason: `longer than ${longestLine / mebibyte} MiB, the most a line may be` }
    : toLoaded(number, text)

const toRecords = (lines: ReadonlyArray<Line>): Chunk.Chunk<Loaded> => {
  const records: Array<Loaded> = []
  for (const line of lines) {
    const record = toRecord(line)
    if (record !== undefined) records.push(record)
  }
  return Chunk.unsafeFromArray(records)
}

/**
 * JSON Lines, one document a line (record.ts maps the keys), read as a stream: memory depends on the longest line, not on
 * the file's size. A line that is not such a record is rejected with its number.
 */
export const format: FileFormat = {
  name: "json lines",
  // The name is not enough: a line in the head must open an object or a list.
  accepts: (file) =>
    Effect.sync(
      () =>
        file.kind._tag === "Text" &&
        endings.has(extension(file.path) ?? "") &&
        /^[ \t]*[[{]/m.test(decode(file.head, file.kind.encoding))
    ),
  load: (file) =>
    Stream.suspend(() => {
      const lines = new Lines(longestLine)
      const recode = narrow(file.kind._tag === "Text" ? file.kind.encoding : "utf-8")
      return file.stream.pipe(
        Stream.map((piece) => toRecords(lines.push(recode(piece)))),
        Stream.concat(Stream.sync(() => toRecords(lines.end()))),
        Stream.flattenChunks
      )
    })
}
