import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { crc32, crc32ByTable } from "../../src/Store/crc.ts"
import { Damaged } from "../../src/model/Damaged.ts"
import { Arena } from "../../src/postings/Arena.ts"
import { BlockReader, decodeHead, encodeHead, maxTermBytes } from "../../src/postings/block.ts"
import { buildSegment } from "../../src/postings/build.ts"
import { ByteReader, ByteWriter, forEachPosting } from "../../src/postings/bytes.ts"
import { termIn } from "../../src/postings/load.ts"
import { Nearest, showBlock } from "../../src/postings/spelling.ts"
import { forEachOrdinal, unpacked } from "../../src/postings/unpacked.ts"
import { spelledWords } from "../../src/terms/spelling.ts"

/** What it gives, or undefined where it said that the bytes are none; any other end is a fault. */
const attempt = <A>(use: () => A): A | undefined => {
  try {
    return use()
  } catch (error) {
    if (error instanceof Damaged) return undefined
    throw error
  }
}

const rows = Array.from({ length: 60 }, (_, n) => ({
  id: n < 30 ? n + 5 : n + 1000,
  title: n % 3 === 0 ? "rivers of the north" : "",
  heading: "Geography",
  text: `river ${n} flows past the ${n % 7} town of château and 所有权, ${"river ".repeat(n % 5)}`
}))
const { blocks, ...head } = buildSegment(rows)
const headBytes = encodeHead(head)
const blockBytes = blocks[0]!.data

/** Bytes as they come, long varints, and stored ones with some changed, cut or put in. */
const crafted = (stored: Buffer) =>
  FastCheck.oneof(
    FastCheck.uint8Array({ maxLength: 400 }),
    FastCheck.array(FastCheck.constantFrom(0, 1, 2, 3, 0x7f, 0x80, 0xff), { maxLength: 60 }).map((bytes) =>
      Uint8Array.from(bytes)
    ),
    FastCheck.tuple(
      FastCheck.array(FastCheck.tuple(FastCheck.nat(stored.length - 1), FastCheck.nat(255)), { maxLength: 6 }),
      FastCheck.nat(stored.length)
    ).map(([changes, length]) => {
      const bytes = Uint8Array.from(stored.subarray(0, length === 0 ? stored.length : length))
      for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value
      return bytes
    })
  )

const runs = { numRuns: 3000 }

describe("bytes that are none of ours", () => {
  it("make no head", () => {
    FastCheck.assert(
      FastCheck.property(crafted(headBytes), (bytes) => {
        const decoded = attempt(() => decodeHead(Buffer.from(bytes)))
        if (decoded === undefined) return
        assert.isAtMost(decoded.ids.count, bytes.length)
        assert.isAtMost(decoded.firsts.length, bytes.length)
        if (decoded.ids.count > 0) assert.isAtMost(decoded.ids.idOf(decoded.ids.count - 1), 2 ** 32)
      }),
      runs
    )
  })

  it("make no block: what is read stays within them, and ends", () => {
    FastCheck.assert(
      FastCheck.property(crafted(blockBytes), (bytes) => {
        let entries = 0
        let postings = 0
        attempt(() => {
          const reader = new BlockReader(bytes)
          while (reader.next()) {
            entries++
            assert.isAtMost(reader.termLength, maxTermBytes)
            assert.isAtMost(reader.end, bytes.length)
            forEachPosting(new ByteReader(bytes, reader.start), reader.end, () => postings++)
          }
        })
        assert.isAtMost(entries, bytes.length)
        assert.isAtMost(postings, bytes.length)
      }),
      runs
    )
  })

  it.effect("have no terms beyond their end", () =>
    Arena.using((arena) =>
      Effect.sync(() => {
        const { similar } = new Nearest(spelledWords("words")[0]!)
        FastCheck.assert(
          FastCheck.property(crafted(blockBytes), FastCheck.string({ maxLength: 4 }), (bytes, term) => {
            let seen = 0
            attempt(() => showBlock(arena, { similar, see: () => void seen++ }, bytes))
            assert.isAtMost(seen, bytes.length)
            const found = attempt(() => termIn(arena, bytes, term))
            if (found !== undefined) assert.isAtMost(found.count, found.bytes.length)
          }),
          runs
        )
      })
    )
  )

  it.effect("are unpacked only as postings of the segment", () =>
    Arena.using((arena) =>
      Effect.sync(() => {
        FastCheck.assert(
          FastCheck.property(crafted(blockBytes), FastCheck.integer({ min: 1, max: 200 }), (bytes, passages) => {
            const ordinals: Array<number> = []
            const read = attempt(() => {
              forEachPosting(new ByteReader(bytes), bytes.length, (ordinal) => ordinals.push(ordinal))
              return true
            })
            for (const count of [ordinals.length, 1 + (bytes.length % 7)]) {
              const found = unpacked(arena, bytes, count, passages)
              if (found === undefined) continue
              assert.isTrue(read)
              const kept: Array<number> = []
              forEachOrdinal(arena, found, passages, (ordinal) => kept.push(ordinal))
              assert.deepStrictEqual(kept, ordinals)
              assert.isBelow(ordinals.at(-1) ?? -1, passages)
            }
          }),
          runs
        )
      })
    )
  )

  it("are told by their checksum, which is the same however it is computed", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.uint8Array(), FastCheck.uint8Array(), (a, b) => {
        assert.strictEqual(crc32ByTable(b, crc32ByTable(a)), crc32(Buffer.concat([a, b])))
      })
    )
    assert.strictEqual(crc32ByTable(Buffer.from("123456789")), 0xcbf43926)
  })

  it("stored as they are, are read as they were", () => {
    const { firsts, ids, lengths } = decodeHead(headBytes)
    assert.deepStrictEqual([[...ids], [...lengths], firsts], [[...head.ids], [...head.lengths], head.firsts])
    const writer = new ByteWriter()
    for (const value of [0, 127, 128, 2 ** 32, 2 ** 53 - 1]) writer.varint(value)
    const reader = new ByteReader(writer.take())
    for (const value of [0, 127, 128, 2 ** 32, 2 ** 53 - 1]) assert.strictEqual(reader.varint(), value)
  })
})
