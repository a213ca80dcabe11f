import { decodeLine } from "./decode.ts"

/** A line of a file, numbered from 1; `text` is undefined if the line is longer than the limit. */
export interface Line {
  readonly number: number
  readonly text: string | undefined
}

const newline = 0x0a

/**
 * Splits UTF-8 or windows-1252 that comes in pieces into lines, without line feeds. Holds at most one line and one piece.
 * Pieces may end within a character.
 */
export class Lines {
  readonly #limit: number
  #number = 0
  #held: Array<Buffer> = []
  #heldBytes = 0

  constructor(limit: number) {
    this.#limit = limit
  }

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
    if (this.#heldBytes > this.#limit) this.#held = []
    else this.#held.push(piece)
  }

  #complete(rest: Buffer): Line {
    const number = ++this.#number
    const length = this.#heldBytes + rest.length
    const whole = this.#heldBytes === 0 || length > this.#limit ? rest : Buffer.concat([...this.#held, rest], length)
    this.#held = []
    this.#heldBytes = 0
    if (length > this.#limit) return { number, text: undefined }
    const text = decodeLine(whole)
    return { number, text: number === 1 && text.startsWith("\ufeff") ? text.slice(1) : text }
  }
}
