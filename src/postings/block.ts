import { damaged } from "../model/Damaged.ts"
import { ByteReader, ByteWriter } from "./bytes.ts"
import { Runs } from "./runs.ts"
import { countBefore } from "../model/numbers.ts"

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
export const blockOf = (firsts: ReadonlyArray<Buffer>, term: Uint8Array): number =>
  countBefore(firsts.length, (at) => Buffer.compare(firsts[at]!, term) <= 0) - 1

/** A block is closed at this many bytes. A term's postings are never split, so it may be larger. */
const blockBytes = 16 * 1024

/** Terms with their postings, in order, and the first term. */
export interface Block {
  readonly first: Buffer
  readonly data: Buffer
}

/**
 * Packs terms into blocks. An entry has: the number of bytes shared with the previous term, the number of bytes that
 * follow and those bytes, the number of postings, the last ordinal (if there are several), the length of the postings
 * in bytes, and the postings.
 */
export class BlockWriter {
  readonly blocks: Array<Block> = []
  private readonly out = new ByteWriter(2 * blockBytes)
  private readonly last = Buffer.alloc(1024)
  private lastLength = 0
  private first = Buffer.alloc(0)
  /** Bytes in closed blocks and the open one. */
  written = 0

  /** Adds a term, greater than the previous ones; write its postings with the returned writer. */
  add(term: Uint8Array, length: number, count: number, lastOrdinal: number, postings: ByteWriter): void {
    const before = this.out.length
    if (before > 0 && before + postings.length > 2 * blockBytes) this.close()
    let shared = 0
    if (this.out.length === 0) this.first = Buffer.from(term.subarray(0, length))
    else {
      const most = Math.min(length, this.lastLength)
      while (shared < most && this.last[shared] === term[shared]) shared++
    }
    const start = this.out.length
    this.out.varint(shared)
    this.out.varint(length - shared)
    this.out.bytes(term, shared, length)
    this.out.varint(count)
    if (count > 1) this.out.varint(lastOrdinal)
    this.out.varint(postings.length)
    this.out.bytes(postings.buffer, 0, postings.length)
    this.written += this.out.length - start
    for (let i = shared; i < length; i++) this.last[i] = term[i] as number
    this.lastLength = length
    if (this.out.length >= blockBytes) this.close()
  }

  close(): void {
    if (this.out.length > 0) this.blocks.push({ first: this.first, data: this.out.take() })
  }
}

/** Greater than the longest term in bytes of UTF-8. */
export const maxTermBytes = 1024

/** Iterates over a block's entries. Fails on invalid bytes, and never reads beyond them. */
export class BlockReader {
  readonly term = Buffer.alloc(maxTermBytes)
  termLength = 0
  count = 0
  lastOrdinal = 0
  /** Where the entry's postings begin and end. */
  start = 0
  end = 0
  private readonly reader: ByteReader

  constructor(readonly data: Uint8Array) {
    this.reader = new ByteReader(data)
  }

  /** Goes to the next entry; false at the end. */
  next(): boolean {
    const { reader } = this
    reader.at = this.end
    if (reader.done) return false
    const shared = reader.upTo(this.termLength)
    const more = reader.upTo(Math.min(maxTermBytes - shared, reader.left))
    const { data, term } = this
    if (more > reader.left) damaged("a block of postings ends within a term")
    for (let i = 0; i < more; i++) term[shared + i] = data[reader.at++] as number
    this.termLength = shared + more
    this.count = reader.varint()
    if (this.count > 1) this.lastOrdinal = reader.varint()
    const bytes = reader.varint()
    this.start = reader.at
    this.end = reader.at + bytes
    // A posting takes at least one byte.
    if (this.end > data.length || this.count < 1 || this.count > bytes) {
      damaged("the lengths in a block of postings do not match its bytes")
    }
    if (this.count === 1) {
      this.lastOrdinal = Math.floor(reader.varint() / 2)
    }
    return true
  }

  get currentTerm(): Buffer {
    return this.term.subarray(0, this.termLength)
  }
}

/** Whether the kernel found a term in a block (0 no, 1 yes, 2 invalid bytes); fails if its bytes are invalid. */
export const isFound = (result: number): boolean =>
  result === 2 ? damaged("the lengths in a block of postings do not match its bytes") : result === 1

/** By bytes, with a prefix before the terms it begins. */
export const compareTerms = (a: Uint8Array, aLength: number, b: Uint8Array, bLength: number): number => {
  const shared = Math.min(aLength, bLength)
  for (let i = 0; i < shared; i++) {
    const difference = (a[i] as number) - (b[i] as number)
    if (difference !== 0) return difference
  }
  return aLength - bLength
}
