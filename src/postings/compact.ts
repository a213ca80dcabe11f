import type { Loaded, Postings } from "./loaded.ts"

/** A place in the arena, and a callback for when it moves. */
interface Held {
  readonly at: number
  readonly bytes: number
  readonly moved: (at: number) => void
}

const recentFirst = (a: { readonly used: number }, b: { readonly used: number }): number => b.used - a.used

/** The first items whose total is at most `most` bytes, ignoring the rest. */
const within = <A>(some: ReadonlyArray<A>, most: number, bytesOf: (each: A) => number): ReadonlyArray<A> => {
  let sum = 0
  const end = some.findIndex((each) => (sum += bytesOf(each)) > most)
  return end < 0 ? some : some.slice(0, end)
}

/** Approximate bytes of an object outside the arena. */
export const objectBytes = 128

const lengthOf = ({ at, end }: Postings): number => end - at

/**
 * Frees space: keeps the last used segments, then the last used postings, up to `most` bytes, moved together from
 * `first` on. Forgets the others and all tombstones, which are loaded again. Returns how many places stay, and their
 * end. Each place counts together with its object, so that what stays never fills the arena again by itself.
 */
export const compact = (
  segments: Map<number, Loaded>,
  bytes: Uint8Array,
  first: number,
  most: number
): { readonly kept: number; readonly end: number } => {
  const bytesOf = ([, { ids }]: readonly [number, Loaded]) => 4 * ids.count + objectBytes
  const costOf = (postings: Postings) => lengthOf(postings) + objectBytes
  const lasting = within(
    [...segments].sort(([, a], [, b]) => recentFirst(a, b)),
    most / 2,
    bytesOf
  )
  const left = most - lasting.reduce((sum, each) => sum + bytesOf(each), 0)
  const found = lasting.flatMap(([, { postings }]) => [...postings.values()].filter((each) => lengthOf(each) > 0))
  const recent = new Set(within(found.sort(recentFirst), left, costOf))

  segments.clear()
  const held: Array<Held> = []
  for (const [stamp, loaded] of lasting) {
    segments.set(stamp, loaded)
    loaded.deadAt = 0
    held.push({ at: loaded.lengthsAt, bytes: 4 * loaded.ids.count, moved: (at) => (loaded.lengthsAt = at) })
    for (const [key, postings] of loaded.postings) {
      if (!recent.has(postings)) {
        loaded.postings.delete(key)
        continue
      }
      const length = lengthOf(postings)
      held.push({
        at: postings.at,
        bytes: length,
        moved: (at) => {
          postings.at = at
          postings.end = at + length
        }
      })
    }
  }
  let end = first
  for (const { at, bytes: length, moved } of held.sort((a, b) => a.at - b.at)) {
    bytes.copyWithin(end, at, at + length)
    moved(end)
    end = Math.ceil((end + length) / 16) * 16
  }
  return { kept: held.length, end }
}
