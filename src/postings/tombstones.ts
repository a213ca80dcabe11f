import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import { randomBytes } from "node:crypto"
import { damaged } from "../model/Damaged.ts"
import { bitsSet } from "../model/numbers.ts"
import { type Segment, type SegmentStore, chunkOrdinals, maxPassages } from "./SegmentStore.ts"

/** A unique number: 48 random bits. */
export const unique = (): number => randomBytes(6).readUIntBE(0, 6)

/** A segment's tombstones: one bit per passage, in bytes, lowest bit first. */
export const tombstones = <E>(
  store: SegmentStore<E>,
  { dead, id, passages }: Pick<Segment, "id" | "passages" | "dead">
): Effect.Effect<Buffer, E> => {
  // Nobody counts up to what a damaged row says.
  if (passages > maxPassages) damaged(`segment ${id} has ${passages} passages, more than any has`)
  const bits = Buffer.alloc(Math.ceil(passages / 8))
  if (dead === 0) return Effect.succeed(bits)
  return Effect.map(store.tombstones(id), (chunks) => {
    for (const [chunk, some] of chunks) some.copy(bits, (chunk * chunkOrdinals) / 8)
    // Without one of its chunks, deleted passages would be found again.
    return bitsSet(bits) === dead ? bits : damaged(`the list of deleted passages in segment ${id} is incomplete`)
  })
}

/** Marks passages of a segment as deleted, by ordinal; already deleted ones stay so. */
export const bury = Effect.fnUntraced(function* <E>(
  store: SegmentStore<E>,
  segment: number,
  ordinals: ReadonlyArray<number>,
  lengthOf: (ordinal: number) => number
) {
  const chunks = Arr.groupBy(ordinals, (ordinal) => String(Math.floor(ordinal / chunkOrdinals)))
  let dead = 0
  let terms = 0
  for (const [name, within] of Object.entries(chunks)) {
    const chunk = Number(name)
    const bits = (yield* store.tombstones(segment, chunk)).get(chunk) ?? Buffer.alloc(chunkOrdinals / 8)
    for (const ordinal of within) {
      const at = (ordinal % chunkOrdinals) >>> 3
      const bit = 1 << (ordinal & 7)
      if (((bits[at] as number) & bit) !== 0) continue
      bits[at] = (bits[at] as number) | bit
      dead++
      terms += lengthOf(ordinal)
    }
    yield* store.putTombstones(segment, chunk, bits)
  }
  yield* store.buried(segment, dead, terms, unique())
})

export const isDead = (bits: Uint8Array, ordinal: number): boolean =>
  (((bits[ordinal >>> 3] as number) >>> (ordinal & 7)) & 1) === 1
