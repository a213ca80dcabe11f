import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { mean, ndcgAt, recallAt, reciprocalRankAt } from "../../src/measuring/evaluation.ts"

const judged = new Map([
  ["a", 3],
  ["b", 2],
  ["c", 1],
  ["d", 0],
  ["e", -1]
])

describe("metrics", () => {
  it("computes nDCG with linear gains", () => {
    // DCG = 1/log2(2) + 0/log2(3) + 3/log2(4) = 1 + 0 + 1.5; ideal = 3/1 + 2/1.58496 + 1/2 = 4.76186
    assert.closeTo(ndcgAt(10, ["c", "x", "a"], judged), 2.5 / 4.76186, 1e-5)
    assert.strictEqual(ndcgAt(10, ["a", "b", "c"], judged), 1)
    assert.strictEqual(ndcgAt(10, ["d", "e", "x"], judged), 0)
  })

  it("cuts both the ranking and the ideal at k", () => {
    assert.strictEqual(ndcgAt(1, ["b", "a"], judged), 2 / 3)
    // DCG = 2 + 3/1.58496 = 3.89279; ideal = 3 + 2/1.58496 = 4.26186
    assert.closeTo(ndcgAt(2, ["b", "a", "c"], judged), 3.89279 / 4.26186, 1e-5)
  })

  it("computes recall over all that is relevant, even where k is less", () => {
    assert.strictEqual(recallAt(2, ["x", "a", "b", "c"], judged), 1 / 3)
    assert.strictEqual(recallAt(100, ["x", "a", "b", "c", "d"], judged), 1)
  })

  it("computes the reciprocal rank of the first relevant document", () => {
    assert.strictEqual(reciprocalRankAt(10, ["x", "d", "b", "a"], judged), 1 / 3)
    assert.strictEqual(reciprocalRankAt(2, ["x", "d", "b", "a"], judged), 0)
  })

  it("is 0 where nothing is relevant or nothing was found", () => {
    const nothing = new Map([["a", 0]])
    for (const metric of [ndcgAt, recallAt, reciprocalRankAt]) {
      assert.strictEqual(metric(10, ["a"], nothing), 0)
      assert.strictEqual(metric(10, [], judged), 0)
    }
    assert.strictEqual(mean([]), 0)
    assert.strictEqual(mean([0, 1, 0.5]), 0.5)
  })

  it.prop(
    "stays within 0 and 1, and nDCG is 1 only for an ideal order",
    [FastCheck.shuffledSubarray(["a", "b", "c", "d", "e", "x", "y"], { minLength: 1 })],
    ([ranking]) => {
      const value = ndcgAt(3, ranking, judged)
      assert.isAtLeast(value, 0)
      assert.isAtMost(value, 1 + 1e-12)
      assert.strictEqual(value > 1 - 1e-12, ranking.slice(0, 3).join() === "a,b,c")
    }
  )
})
