/** Turns one piece of normalised text into tokens. */
export interface Model {
  readonly unknownId: number | undefined
  /** Pushes the ids of the piece's tokens, in order, and returns the piece's size in tokens. */
  readonly tokenize: (piece: string, ids: Array<number>) => number
}

/** The tokens of text that the vocabulary does not know: one per four characters, the length of a usual token. */
export const unknownSize = (characters: number): number => Math.ceil(characters / 4)

const reused = 1 << 16

/** Text as UTF-8 from an offset on, in a reused array: valid until the next call. */
export const encoder = (): ((text: string, offset: number) => { readonly utf8: Uint8Array; readonly end: number }) => {
  const textEncoder = new TextEncoder()
  const own = new Uint8Array(reused)
  return (text, offset) => {
    const most = offset + text.length * 3 + 1
    const utf8 = most > reused ? new Uint8Array(most) : own
    const end = offset + textEncoder.encodeInto(text, utf8.subarray(offset)).written
    // Callers that read one byte too far always see the same byte.
    utf8[end] = 0
    return { utf8, end }
  }
}

export const hashSeed = 0x811c9dc5 | 0

/** One step of FNV-1a: the hash after one more byte or UTF-16 unit. */
export const hashStep = (hash: number, unit: number): number => Math.imul(hash ^ unit, 0x01000193)

/** The first slot to try in a table whose size is a power of two; `mask` is the size minus one. */
export const hashSlot = (hash: number, mask: number): number => (hash ^ (hash >>> 15)) & mask

/** A growing list of token ids, reused for many texts. */
export class TokenIds {
  ids = new Int32Array(1024)
  length = 0

  push(id: number): void {
    if (this.length === this.ids.length) {
      const larger = new Int32Array(this.length * 2)
      larger.set(this.ids)
      this.ids = larger
    }
    this.ids[this.length++] = id
  }
}

/** Tokenises a text's UTF-16 range, appends the ids of its known tokens to `out` if given, and returns its size. */
export type Scan = (text: string, start: number, end: number, out: TokenIds | undefined) => number
