import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { idf, norm } from "../../src/postings/score.ts"

describe("bm25", () => {
  it("weighs a term by how few passages have it, and one that most have next to nothing", () => {
    assert.approximately(idf(10, 1), Math.log(9.5 / 1.5), 1e-12)
    assert.strictEqual(idf(10, 5), 1e-6)
    assert.strictEqual(idf(10, 10), 1e-6)
  })

  it.prop(
    "grows with a term's frequency and falls with the passage's length, bounded by the gain",
    [
      FastCheck.integer({ min: 1, max: 1e6 }),
      FastCheck.integer({ min: 1, max: 1e9 }),
      FastCheck.nat(1000),
      FastCheck.nat(1000)
    ],
    ([passages, terms, f, length]) => {
      const { base, gain, slope } = norm(passages, terms)
      const part = (f: number, length: number) => (gain * f) / (f + base + slope * length)
      assert.isBelow(part(f, length), part(f + 1, length))
      assert.isAtLeast(part(f, length), part(f, length + 1))
      assert.isBelow(part(f, length), gain)
    }
  )

  it("takes a passage of average length as its frequencies say", () => {
    const { base, gain, slope } = norm(10, 1000)
    assert.approximately(gain / (1 + base + slope * 100), 1, 1e-12)
  })

  it("holds where there are no terms at all", () => assert.strictEqual(norm(3, 0).slope, 0))
})
