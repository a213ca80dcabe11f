import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { fuse, type FusionOptions, type Leg } from "../../src/ranking/fusion.ts"
import type { Scored } from "../../src/model/Passage.ts"

const byNumber = (a: number, b: number) => a - b
const options = (over: Partial<FusionOptions> = {}): FusionOptions => ({
  alpha: 0.4,
  method: "rrf",
  tieOrder: byNumber,
  ...over
})
const ranked = (...pairs: ReadonlyArray<readonly [number, number]>): ReadonlyArray<Scored> =>
  pairs.map(([id, score]) => ({ id, score }))
const none: Leg = { ranked: [] }
const keysOf = (fused: ReadonlyArray<{ readonly id: number }>) => fused.map(({ id }) => id)

/** A leg of positive scores, best first, each id once, that knows no more than its ranking. */
const leg = FastCheck.uniqueArray(FastCheck.integer({ min: 0, max: 40 }), { maxLength: 30 }).chain((keys) =>
  FastCheck.array(FastCheck.double({ min: 0.001, max: 50, noNaN: true }), {
    minLength: keys.length,
    maxLength: keys.length
  }).map((scores): Leg => {
    const sorted = scores.toSorted((a, b) => b - a)
    return { ranked: keys.map((id, i) => ({ id, score: sorted[i] ?? 0 })) }
  })
)
const method = FastCheck.constantFrom("rrf" as const, "score" as const)
const alpha = FastCheck.double({ min: 0, max: 1, noNaN: true })

describe("fuse", () => {
  it("adds weighted reciprocal ranks, scaled so that first in both is 1", () => {
    const fused = fuse({ ranked: ranked([1, 0.9], [2, 0.8]) }, { ranked: ranked([1, 12], [3, 9], [2, 4]) }, options())
    assert.deepStrictEqual(keysOf(fused), [1, 2, 3])
    assert.strictEqual(fused[0]?.score, 1)
    assert.closeTo(fused[1]?.score ?? 0, 11 * (0.4 / 12 + 0.6 / 13), 1e-12)
    assert.closeTo(fused[2]?.score ?? 0, 11 * (0.6 / 12), 1e-12)
  })

  it("breaks ties of ranks by the scores before it asks for the order", () => {
    const vector: Leg = { ranked: ranked([1, 0.9], [2, 0.2]) }
    const keyword: Leg = { ranked: ranked([2, 10], [1, 9]) }
    assert.deepStrictEqual(keysOf(fuse(vector, keyword, options({ alpha: 0.5, tieOrder: (a, b) => b - a }))), [1, 2])
  })

  it("tells each leg's place, and none where the leg did not rank the candidate", () => {
    const [first, second] = fuse({ ranked: ranked([7, 0.5]) }, { ranked: ranked([7, 3], [8, 2]) }, options())
    assert.deepStrictEqual(first?.vector, { rank: 1, score: 0.5 })
    assert.deepStrictEqual(first?.keyword, { rank: 1, score: 3 })
    assert.strictEqual(second?.vector, undefined)
    assert.deepStrictEqual(second?.keyword, { rank: 2, score: 2 })
  })

  it("adds scores over their maximum, asking each leg for what only the other found", () => {
    const vector: Leg = { ranked: ranked([1, 0.8], [2, 0.4]), scoreOf: (id) => (id === 3 ? 0.2 : undefined) }
    const keyword: Leg = { ranked: ranked([3, 10], [1, 5]), scoreOf: (id) => (id === 2 ? 1 : undefined) }
    const fused = fuse(vector, keyword, options({ method: "score", alpha: 0.5 }))
    assert.deepStrictEqual(keysOf(fused), [1, 3, 2])
    assert.closeTo(fused[0]?.score ?? 0, 0.5 * 1 + 0.5 * 0.5, 1e-12)
    assert.closeTo(fused[1]?.score ?? 0, 0.5 * 0.25 + 0.5 * 1, 1e-12)
    assert.closeTo(fused[2]?.score ?? 0, 0.5 * 0.5 + 0.5 * 0.1, 1e-12)
    assert.strictEqual(fused[1]?.vector, undefined)
  })

  it("takes the maximum over all candidates, also where the other leg's is the greatest", () => {
    const vector: Leg = { ranked: ranked([1, 0.5]), scoreOf: () => 1 }
    const fused = fuse(vector, { ranked: ranked([2, 4]) }, options({ method: "score", alpha: 0.5 }))
    assert.deepStrictEqual(
      fused.map(({ id, score }) => [id, score]),
      [
        [2, 1],
        [1, 0.25]
      ]
    )
  })

  it("keeps the order of cosines of which none is positive", () => {
    const vector: Leg = { ranked: ranked([1, -0.1], [2, -0.5], [3, -0.9]) }
    assert.deepStrictEqual(keysOf(fuse(vector, none, options({ method: "score", alpha: 1 }))), [1, 2, 3])
  })

  it("orders equal scores as it is told", () => {
    const vector: Leg = { ranked: ranked([5, 1]) }
    const keyword: Leg = { ranked: ranked([4, 1]) }
    const both = (tieOrder: (a: number, b: number) => number) =>
      keysOf(fuse(vector, keyword, options({ alpha: 0.5, tieOrder })))
    assert.deepStrictEqual(both(byNumber), [4, 5])
    assert.deepStrictEqual(
      both((a, b) => b - a),
      [5, 4]
    )
  })

  it.prop(
    "holds every candidate once, best first, with scores above 0 and at most 1",
    [leg, leg, method],
    ([v, w, m]) => {
      const fused = fuse(v, w, options({ method: m, alpha: 0.4 }))
      const expected = new Set([...v.ranked, ...w.ranked].map(({ id }) => id))
      assert.deepStrictEqual(new Set(keysOf(fused)), expected)
      assert.strictEqual(fused.length, expected.size)
      for (const [i, { score }] of fused.entries()) {
        assert.isAbove(score, 0)
        assert.isAtMost(score, 1 + 1e-12)
        assert.isAtMost(score, fused[i - 1]?.score ?? Infinity)
      }
    }
  )

  it.prop("is one leg alone at alpha 0 and 1", [leg, leg], ([v, w]) => {
    for (const [weight, only] of [
      [1, v],
      [0, w]
    ] as const) {
      const keys = only.ranked.map(({ id }) => id)
      assert.deepStrictEqual(keysOf(fuse(v, w, options({ alpha: weight }))), keys)
      const fused = fuse(v, w, options({ method: "score", alpha: weight }))
      assert.deepStrictEqual(new Set(keysOf(fused)), new Set(keys))
      const scores = new Map(only.ranked.map(({ id, score }) => [id, score]))
      fused.reduce(
        (before, hit) => {
          assert.isAtLeast(scores.get(before.id) ?? 0, scores.get(hit.id) ?? 0)
          return hit
        },
        fused[0] ?? { id: -1 }
      )
    }
  })

  it.prop("does not know which leg is which at alpha .5", [leg, leg, method], ([v, w, m]) => {
    const one = fuse(v, w, options({ alpha: 0.5, method: m }))
    const other = fuse(w, v, options({ alpha: 0.5, method: m }))
    assert.deepStrictEqual(
      one.map(({ id, score }) => [id, score]),
      other.map(({ id, score }) => [id, score])
    )
  })

  it.prop(
    "never lowers a candidate that a leg ranks one place higher",
    [leg, leg, alpha, FastCheck.nat({ max: 28 })],
    ([v, w, a, place]) => {
      const lower = v.ranked[place + 1]
      if (lower === undefined) return
      const before = fuse(v, w, options({ alpha: a }))
      const swapped = v.ranked.with(place, lower).with(place + 1, v.ranked[place] as Scored)
      const after = fuse({ ranked: swapped }, w, options({ alpha: a }))
      const scoreIn = (fused: typeof before) => fused.find(({ id }) => id === lower.id)?.score ?? 0
      if (a === 0) assert.strictEqual(scoreIn(after), scoreIn(before))
      else assert.isAtLeast(scoreIn(after), scoreIn(before))
    }
  )

  it.prop("gives the same order whatever order ties come in", [leg, leg, method], ([v, w, m]) => {
    const tied = (from: Leg): ReadonlyArray<Scored> => from.ranked.map(({ id }) => ({ id, score: 1 }))
    const fused = (a: ReadonlyArray<Scored>) =>
      keysOf(fuse({ ranked: a }, { ranked: tied(w) }, options({ method: m === "rrf" ? "score" : m })))
    assert.deepStrictEqual(fused(tied(v)), fused(tied(v).toReversed()))
  })
})
