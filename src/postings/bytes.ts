import { damaged } from "../model/Damaged.ts"

/** How often a term occurs in each field of a passage. */
export interface Frequencies {
  readonly title: number
  readonly heading: number
  readonly text: number
}

/** The weight of an occurrence by field; the values that measured best: docs/quality.md. The kernel has them too. */
export const fieldWeights: Frequencies = { title: 3, heading: 1, text: 1 }

/** In a posting's second varint, this value means "this or more": the rest follows. */
const escape = 3

/**
 * Appends a posting: a varint of twice the ordinals skipped since `previous` (-1 at first), plus one unless the term
 * occurs once in the text and nowhere else. With that one added, the frequencies follow: the text's times 16 plus the
 * title's times 4 plus the heading's, where a title's or heading's 3 is followed by the excess over 3.
 */
export const writePosting = (
  out: ByteWriter,
  previous: number,
  ordinal: number,
  title: number,
  heading: number,
  text: number
): void => {
  const skipped = ordinal - previous - 1
  if (text === 1 && title === 0 && heading === 0) return out.varint(2 * skipped)
  out.varint(2 * skipped + 1)
  out.varint(16 * text + 4 * Math.min(title, escape) + Math.min(heading, escape))
  if (title >= escape) out.varint(title - escape)
  if (heading >= escape) out.varint(heading - escape)
}

/**
 * Calls `use` with each posting between the reader's position and `end`, in order; fails if the last one exceeds `end`.
 */
export const forEachPosting = (
  reader: ByteReader,
  end: number,
  use: (ordinal: number, title: number, heading: number, text: number) => void
): void => {
  let ordinal = -1
  while (reader.at < end) {
    const head = reader.varint()
    ordinal += 1 + Math.floor(head / 2)
    if (head % 2 === 0) use(ordinal, 0, 0, 1)
    else {
      const packed = reader.varint()
      let title = (packed >>> 2) & 3
      let heading = packed & 3
      if (title === escape) title += reader.varint()
      if (heading === escape) heading += reader.varint()
      use(ordinal, title, heading, Math.floor(packed / 16))
    }
  }
  if (reader.at > end) damaged("the last posting of a term is longer than its bytes")
}

/** Moves the reader past the frequencies of a posting whose first varint was `head`. */
export const skipFrequencies = (reader: ByteReader, head: number): void => {
  if (head % 2 === 0) return
  const packed = reader.varint()
  if (((packed >>> 2) & 3) === escape) reader.varint()
  if ((packed & 3) === escape) reader.varint()
}

/** A growing byte buffer. Varints are LEB128: seven bits per byte, the lowest first; up to 2^53. */
export class ByteWriter {
  buffer: Buffer
  length = 0

  constructor(capacity = 1024) {
    this.buffer = Buffer.allocUnsafe(capacity)
  }

  private reserve(bytes: number): void {
    if (this.length + bytes <= this.buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(2 * this.buffer.length, this.length + bytes))
    this.buffer.copy(larger, 0, 0, this.length)
    this.buffer = larger
  }

  varint(value: number): void {
    this.reserve(8)
    let rest = value
    while (rest > 127) {
      this.buffer[this.length++] = (rest % 128) + 128
      rest = rest < 0x80000000 ? rest >>> 7 : Math.floor(rest / 128)
    }
    this.buffer[this.length++] = rest
  }

  bytes(source: Uint8Array, from = 0, to: number = source.length): void {
    const count = to - from
    this.reserve(count)
    // For a few bytes, a loop is faster than a call.
    if (count < 32) for (let i = from; i < to; i++) this.buffer[this.length++] = source[i] as number
    else {
      this.buffer.set(source.subarray(from, to), this.length)
      this.length += count
    }
  }

  /** A copy of what was written. */
  take(): Buffer {
    const taken = Buffer.from(this.buffer.subarray(0, this.length))
    this.length = 0
    return taken
  }
}

/** The scale of a varint's last byte is at most this. */
const mostScale = 2 ** 49

const tooShort = (): never => damaged("bytes of postings end too early")

/** Reads what `ByteWriter` wrote. With invalid bytes it fails, and never reads beyond the end. */
export class ByteReader {
  constructor(
    public bytes: Uint8Array,
    public at = 0
  ) {}

  varint(): number {
    let byte = this.bytes[this.at++] ?? tooShort()
    let value = byte & 127
    let scale = 128
    while (byte > 127) {
      if (scale > mostScale) damaged("a number in postings is too long")
      byte = this.bytes[this.at++] ?? tooShort()
      value += (byte & 127) * scale
      scale *= 128
    }
    return value
  }

  /** The next varint; fails if it exceeds `most`. */
  upTo(most: number): number {
    const value = this.varint()
    return value <= most ? value : damaged(`a number in postings is ${value}, more than ${most}`)
  }

  /** The number of remaining bytes. */
  get left(): number {
    return this.bytes.length - this.at
  }

  get done(): boolean {
    return this.at >= this.bytes.length
  }
}
