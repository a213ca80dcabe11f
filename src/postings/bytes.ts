import { damaged } from "../model/Damaged.ts"

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
