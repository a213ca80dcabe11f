import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { Arena } from "../../src/postings/Arena.ts"
import { maxPassages } from "../../src/postings/SegmentStore.ts"
import { BlockReader, BlockWriter, blockOf, decodeHead, encodeHead } from "../../src/postings/block.ts"
import { ByteReader, ByteWriter, forEachPosting, writePosting } from "../../src/postings/bytes.ts"
import { termIn } from "../../src/postings/load.ts"
import { Runs } from "../../src/postings/runs.ts"
import { allowed } from "../../src/postings/score.ts"
import { crowd, plan } from "../../src/postings/tiers.ts"

const ascending = (max: number, options: FastCheck.ArrayConstraints = {}) =>
  FastCheck.uniqueArray(FastCheck.nat(max), options).map((values) => values.toSorted((a, b) => a - b))

const frequency = FastCheck.oneof(FastCheck.nat(4), FastCheck.nat(5000))

const posting = FastCheck.record({ title: frequency, heading: frequency, text: frequency }).filter(
  ({ heading, text, title }) => title + heading + text > 0
)

describe("postings", () => {
  it.prop(
    "come back as they went in, one that stands once in a text in few bytes",
    [ascending(2_000_000), FastCheck.infiniteStream(posting)],
    ([ordinals, frequencies]) => {
      const out = new ByteWriter()
      const written = ordinals.map((ordinal) => ({
        ordinal,
        ...(frequencies.next().value as { title: number; heading: number; text: number })
      }))
      let previous = -1
      for (const { heading, ordinal, text, title } of written) {
        writePosting(out, previous, ordinal, title, heading, text)
        previous = ordinal
      }
      const bytes = out.take()
      const read: Array<(typeof written)[number]> = []
      forEachPosting(new ByteReader(bytes), bytes.length, (ordinal, title, heading, text) =>
        read.push({ ordinal, title, heading, text })
      )
      assert.deepStrictEqual(read, written)
    }
  )

  it("take a byte where a term stands once in every passage's text", () => {
    const out = new ByteWriter()
    for (let ordinal = 0; ordinal < 1000; ordinal++) writePosting(out, ordinal - 1, ordinal, 0, 0, 1)
    assert.strictEqual(out.length, 1000)
  })
})

describe("Runs", () => {
  it.prop("know each id's ordinal and no other's", [ascending(300)], ([ids]) => {
    const out = new ByteWriter()
    Runs.of(ids).write(out)
    const runs = Runs.read(new ByteReader(out.take()))
    assert.deepStrictEqual([...runs], ids)
    assert.strictEqual(runs.count, ids.length)
    for (let id = 0; id <= 301; id++) assert.strictEqual(runs.ordinalOf(id), ids.indexOf(id))
    for (const [ordinal, id] of ids.entries()) assert.strictEqual(runs.idOf(ordinal), id)
  })

  it.prop(
    "turn a set of ids into one of ordinals",
    [ascending(300, { minLength: 1 }), ascending(400)],
    ([ids, wanted]) => {
      const bits = new Uint32Array(8)
      const within = wanted.filter((id) => id < 256)
      for (const id of within) bits[id >>> 5]! |= 1 << (id & 31)
      const out = new Uint32Array(Math.ceil(ids.length / 32)).fill(-1)
      const any = allowed({ bits }, Runs.of(ids), out)
      const found = ids.filter((_, ordinal) => ((out[ordinal >>> 5]! >>> (ordinal & 31)) & 1) === 1)
      const expected = ids.filter((id) => within.includes(id))
      assert.deepStrictEqual(found, expected)
      assert.strictEqual(any, expected.length > 0)
    }
  )
})

describe("a head", () => {
  it.prop(
    "comes back as it went in",
    [ascending(300), FastCheck.nat(70_000), FastCheck.array(FastCheck.uint8Array({ maxLength: 80 }))],
    ([ids, length, firsts]) => {
      const head = {
        ids: Runs.of(ids),
        lengths: Uint32Array.from(ids, (id) => id * length),
        firsts: firsts.map((first) => Buffer.from(first))
      }
      assert.deepStrictEqual(decodeHead(encodeHead(head)), head)
    }
  )
})

describe("blocks", () => {
  const words = FastCheck.uniqueArray(FastCheck.string({ unit: "grapheme", minLength: 1, maxLength: 20 }), {
    selector: (word) => Buffer.from(word).toString()
  })

  it.prop("have each term once, by bytes, and find it", [words, FastCheck.nat(6000)], ([terms, bytes]) => {
    const all = terms.map((term) => Buffer.from(term))
    const sorted = all.filter((_, index) => index % 2 === 0).toSorted(Buffer.compare)
    const writer = new BlockWriter()
    for (const [index, term] of sorted.entries()) {
      const out = new ByteWriter()
      for (let i = 0; i <= bytes; i++) writePosting(out, i - 1, i, 0, 0, 1)
      out.varint(2 * index)
      writer.add(term, term.length, bytes + 2, bytes + 1 + index, out)
    }
    writer.close()
    const read = writer.blocks.flatMap(({ data }) => {
      const reader = new BlockReader(data)
      const found: Array<readonly [string, number, number]> = []
      while (reader.next()) found.push([reader.currentTerm.toString(), reader.count, reader.lastOrdinal])
      return found
    })
    assert.deepStrictEqual(
      read,
      sorted.map((term, index) => [term.toString(), bytes + 2, bytes + 1 + index])
    )
    const firsts = writer.blocks.map(({ first }) => first)
    const found = (term: Buffer) =>
      Effect.runSync(
        Arena.using((arena) =>
          Effect.sync(() => {
            const block = blockOf(firsts, term)
            return block < 0 ? undefined : termIn(arena, writer.blocks[block]!.data, term.toString())
          })
        )
      )
    for (const [index, term] of sorted.entries()) {
      const { count, bytes: postings } = found(term)!
      assert.strictEqual(count, bytes + 2)
      let last = -1
      forEachPosting(new ByteReader(postings), postings.length, (ordinal) => (last = ordinal))
      assert.strictEqual(last, bytes + 1 + index)
    }
    for (const absent of [...all.filter((_, index) => index % 2 === 1), Buffer.from("\u{10ffff}absent")]) {
      assert.isUndefined(found(absent))
    }
  })
})

describe("plan", () => {
  const size = FastCheck.oneof(FastCheck.nat(20), FastCheck.nat(1000), FastCheck.nat(maxPassages - 1)).map((n) => n + 1)
  const segment = FastCheck.record({ passages: size, share: FastCheck.double({ min: 0, max: 1, noNaN: true }) }).map(
    ({ passages, share }, id = 0) => ({ id, passages, dead: share > 0.8 ? Math.floor(passages * share) : 0 })
  )
  const merged = (segments: ReadonlyArray<{ readonly passages: number; readonly dead: number }>) => ({
    passages: segments.reduce((sum, { dead, passages }) => sum + passages - dead, 0),
    dead: 0
  })

  it.prop(
    "takes neighbours that fit into one segment, and comes to an end with few",
    [FastCheck.array(segment, { maxLength: 200 })],
    ([all]) => {
      let segments: ReadonlyArray<{ readonly passages: number; readonly dead: number }> = all
      for (let round = 0; ; round++) {
        assert.isBelow(round, 1000)
        const chosen = plan(segments, () => false)
        if (chosen.length === 0) break
        const at = segments.indexOf(chosen[0]!)
        assert.deepStrictEqual(segments.slice(at, at + chosen.length), chosen)
        const one = merged(chosen)
        assert.isAtMost(one.passages, maxPassages)
        segments = [
          ...segments.slice(0, at),
          ...(one.passages === 0 ? [] : [one]),
          ...segments.slice(at + chosen.length)
        ]
      }
      for (const { dead, passages } of segments) assert.isAtMost(dead, passages / 8)
      // Of two neighbours of a full tier neither may be small.
      const total = segments.reduce((sum, { dead, passages }) => sum + passages - dead, 0)
      const large = segments.filter(({ dead, passages }) => passages - dead > maxPassages / 16).length
      assert.isAtMost(segments.length, crowd * (1 + large), `${total}`)
    }
  )

  it.prop(
    "leaves out what is taken",
    [FastCheck.array(segment, { maxLength: 60 }), FastCheck.nat(10)],
    ([all, every]) => {
      const taken = new Set(all.filter((_, index) => index % (every + 2) === 0))
      for (const each of plan(all, (segment) => taken.has(segment))) assert.isFalse(taken.has(each))
    }
  )
})
