import { damaged } from "../model/Damaged.ts"
import { compareTerms, maxTermBytes } from "./block.ts"
import { ByteReader, ByteWriter } from "./bytes.ts"
import { Runs } from "./runs.ts"

/** A segment's metadata: its passages in order, the number of terms of each, and the first term of each block. */
export interface Head {
  readonly ids: Runs
  readonly lengths: Uint32Array
  readonly firsts: ReadonlyArray<Buffer>
}

export const encodeHead = ({ firsts, ids, lengths }: Head): Buffer => {
  const out = new ByteWriter(64 + 2 * lengths.length + 16 * firsts.length)
  ids.write(out)
  for (const length of lengths) out.varint(length)
  out.varint(firsts.length)
  for (const first of firsts) {
    out.varint(first.length)
    out.bytes(first)
  }
  return out.take()
}

const mostTerms = 0xffffffff

/** Fails on invalid bytes; takes time and memory of at most a few times their length. */
export const decodeHead = (data: Buffer): Head => {
  const reader = new ByteReader(data)
  const ids = Runs.read(reader)
  if (ids.count > reader.left) damaged("a head names more passages than it has lengths for")
  const lengths = new Uint32Array(ids.count)
  for (let ordinal = 0; ordinal < lengths.length; ordinal++) lengths[ordinal] = reader.upTo(mostTerms)
  const firsts: Array<Buffer> = []
  for (let count = reader.upTo(reader.left); count > 0; count--) {
    const length = reader.upTo(Math.min(maxTermBytes, reader.left))
    if (length > reader.left) damaged("a head ends within a term")
    firsts.push(data.subarray(reader.at, reader.at + length))
    reader.at += length
  }
  if (!reader.done) damaged("a head is longer than its content")
  return { ids, lengths, firsts }
}

/** The block that may contain a term; -1 if the term is before the first. */
export const blockOf = (firsts: ReadonlyArray<Buffer>, term: Uint8Array): number => {
  let low = 0
  let high = firsts.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const first = firsts[middle] as Buffer
    if (compareTerms(first, first.length, term, term.length) <= 0) low = middle + 1
    else high = middle
  }
  return low - 1
}
