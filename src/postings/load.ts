import * as Effect from "effect/Effect"
import { damaged } from "../model/Damaged.ts"
import { Arena, type Loaded, type Postings } from "./Arena.ts"
import type { BlockRef, Segment, SegmentStore } from "./SegmentStore.ts"
import { BlockReader, blockOf, compareTerms, isFound } from "./block.ts"
import { ByteReader, ByteWriter, type Frequencies, forEachPosting, writePosting } from "./bytes.ts"
import { isDead, tombstones } from "./tombstones.ts"
import { forEachOrdinal, unpacked } from "./unpacked.ts"

/**
 * The ids of a collection's passages that have all given terms: in any field, or in the title only. Without terms, all
 * passages.
 */
export const holding = Effect.fnUntraced(function* <E>(
  store: SegmentStore<E>,
  collection: number,
  needles: ReadonlyArray<Needle>,
  options: { readonly field: "any" | "title"; readonly isCancelled: () => boolean }
) {
  const segments = yield* store.live(collection)
  const bits = new Uint32Array(((segments.at(-1)?.last_id ?? 0) >>> 5) + 1)
  yield* Arena.using(
    Effect.fnUntraced(function* (arena) {
      const loaded = yield* loadSegments(store, arena, segments)
      yield* loadPostings(store, arena, segments, loaded, needles)
      for (const { deadAt, ids, postings } of loaded) {
        if (options.isCancelled()) return yield* Effect.interrupt
        // The rarest first: passages without it need not be counted.
        const sorted = needles.map((needle) => postings.get(needleKey(needle))!).sort((a, b) => a.count - b.count)
        if (sorted[0]?.count === 0) continue
        const met = new Uint8Array(ids.count)
        for (const [turn, held] of sorted.entries()) {
          forEachOrdinal(arena, held, ids.count, (ordinal, isInTitle) => {
            if (met[ordinal] === turn && (options.field === "any" || isInTitle)) met[ordinal] = turn + 1
          })
        }
        const dead = deadAt === 0 ? undefined : arena.bytes.subarray(deadAt)
        for (let ordinal = 0; ordinal < met.length; ordinal++) {
          if (met[ordinal] !== sorted.length || (dead !== undefined && isDead(dead, ordinal))) continue
          const id = ids.idOf(ordinal)
          bits[id >>> 5]! |= 1 << (id & 31)
        }
      }
    })
  )
  return bits
})

/** A term to look up, or a prefix whose terms count as one. */
export interface Needle {
  readonly term: string
  readonly isPrefix: boolean
}

export const needleKey = ({ isPrefix, term }: Needle): string => (isPrefix ? `${term}\0` : term)

/** Loads the missing heads and tombstones of segments into the arena; returns them in the order of the segments. */
export const loadSegments = Effect.fnUntraced(function* <E>(
  store: SegmentStore<E>,
  arena: Arena,
  segments: ReadonlyArray<Segment>
) {
  arena.expect(segments.reduce((sum, { passages }) => sum + passages, 0))
  const missing = segments.filter(({ stamp }) => !arena.segments.has(stamp))
  if (missing.length > 0) {
    const found = yield* store.heads(missing.map(({ id }) => id))
    for (const { id, stamp } of missing) {
      const { firsts, ids, lengths } = found.get(id)!
      const terms = lengths.reduce((sum, length) => sum + length, 0)
      const lengthsAt = arena.allocate(4 * lengths.length)
      arena.words.set(lengths, lengthsAt / 4)
      // Copies: a view would keep the whole row in memory.
      const own = firsts.map((first) => Buffer.from(first))
      arena.segments.set(stamp, {
        ids,
        firsts: own,
        lengthsAt,
        terms,
        deadAt: 0,
        version: 0,
        postings: new Map()
      })
    }
  }
  const all: Array<Loaded> = []
  for (const segment of segments) {
    const loaded = arena.segments.get(segment.stamp)!
    const { firsts, ids } = loaded
    if (
      segment.passages !== ids.count ||
      segment.terms !== loaded.terms ||
      segment.blocks !== firsts.length ||
      segment.first_id !== ids.idOf(0) ||
      segment.last_id !== ids.idOf(ids.count - 1)
    ) {
      damaged(`segment ${segment.id} does not match its head`)
    }
    if (segment.dead === 0) loaded.deadAt = 0
    else if (loaded.version !== segment.version || loaded.deadAt === 0) {
      loaded.deadAt = arena.store(yield* tombstones(store, segment))
    }
    loaded.version = segment.version
    // A copy: a reader of another snapshot may change the original before this one is done.
    all.push({ ...loaded })
  }
  return all
})

const none: Postings = { at: 0, count: 0, large: 0, living: 0, version: 0 }

/** Loads the missing postings of terms into the arena. */
export const loadPostings = Effect.fnUntraced(function* <E>(
  store: SegmentStore<E>,
  arena: Arena,
  segments: ReadonlyArray<Segment>,
  loaded: ReadonlyArray<Loaded>,
  needles: ReadonlyArray<Needle>
) {
  const wanted: Array<{ readonly loaded: Loaded; readonly needle: Needle; readonly refs: ReadonlyArray<BlockRef> }> = []
  for (const [index, segment] of segments.entries()) {
    const { firsts, postings } = loaded[index]!
    for (const needle of needles) {
      const key = needleKey(needle)
      if (postings.has(key)) continue
      const refs = blocksOf(firsts, needle).map((block) => ({ segment: segment.id, block }))
      if (refs.length === 0) postings.set(key, none)
      else wanted.push({ loaded: loaded[index]!, needle, refs })
    }
  }
  if (wanted.length === 0) return
  const nameOf = ({ block, segment }: BlockRef) => `${segment}/${block}`
  const refs = new Map(wanted.flatMap((want) => want.refs.map((ref) => [nameOf(ref), ref] as const)))
  const blocks = new Map<string, Buffer>()
  yield* store.readBlocks([...refs.values()], (ref, data) => blocks.set(nameOf(ref), data))
  for (const { loaded, needle, refs } of wanted) {
    const data = refs.map((ref) => blocks.get(nameOf(ref))!)
    const found = needle.isPrefix ? joined(data, needle.term) : termIn(arena, data[0]!, needle.term)
    if (found === undefined) {
      loaded.postings.set(needleKey(needle), none)
      continue
    }
    const postings = unpacked(arena, found.bytes, found.count, loaded.ids.count)
    loaded.postings.set(
      needleKey(needle),
      postings ?? damaged(`the postings of “${needle.term}” do not belong to their segment`)
    )
  }
})

/** The blocks that may contain a term or prefix. */
const blocksOf = (firsts: ReadonlyArray<Buffer>, { isPrefix, term }: Needle): ReadonlyArray<number> => {
  const bytes = Buffer.from(term)
  const block = blockOf(firsts, bytes)
  const blocks = block < 0 ? [] : [block]
  if (!isPrefix) return blocks
  for (let next = block + 1; firsts[next]?.subarray(0, bytes.length).equals(bytes) === true; next++) blocks.push(next)
  return blocks
}

interface Found {
  readonly bytes: Uint8Array
  readonly count: number
}

/** A term's postings in a block; undefined if it has none. */
export const termIn = (arena: Arena, data: Uint8Array, term: string): Found | undefined => {
  const needle = Buffer.from(term)
  const [from, at, out] = arena.scratch([data.length, needle.length, 12])
  arena.bytes.set(data, from)
  arena.bytes.set(needle, at)
  if (!isFound(arena.kernel.find(from, from + data.length, at, needle.length, out))) return undefined
  const [start, end, count] = arena.words.subarray(out / 4, out / 4 + 3) as unknown as [number, number, number]
  return { bytes: data.subarray(start, end), count }
}

/** The postings of all terms with a prefix, as those of one term. */
const joined = (blocks: ReadonlyArray<Buffer>, prefix: string): Found | undefined => {
  const bytes = Buffer.from(prefix)
  const passages = new Map<number, Frequencies>()
  for (const data of blocks) {
    const reader = new BlockReader(data)
    while (reader.next()) {
      const length = Math.min(reader.termLength, bytes.length)
      const order = compareTerms(reader.term, length, bytes, bytes.length)
      if (order < 0) continue
      if (order > 0) break
      forEachPosting(new ByteReader(data, reader.start), reader.end, (ordinal, title, heading, text) => {
        const before = passages.get(ordinal) ?? { title: 0, heading: 0, text: 0 }
        passages.set(ordinal, {
          title: before.title + title,
          heading: before.heading + heading,
          text: before.text + text
        })
      })
    }
  }
  if (passages.size === 0) return undefined
  const out = new ByteWriter()
  let previous = -1
  for (const ordinal of [...passages.keys()].toSorted((a, b) => a - b)) {
    const { heading, text, title } = passages.get(ordinal)!
    writePosting(out, previous, ordinal, title, heading, text)
    previous = ordinal
  }
  return { bytes: out.take(), count: passages.size }
}
