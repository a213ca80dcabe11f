import * as Chunk from "effect/Chunk"
import * as Stream from "effect/Stream"
import { extension } from "../../chunking/format.ts"
import type { FileFormat, Loaded } from "../Loader.ts"
import { decode, decodeLine, narrow } from "./decode.ts"
import { toLoaded } from "./record.ts"

/** A line of a file, numbered from 1; `text` is undefined if the line is longer than the limit. */
export interface Line {
  readonly number: number
  readonly text: string | undefined
}

const newline = 0x0a

/** Splits UTF-8 or windows-1252 that comes in pieces into lines; holds at most one line and one piece. */
export class Lines {
  #number = 0
  #held: Array<Buffer> = []
  #heldBytes = 0

  constructor(private readonly limit: number) {}

  /** The lines that a piece completes. */
  push(piece: Uint8Array): Array<Line> {
    const buffer = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
    const lines: Array<Line> = []
    let start = 0
    for (let end = buffer.indexOf(newline); end >= 0; end = buffer.indexOf(newline, start)) {
      // Line by line, since most lines are ASCII, which decodes many times faster than a piece with one accent.
      lines.push(this.#complete(buffer.subarray(start, end)))
      start = end + 1
    }
    if (start < buffer.length) this.#hold(buffer.subarray(start))
    return lines
  }

  /** The last line if no line feed ends it. */
  end(): Array<Line> {
    return this.#heldBytes === 0 ? [] : [this.#complete(Buffer.alloc(0))]
  }

  #hold(piece: Buffer): void {
    this.#heldBytes += piece.length
    if (this.#heldBytes > this.limit) this.#held = []
    else this.#held.push(piece)
  }

  #complete(rest: Buffer): Line {
    const number = ++this.#number
    const length = this.#heldBytes + rest.length
    const whole = this.#heldBytes === 0 || length > this.limit ? rest : Buffer.concat([...this.#held, rest], length)
    this.#held = []
    this.#heldBytes = 0
    if (length > this.limit) return { number, text: undefined }
    const text = decodeLine(whole)
    return { number, text: number === 1 && text.startsWith("\ufeff") ? text.slice(1) : text }
  }
}

const endings = new Set(["jsonl", "ndjson", "jsonlines", "ldjson"])
const mebibyte = 1024 * 1024
const longestLine = 32 * mebibyte

const toRecord = ({ number, text }: Line): Loaded | undefined =>
  text === undefined
    ? { _tag: "Rejected", line: number, reason: `longer than ${longestLine / mebibyte} MiB, the most a line may be` }
    : toLoaded(number, text)

const toRecords = (lines: ReadonlyArray<Line>): Chunk.Chunk<Loaded> =>
  Chunk.unsafeFromArray(lines.flatMap((line) => toRecord(line) ?? []))

/**
 * JSON Lines, one document a line (record.ts maps the keys), read as a stream: memory depends on the longest line, not on
 * the file's size. A line that is not such a record is rejected with its number.
 */
export const format: FileFormat = {
  name: "json lines",
  // The name is not enough: a line in the head must open an object or a list.
  accepts: (file) =>
    file.kind._tag === "Text" &&
    endings.has(extension(file.path) ?? "") &&
    /^[ \t]*[[{]/m.test(decode(file.head, file.kind.encoding)),
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
