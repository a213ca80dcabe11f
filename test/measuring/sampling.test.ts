import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { queryOf, randomFrom } from "../../src/measuring/evaluation.ts"

describe("randomFrom", () => {
  it("gives the same numbers for the same seed, spread over 0 to 1", () => {
    const draw = (seed: number) => Array.from({ length: 1000 }, randomFrom(seed))
    assert.deepStrictEqual(draw(7), draw(7))
    assert.notDeepEqual(draw(7), draw(8))
    const tenths = new Set(draw(7).map((value) => Math.floor(value * 10)))
    assert.deepStrictEqual([...tenths].sort(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })
})

describe("queryOf", () => {
  it("takes titles and runs of words", () => {
    const random = randomFrom(1)
    const text = Array.from({ length: 40 }, (_, n) => `w${n}`).join(" ")
    const queries = Array.from({ length: 400 }, () => queryOf({ text, title: "The Title" }, random))
    const titles = queries.filter((query) => query === "The Title").length
    assert.isTrue(titles > 60 && titles < 140)
    const lengths = new Set<number>()
    for (const query of queries.filter((each) => each !== "The Title")) {
      assert.include(` ${text} `, ` ${query} `)
      lengths.add(query.split(" ").length)
    }
    assert.deepStrictEqual([Math.min(...lengths), Math.max(...lengths)], [3, 12])
  })

  it.prop(
    "is a query that every door takes, or empty",
    {
      text: FastCheck.string({ unit: "binary", maxLength: 3000 }),
      title: FastCheck.option(FastCheck.string(), { nil: undefined })
    },
    ({ text, title }) => {
      const query = queryOf({ text, title }, randomFrom(text.length))
      assert.isAtMost(query.length, 1000)
      assert.strictEqual(query, query.trim())
      assert.strictEqual(query === "", !/[\p{L}\p{N}]/u.test(text) && (title ?? "").trim() === "")
    }
  )
})
