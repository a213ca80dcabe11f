/** Turns one piece of normalised text into tokens. */
export interface Model {
  readonly unknownId: number | undefined
  /** Pushes the ids of the piece's known tokens, in order, and returns the piece's size in tokens. */
  readonly tokenize: (piece: string, ids: Array<number>) => number
}

/**
 * The size in tokens of text that the vocabulary does not know: one per four characters, rounded up, the length of a
 * usual token, so that a size reflects the amount of text in any language.
 */
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
