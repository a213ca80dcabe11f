import { assert, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as sqliteVec from "sqlite-vec"
import { HeldVectors } from "../../src/codes/HeldVectors.ts"
import { randomVectors } from "./random.ts"

const bytes = (vector: Float32Array) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)

const sqlite = () => {
  const db = new Database(":memory:")
  sqliteVec.load(db)
  return db
}

const cosines = (held: HeldVectors, passages: ReadonlyArray<number>, query: Parameters<HeldVectors["cosines"]>[1]) => {
  const found: Array<number | null> = []
  held.cosines(held.placesOf(passages), query, (at, cosine) => (found[at] = Number.isNaN(cosine) ? null : cosine))
  return found
}

const isHeld = (held: HeldVectors, passage: number): boolean => held.placesOf([passage])[0] !== -1

describe("vectors in memory", () => {
  it.each([1, 3, 16, 256, 1000])("have the cosines that sqlite-vec gives, to the last bit, at width %i", (width) => {
    const db = sqlite()
    const vectors = [...randomVectors(1101, width, 1), new Float32Array(width)]
    const [query, off] = randomVectors(2, width, 2) as [Float32Array, Float32Array]
    const held = new HeldVectors(width, 2 ** 24)
    for (const [passage, vector] of vectors.entries()) held.add(passage, bytes(vector))
    const all = [...vectors.keys()]
    const plain = db.prepare("SELECT 1 - vec_distance_cosine(?, ?)").pluck()
    const expected = vectors.map((vector) => plain.get(bytes(vector), bytes(query)))
    assert.deepStrictEqual(cosines(held, all, { toward: query }), expected)
    assert.isNull(expected.at(-1))
    const less = db.prepare("SELECT 1 - vec_distance_cosine(vec_sub(?, ?), ?)").pluck()
    assert.deepStrictEqual(
      cosines(held, all.slice(0, 501), { toward: query, off }),
      vectors.slice(0, 501).map((vector) => less.get(bytes(vector), bytes(off), bytes(query)))
    )
    // In any order, and some of them.
    assert.deepStrictEqual(cosines(held, [7, 3, 1100, 3, 0], { toward: query }), [
      expected[7],
      expected[3],
      expected[1100],
      expected[3],
      expected[0]
    ])
    db.close()
  })

  it("have one place each, also if they are added again", () => {
    const held = new HeldVectors(4, 0)
    const vector = bytes(Float32Array.of(1, 2, 3, 4))
    held.add(1, vector)
    held.add(1, vector)
    for (let passage = 2; passage <= held.most; passage++) held.add(passage, vector)
    assert.isTrue(isHeld(held, 1))
    held.add(held.most + 1, vector)
    assert.isFalse(isHeld(held, 1))
  })

  it("give their places to new ones, the oldest first", () => {
    const held = new HeldVectors(4, 0)
    const vector = Float32Array.of(1, 2, 3, 4)
    for (let passage = 0; passage < held.most + 10; passage++) held.add(passage, bytes(vector))
    assert.isFalse(isHeld(held, 9))
    assert.isTrue(isHeld(held, 10))
    assert.isTrue(isHeld(held, held.most + 9))
    held.add(5, bytes(Float32Array.of(4, 3, 2, 1)))
    assert.isFalse(isHeld(held, 10))
    const [one, other] = cosines(held, [11, 5], { toward: vector })
    assert.closeTo(one!, 1, 1e-6)
    assert.closeTo(other!, 20 / 30, 1e-6)
    held.clear()
    assert.isFalse(isHeld(held, 5))
  })
})
