import * as Effect from "effect/Effect"
import { rising } from "../model/Damaged.ts"
import { type Segment, type SegmentStore, livingIn } from "./SegmentStore.ts"
import { BlockReader, type Head, compareTerms, maxTermBytes } from "./block.ts"
import { type KeywordRow, buildSegment } from "./build.ts"
import { ByteReader, forEachPosting } from "./bytes.ts"
import { languagesOf, listOf, passagesIn } from "./languages.ts"
import { learned } from "../terms/stemmers.ts"
import { isDead, tombstones } from "./tombstones.ts"

/** Most disagreements reported. */
const most = 100
/** Passages processed at a time. */
const page = 1000

const mix = (hash: number, value: number): number => Math.imul(hash ^ value, 0x01000193)

/** FNV-1a, 32 bits. */
const hashOf = (term: Uint8Array, length: number): number => {
  let hash = 0x811c9dc5
  for (let i = 0; i < length; i++) hash = mix(hash, term[i] as number)
  return hash
}

/** Calls `say` with errors within a block; adds a digest of each posting to its passage's. */
const readPostings = (data: Uint8Array, through: Buffer, digests: Uint32Array, say: (what: string) => void): Buffer => {
  const reader = new BlockReader(data)
  let before = through
  while (reader.next()) {
    const { count, lastOrdinal, term, termLength } = reader
    if (termLength > maxTermBytes || compareTerms(before, before.length, term, termLength) >= 0) {
      say(`the term ${reader.currentTerm.toString()} stands after ${before.toString()}`)
    }
    before = Buffer.from(reader.currentTerm)
    const hash = hashOf(term, termLength)
    let found = 0
    let last = -1
    forEachPosting(new ByteReader(data, reader.start), reader.end, (ordinal, title, heading, text) => {
      found++
      last = ordinal
      if (ordinal >= digests.length) return
      digests[ordinal] = (digests[ordinal] as number) + mix(mix(mix(hash, title), heading), text)
    })
    if (found !== count || last !== lastOrdinal || last >= digests.length) {
      say(`the term ${before.toString()} has ${found} postings up to ${last}, not ${count} up to ${lastOrdinal}`)
    }
  }
  return before
}

/** The digests and lengths of passages computed from their texts, in the order of the rows. */
const derive = (rows: ReadonlyArray<KeywordRow>) => {
  const { blocks, lengths } = buildSegment(rows)
  const digests = new Uint32Array(rows.length)
  for (const { data } of blocks) readPostings(data, Buffer.alloc(0), digests, () => undefined)
  return { lengths, digests }
}

/** The stored passages of a collection, to compare with its postings. */
export interface Stored<E> {
  /** The number of passages, if known. */
  readonly passages: number | undefined
  /** The passages after one, in order of their ids, at most `most`; none at the end. */
  readonly after: (passage: number, most: number) => Effect.Effect<ReadonlyArray<KeywordRow>, E>
  /** Run between blocks of postings. */
  readonly pause?: Effect.Effect<void> | undefined
}

interface Held {
  readonly segment: Segment
  readonly head: Head
  readonly dead: Buffer
  readonly digests: Uint32Array
  /** Living passages found in the table of passages. */
  met: number
}

/**
 * Makes the terms of a collection's passages again, and compares postings, lengths, statistics and tombstones with
 * them. Returns the disagreements, one sentence each, at most 100; empty: none. Run it in one snapshot.
 */
export const verify = Effect.fn("Store.verifyKeyword")(function* <E>(
  store: SegmentStore<E>,
  collection: number,
  stored: Stored<E>
) {
  const found: Array<string> = []
  const say = (what: string): void => {
    if (found.length < most) found.push(what)
  }
  const segments = yield* store.live(collection)
  const alive = livingIn(segments)
  if (alive !== stored.passages) say(`the index has ${alive} passages, the collection ${stored.passages}`)

  const hold = Effect.fnUntraced(function* (segment: Segment) {
    const head = (yield* store.heads([segment.id])).get(segment.id)!
    const dead = yield* tombstones(store, segment)
    const of = (what: string) => say(`segment ${segment.id}: ${what}`)
    const expect = (what: string, actual: number | undefined, expected: number): void => {
      if (actual !== expected) of(`${what} is ${actual}, not ${expected}`)
    }
    let deadCount = 0
    let deadTerms = 0
    for (let ordinal = 0; ordinal < segment.passages; ordinal++) {
      if (!isDead(dead, ordinal)) continue
      deadCount++
      deadTerms += head.lengths[ordinal] ?? 0
    }
    expect("the number of passages", segment.passages, head.ids.count)
    expect(
      "the number of terms",
      segment.terms,
      head.lengths.reduce((sum, length) => sum + length, 0)
    )
    expect("the number of deleted passages", segment.dead, deadCount)
    expect("the number of deleted passages' terms", segment.dead_terms, deadTerms)
    expect("the first passage", segment.first_id, head.ids.idOf(0))
    expect("the last passage", segment.last_id, head.ids.idOf(head.ids.count - 1))
    expect("the number of blocks", segment.blocks, head.firsts.length)
    // Older segments have a list without counts.
    if (segment.languages !== "en" && listOf(passagesIn([segment.languages])) !== segment.languages)
      of(`the list of languages is ${JSON.stringify(segment.languages)}`)
    const digests = new Uint32Array(head.ids.count)
    let through: Buffer = Buffer.alloc(0)
    for (const [block, first] of head.firsts.entries()) {
      if (stored.pause !== undefined) yield* stored.pause
      const data = yield* store.readBlock({ segment: segment.id, block })
      const reader = new BlockReader(data)
      if (!reader.next() || !reader.currentTerm.equals(first))
        of(`block ${block} does not begin with ${first.toString()}`)
      through = readPostings(data, through, digests, of)
    }
    return { segment, head, dead, digests, met: 0 } satisfies Held as Held
  })
  const release = ({ met, segment }: Held): void => {
    const expected = segment.passages - segment.dead
    if (met !== expected) say(`segment ${segment.id}: of ${expected} passages ${met} are stored`)
  }

  let next = 0
  let held: Held | undefined
  for (let after = 0; ;) {
    const rows = rising(yield* stored.after(after, page), after, "passages")
    if (rows.length === 0) break
    after = rows.at(-1)!.id
    yield* learned(languagesOf(rows).keys())
    const derived = derive(rows)
    for (const [index, { id }] of rows.entries()) {
      while ((held === undefined || held.segment.last_id < id) && next < segments.length) {
        if (held !== undefined) release(held)
        held = yield* hold(segments[next++]!)
      }
      const ordinal = held?.head.ids.ordinalOf(id) ?? -1
      if (held === undefined || ordinal < 0) say(`passage ${id} is not in the index`)
      else if (isDead(held.dead, ordinal)) say(`passage ${id} is stored, but deleted in the index`)
      else {
        held.met++
        if (held.head.lengths[ordinal] !== derived.lengths[index]) {
          say(`passage ${id} has ${derived.lengths[index]} terms, in the index ${held.head.lengths[ordinal]}`)
        } else if (held.digests[ordinal] !== derived.digests[index]) say(`passage ${id} has other terms in the index`)
      }
    }
  }
  if (held !== undefined) release(held)
  for (; next < segments.length; next++) release(yield* hold(segments[next]!))
  return found
})
