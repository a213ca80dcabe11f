import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { Arena, type Loaded, type Postings } from "../../src/postings/Arena.ts"
import type { Segment } from "../../src/postings/SegmentStore.ts"
import { ByteReader, ByteWriter, fieldWeights, forEachPosting, writePosting } from "../../src/postings/bytes.ts"
import { Runs } from "../../src/postings/runs.ts"
import { idf, norm, score } from "../../src/postings/score.ts"
import { forEachOrdinal, unpacked } from "../../src/postings/unpacked.ts"

interface Occurrence {
  readonly skipped: number
  readonly title: number
  readonly heading: number
  readonly text: number
}

/** Mostly few, sometimes more than a byte holds. */
const often = FastCheck.oneof(
  { arbitrary: FastCheck.integer({ min: 0, max: 4 }), weight: 20 },
  { arbitrary: FastCheck.integer({ min: 0, max: 70_000 }), weight: 1 }
)

const occurrence: FastCheck.Arbitrary<Occurrence> = FastCheck.record({
  skipped: FastCheck.oneof(
    { arbitrary: FastCheck.integer({ min: 0, max: 3 }), weight: 8 },
    { arbitrary: FastCheck.integer({ min: 0, max: 70_000 }), weight: 1 }
  ),
  title: often,
  heading: often,
  text: often.map((count) => count + 1)
})

const written = (all: ReadonlyArray<Occurrence>) => {
  const out = new ByteWriter()
  let previous = -1
  for (const { heading, skipped, text, title } of all) {
    const ordinal = previous + 1 + skipped
    writePosting(out, previous, ordinal, title, heading, text)
    previous = ordinal
  }
  return { bytes: out.take(), passages: previous + 1 }
}

const read = (bytes: Uint8Array) => {
  const found: Array<{ readonly ordinal: number; readonly isInTitle: boolean; readonly frequency: number }> = []
  forEachPosting(new ByteReader(bytes), bytes.length, (ordinal, title, heading, text) => {
    const frequency = fieldWeights.title * title + fieldWeights.heading * heading + fieldWeights.text * text
    found.push({ ordinal, isInTitle: title > 0, frequency })
  })
  return found
}

const firstId = 100

/** A segment whose passages are `firstId` and those after it, in the arena. */
const loadedFrom = (
  arena: Arena,
  terms: ReadonlyArray<Uint8Array>,
  passages: number,
  dead: ReadonlySet<number>
): { readonly segment: Segment; readonly loaded: Loaded; readonly lengths: Uint32Array } => {
  const lengths = Uint32Array.from({ length: passages }, (_, ordinal) => 1 + ((ordinal * 7919) % 300))
  const lengthsAt = arena.allocate(4 * passages)
  arena.words.set(lengths, lengthsAt / 4)
  const bits = new Uint8Array(Math.ceil(passages / 8))
  for (const ordinal of dead) bits[ordinal >>> 3]! |= 1 << (ordinal & 7)
  const deadAt = dead.size === 0 ? 0 : arena.store(bits)
  const postings = new Map<string, Postings>()
  for (const [term, bytes] of terms.entries()) {
    const found = unpacked(arena, bytes, read(bytes).length, passages)
    assert.isDefined(found)
    postings.set(String(term), found)
  }
  const ids = Runs.of(Array.from({ length: passages }, (_, ordinal) => firstId + ordinal))
  const sum = (ordinals: Iterable<number>) => [...ordinals].reduce((all, ordinal) => all + lengths[ordinal]!, 0)
  return {
    lengths,
    loaded: { ids, firsts: [], lengthsAt, terms: sum(lengths.keys()), deadAt, version: 1, postings },
    segment: {
      id: 1,
      collection_id: 1,
      stamp: 1,
      passages,
      terms: sum(lengths.keys()),
      dead: dead.size,
      dead_terms: sum(dead),
      version: 1,
      first_id: firstId,
      last_id: firstId + passages - 1,
      blocks: 0,
      through: null,
      inputs: null,
      format: 1,
      terms_version: 1,
      languages: "en"
    }
  }
}

const runs = { numRuns: 60, endOnFailure: true }

it.effect("postings unpacked are those that were stored", () =>
  Arena.using((arena) =>
    Effect.sync(() => {
      FastCheck.assert(
        FastCheck.property(FastCheck.array(occurrence, { minLength: 1, maxLength: 200 }), (all) => {
          const { bytes, passages } = written(all)
          const expected = read(bytes)
          const found = unpacked(arena, bytes, expected.length, passages)!
          const kept: Array<{ readonly ordinal: number; readonly isInTitle: boolean }> = []
          forEachOrdinal(arena, found, passages, (ordinal, isInTitle) => kept.push({ ordinal, isInTitle }))
          assert.deepStrictEqual(
            kept,
            expected.map(({ isInTitle, ordinal }) => ({ isInTitle, ordinal }))
          )
          assert.isUndefined(unpacked(arena, bytes, expected.length + 1, passages))
          assert.isUndefined(unpacked(arena, bytes, expected.length, passages - 1))
        }),
        runs
      )
    })
  )
)

it.effect("scores are sums in the order of the terms, to the last bit, with deleted passages and filters", () =>
  Arena.using((arena) =>
    Effect.sync(() => {
      const query = FastCheck.record({
        terms: FastCheck.array(FastCheck.array(occurrence, { minLength: 1, maxLength: 120 }), {
          minLength: 1,
          maxLength: 6
        }),
        depth: FastCheck.integer({ min: 1, max: 40 }),
        dead: FastCheck.array(FastCheck.nat(120), { maxLength: 20 }),
        allowed: FastCheck.option(FastCheck.integer({ min: 2, max: 5 })),
        also: FastCheck.array(FastCheck.nat(120), { maxLength: 10 })
      })
      FastCheck.assert(
        FastCheck.property(query, ({ allowed, also, dead, depth, terms }) => {
          const stored = terms.map(written)
          const passages = Math.max(...stored.map((one) => one.passages))
          const gone = new Set(dead.filter((ordinal) => ordinal < passages - 1))
          const bytes = stored.map((one) => one.bytes)
          const { lengths, loaded, segment } = loadedFrom(arena, bytes, passages, gone)
          const isAllowed = (ordinal: number) => allowed === null || ordinal % allowed !== 0
          const living = passages - gone.size
          const { base, gain, slope } = norm(living, segment.terms - segment.dead_terms)
          const scores = new Map<number, number>()
          for (const [at, postings] of bytes.map(read).entries()) {
            const matching = postings.filter(({ ordinal }) => !gone.has(ordinal)).length
            const weight = (1 + at / 3) * gain * idf(living, matching)
            for (const { frequency: f, ordinal } of postings) {
              const own = (weight * f) / (f + base + slope * lengths[ordinal]!)
              scores.set(ordinal, (scores.get(ordinal) ?? 0) + own)
            }
          }
          const expected = [...scores]
            .filter(([ordinal]) => !gone.has(ordinal) && isAllowed(ordinal))
            .map(([ordinal, score]) => ({ id: firstId + ordinal, score }))
            .sort((a, b) => b.score - a.score || a.id - b.id)
          const least = expected[Math.min(depth, expected.length) - 1]?.score ?? 0
          const wanted = expected.filter((hit) => hit.score >= least)
          const asked = [...new Set(also)].filter((ordinal) => ordinal < passages && isAllowed(ordinal))
          const rest = expected
            .filter((hit) => hit.score < least && asked.includes(hit.id - firstId))
            .sort((a, b) => a.id - b.id)
          const bits = new Uint32Array(Math.ceil((firstId + passages) / 32))
          for (let ordinal = 0; ordinal < passages; ordinal++) {
            const id = firstId + ordinal
            if (isAllowed(ordinal)) bits[id >>> 5]! |= 1 << (id & 31)
          }
          const found = score(
            arena,
            [segment],
            [loaded],
            terms.map((_, at) => ({ term: String(at), isPrefix: false, count: 1 + at / 3 })),
            {
              depth,
              mask: allowed === null ? undefined : { bits },
              also: asked.map((ordinal) => firstId + ordinal)
            },
            () => false
          )
          assert.deepStrictEqual(found?.found, [...wanted, ...rest])
        }),
        runs
      )
    })
  )
)
