import type { Arena, Postings } from "./Arena.ts"

/** Bytes of the kernel's description of a list; where in it are the number of large frequencies, and the weight. */
export const listBytes = 40
const escapedAt = 16
const weightAt = 32

/** Ordinals per window, and windows per chunk; the kernel has them too. */
export const window = 2048
const chunkWindows = 32

const chunksOf = (passages: number): number => Math.ceil(passages / window / chunkWindows)

/** The windows of a segment, with those that fill its last chunk. */
export const windowsOf = (passages: number): number => chunkWindows * chunksOf(passages)

/**
 * The parts of a term's postings in the arena: the index of each chunk's first posting and their number, 32 bits each;
 * the number of postings in the chunk before each window and the end, 16 bits; the postings, 16 bits: 11 of the ordinal
 * within the window, 4 of the weighted frequency, and one for the title; and the index and frequency, 32 bits each, of
 * those whose frequency does not fit.
 */
const placesOf = (at: number, count: number, passages: number) => {
  const windows = at + 4 * (chunksOf(passages) + 1)
  const postings = windows + 2 * (windowsOf(passages) + 1)
  return { windows, postings, escapes: Math.ceil((postings + 2 * count) / 4) * 4 }
}

/** Describes postings to the kernel, at a place of `listBytes`. */
export const describe = (
  { doubles, words }: Arena,
  list: number,
  { at, count, large }: Pick<Postings, "at" | "count" | "large">,
  passages: number,
  weight: number
): void => {
  const { escapes, postings, windows } = placesOf(at, count, passages)
  words[list / 4] = at
  words[list / 4 + 1] = windows
  words[list / 4 + 2] = postings
  words[list / 4 + 3] = escapes
  words[(list + escapedAt) / 4] = large
  doubles[(list + weightAt) / 8] = weight
}

/** Unpacks stored postings of a segment into the arena; undefined if they are invalid. */
export const unpacked = (arena: Arena, bytes: Uint8Array, count: number, passages: number): Postings | undefined => {
  // A frequency that does not fit takes two bytes more, so what is needed only now is behind all that may stay.
  const { escapes } = placesOf(0, count, passages)
  const [at, list, raw] = arena.scratch([escapes + 8 * Math.floor(bytes.length / 2), listBytes, bytes.length])
  arena.bytes.set(bytes, raw)
  describe(arena, list, { at, count, large: 0 }, passages, 0)
  const end = raw + bytes.length
  if (!arena.kernel.unpack(raw, end, list, count, passages, windowsOf(passages))) return undefined
  const large = arena.words[(list + escapedAt) / 4]!
  return {
    at: arena.allocate(escapes + 8 * large),
    count,
    large,
    living: count,
    version: 0
  }
}

/** Calls `use` with each of a term's postings, in order. */
export const forEachOrdinal = (
  { bytes, words }: Arena,
  { at, count }: Postings,
  passages: number,
  use: (ordinal: number, isInTitle: boolean) => void
): void => {
  const { postings, windows } = placesOf(at, count, passages)
  const shortAt = (place: number): number => bytes[place]! | (bytes[place + 1]! << 8)
  const startOf = (place: number): number =>
    words[at / 4 + Math.floor(place / chunkWindows)]! + shortAt(windows + 2 * place)
  for (let place = 0; place < windowsOf(passages); place++) {
    const end = startOf(place + 1)
    for (let index = startOf(place); index < end; index++) {
      const posting = shortAt(postings + 2 * index)
      use(place * window + (posting % window), posting >= 0x8000)
    }
  }
}
