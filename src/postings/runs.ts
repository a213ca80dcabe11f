import { damaged } from "../model/Damaged.ts"
import type { ByteReader, ByteWriter } from "./bytes.ts"
import { countBefore } from "../model/numbers.ts"

/** Passage ids are 32-bit numbers. */
const mostId = 2 ** 32

/**
 * Ascending passage ids as runs of consecutive ids: passages are added in batches, so a million of them form a handful
 * of runs. A passage's index in the order is its ordinal.
 */
export class Runs {
  /** Each run's first id and that id's ordinal; `ordinals` has one more entry: the number of ids. */
  constructor(
    readonly starts: ReadonlyArray<number>,
    readonly ordinals: ReadonlyArray<number>
  ) {}

  static of(ids: Iterable<number>): Runs {
    const builder = new RunsBuilder()
    for (const id of ids) builder.add(id, 1)
    return builder.runs()
  }

  lengthOf(run: number): number {
    return (this.ordinals[run + 1] as number) - (this.ordinals[run] as number)
  }

  get count(): number {
    return this.ordinals.at(-1) as number
  }

  /** The ordinal of an id; -1 if it is missing. */
  ordinalOf(id: number): number {
    const run = countBefore(this.starts.length, (at) => this.starts[at]! <= id) - 1
    if (run < 0) return -1
    const ordinal = (this.ordinals[run] as number) + id - (this.starts[run] as number)
    return ordinal < (this.ordinals[run + 1] as number) ? ordinal : -1
  }

  idOf(ordinal: number): number {
    const run = countBefore(this.starts.length, (at) => this.ordinals[at]! <= ordinal) - 1
    return (this.starts[run] as number) + ordinal - (this.ordinals[run] as number)
  }

  *[Symbol.iterator](): Generator<number> {
    for (let run = 0; run < this.starts.length; run++) {
      const length = this.lengthOf(run)
      for (let i = 0; i < length; i++) yield (this.starts[run] as number) + i
    }
  }

  /** Writes the number of runs, then for each run the gap before it and its length. */
  write(out: ByteWriter): void {
    out.varint(this.starts.length)
    let next = 0
    for (let run = 0; run < this.starts.length; run++) {
      const length = this.lengthOf(run)
      out.varint((this.starts[run] as number) - next)
      out.varint(length)
      next = (this.starts[run] as number) + length
    }
  }

  static read(reader: ByteReader): Runs {
    const builder = new RunsBuilder()
    let next = 0
    for (let runs = reader.upTo(reader.left / 2); runs > 0; runs--) {
      const start = next + reader.varint()
      const length = reader.varint()
      if (length === 0 || start + length > mostId) damaged("a head names impossible passages")
      builder.add(start, length)
      next = start + length
    }
    return builder.runs()
  }
}

/** Collects ids in ascending order. */
export class RunsBuilder {
  private readonly starts: Array<number> = []
  private readonly ordinals: Array<number> = []
  private next = -1
  count = 0

  /** Adds `length` ids from `start` on. */
  add(start: number, length: number): void {
    if (start !== this.next) {
      this.starts.push(start)
      this.ordinals.push(this.count)
    }
    this.next = start + length
    this.count += length
  }

  runs(): Runs {
    return new Runs(this.starts, [...this.ordinals, this.count])
  }
}
