import { hashSlot } from "./hash.ts"
import type { TokenIds } from "./tokenIds.ts"

const capacity = 1 << 16
const mask = capacity * 2 - 1
const keyUnits = capacity * 10
const idSlots = capacity * 4

/** Longer pieces are not worth caching. */
export const longestPiece = 64

/**
 * The tokens of previous pieces, so that each word is tokenised once. Keys are copied into one array of UTF-16 units:
 * looking up a part of a text allocates nothing, and the cache keeps no text alive. It is emptied when full, at about 4
 * MB.
 */
export class PieceCache {
  private entries = 0
  /** Entry + 1, 0 for a free slot. */
  private readonly slots = new Int32Array(mask + 1)
  private readonly hashes = new Int32Array(capacity)
  private readonly sizes = new Int32Array(capacity)
  private readonly keyEnds = new Int32Array(capacity + 1)
  private readonly keys = new Uint16Array(keyUnits)
  private readonly idEnds = new Int32Array(capacity + 1)
  private readonly ids = new Int32Array(idSlots)

  /**
   * The entry of a text range, -1 if there is none. `fold` maps each unit to the one used for hashing and adding;
   * without it, units are unchanged.
   */
  find(text: string, start: number, end: number, hash: number, fold: Uint8Array | undefined): number {
    const { hashes, keyEnds, keys, slots } = this
    const length = end - start
    search: for (let slot = hashSlot(hash, mask); slots[slot] !== 0; slot = (slot + 1) & mask) {
      const entry = slots[slot]! - 1
      if (hashes[entry] !== hash) continue
      const key = keyEnds[entry]!
      if (keyEnds[entry + 1]! - key !== length) continue
      for (let i = 0; i < length; i++) {
        const unit = text.charCodeAt(start + i)
        if (keys[key + i] !== (fold === undefined ? unit : fold[unit])) continue search
      }
      return entry
    }
    return -1
  }

  /** Adds a piece that is not cached yet, and returns its entry. */
  add(
    text: string,
    start: number,
    end: number,
    hash: number,
    fold: Uint8Array | undefined,
    tokens: { readonly ids: ReadonlyArray<number>; readonly size: number }
  ): number {
    const full =
      this.entries === capacity ||
      this.keyEnds[this.entries]! + end - start > keyUnits ||
      this.idEnds[this.entries]! + tokens.ids.length > idSlots
    if (full) {
      this.slots.fill(0)
      this.entries = 0
    }
    const entry = this.entries++
    let key = this.keyEnds[entry]!
    for (let i = start; i < end; i++) {
      const unit = text.charCodeAt(i)
      this.keys[key++] = fold === undefined ? unit : fold[unit]!
    }
    this.keyEnds[entry + 1] = key
    this.ids.set(tokens.ids, this.idEnds[entry])
    this.idEnds[entry + 1] = this.idEnds[entry]! + tokens.ids.length
    this.sizes[entry] = tokens.size
    this.hashes[entry] = hash
    let slot = hashSlot(hash, mask)
    while (this.slots[slot] !== 0) slot = (slot + 1) & mask
    this.slots[slot] = entry + 1
    return entry
  }

  size(entry: number): number {
    return this.sizes[entry]!
  }

  /** Appends the entry's ids. */
  copy(entry: number, out: TokenIds): void {
    const end = this.idEnds[entry + 1]!
    for (let i = this.idEnds[entry]!; i < end; i++) out.push(this.ids[i]!)
  }
}
