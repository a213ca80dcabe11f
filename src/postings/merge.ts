import { BlockReader, type BlockWriter, compareTerms, maxTermBytes } from "./block.ts"
import { ByteReader, ByteWriter } from "./bytes.ts"
import { skipFrequencies } from "./posting.ts"

/** Where an input's passages go: consecutively from an ordinal on, or each to its own ordinal, -1 for none. */
export type Places = number | Int32Array

/** Sorts before every term. */
const beforeAll = new Uint8Array(0)

/** Iterates over an input's terms; the caller supplies its blocks. */
export class Input {
  /** The block to supply next. */
  block = 0
  private entry: BlockReader | undefined

  constructor(
    readonly segment: number,
    private readonly blocks: number,
    readonly places: Places
  ) {}

  /** The current entry; undefined: it waits for its next block, or has ended. */
  get current(): BlockReader | undefined {
    return this.entry
  }

  get waits(): boolean {
    return this.entry === undefined && this.block < this.blocks
  }

  /** Takes the next block, and moves to its first entry after a term. */
  take(data: Uint8Array, after: Uint8Array = beforeAll): void {
    this.block++
    this.entry = new BlockReader(data)
    this.advance()
    while (this.isUpTo(after)) this.advance()
  }

  private isUpTo(term: Uint8Array): boolean {
    return this.entry !== undefined && compareTerms(this.entry.term, this.entry.termLength, term, term.length) <= 0
  }

  advance(): void {
    if (this.entry?.next() !== true) this.entry = undefined
  }
}

/** The postings of one term, collected from the inputs in order. */
class Gathered {
  readonly out = new ByteWriter(64 * 1024)
  count = 0
  last = -1

  clear(): void {
    this.out.length = 0
    this.count = 0
    this.last = -1
  }

  add(entry: BlockReader, places: Places): void {
    const reader = new ByteReader(entry.data, entry.start)
    if (typeof places === "number") {
      // Only the first gap changes.
      const head = reader.varint()
      const ordinal = places + Math.floor(head / 2)
      this.out.varint(2 * (ordinal - this.last - 1) + (head % 2))
      this.out.bytes(entry.data, reader.at, entry.end)
      this.last = places + entry.lastOrdinal
      this.count += entry.count
      return
    }
    let ordinal = -1
    while (reader.at < entry.end) {
      const head = reader.varint()
      ordinal += 1 + Math.floor(head / 2)
      const start = reader.at
      skipFrequencies(reader, head)
      const place = places[ordinal] as number
      if (place < 0) continue
      this.out.varint(2 * (place - this.last - 1) + (head % 2))
      this.out.bytes(entry.data, start, reader.at)
      this.last = place
      this.count++
    }
  }
}

/** Merges terms with their postings, as far as the supplied blocks go. */
export class Merger {
  /** The last term done; empty before the first. */
  through: Buffer = Buffer.alloc(0)
  private readonly gathered = new Gathered()
  private readonly term = Buffer.alloc(maxTermBytes)

  constructor(readonly inputs: ReadonlyArray<Input>) {}

  /** Merges until an input needs its next block, or until this many bytes are written; returns why it stopped. */
  run(writer: BlockWriter, bytes: number): Input | "enough" | "done" {
    const { gathered, inputs, term } = this
    let length = 0
    let result: Input | "enough" | undefined
    for (;;) {
      let least: BlockReader | undefined
      // Indices, since an iterator for each term is garbage.
      for (let i = 0; i < inputs.length; i++) {
        const input = inputs[i] as Input
        if (input.waits) {
          result = input
          break
        }
        const entry = input.current
        if (entry === undefined) continue
        if (least === undefined || compareTerms(entry.term, entry.termLength, least.term, least.termLength) < 0) {
          least = entry
        }
      }
      if (result !== undefined || least === undefined) break
      if (length > 0 && writer.written >= bytes) {
        result = "enough"
        break
      }
      length = least.termLength
      least.term.copy(term, 0, 0, length)
      gathered.clear()
      for (let i = 0; i < inputs.length; i++) {
        const input = inputs[i] as Input
        const entry = input.current
        if (entry === undefined || compareTerms(entry.term, entry.termLength, term, length) !== 0) continue
        gathered.add(entry, input.places)
        input.advance()
      }
      if (gathered.count > 0) writer.add(term, length, gathered.count, gathered.last, gathered.out)
    }
    if (length > 0) this.through = Buffer.from(term.subarray(0, length))
    return result ?? "done"
  }
}
