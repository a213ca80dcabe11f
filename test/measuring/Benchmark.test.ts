import * as Either from "effect/Either"
import { assert, describe, it } from "vitest"
import { documentsOf, percentile, parseJudgements, parseQueries } from "../../src/measuring/Benchmark.ts"
import { hit } from "../hits.ts"

describe("documentsOf", () => {
  it("puts each document where its best passage stands", () => {
    const hits = ["/c.jsonl#b", "/c.jsonl#a#1", "/c.jsonl#b", "/c.jsonl#c"].map((source) => hit({ text: "", source }))
    assert.deepStrictEqual(documentsOf(hits, "/c.jsonl"), ["b", "a#1", "c"])
  })
})

describe("percentile", () => {
  it("is the nearest rank", () => {
    const values = Array.from({ length: 20 }, (_, i) => 20 - i)
    assert.strictEqual(percentile(values, 0.5), 10)
    assert.strictEqual(percentile(values, 0.95), 19)
    assert.strictEqual(percentile([7], 0.95), 7)
    assert.strictEqual(percentile([], 0.5), 0)
  })
})

describe("parseJudgements", () => {
  it("reads with and without a line of headings", () => {
    for (const head of ["query-id\tcorpus-id\tscore\n", ""]) {
      const judged = Either.getOrThrow(parseJudgements(`${head}1\ta\t2\r\n1\tb\t0\r\n\r\n2\ta\t1\n`))
      assert.deepStrictEqual([...judged.keys()], ["1", "2"])
      assert.deepStrictEqual(
        [...(judged.get("1") ?? [])],
        [
          ["a", 2],
          ["b", 0]
        ]
      )
    }
  })

  it("names the line that it cannot read", () => {
    for (const bad of ["1 a 1", "1\ta", "1\ta\tgood", "1\ta\t1\tx"]) {
      assert.include(Either.getOrThrow(Either.flip(parseJudgements(`1\ta\t1\n${bad}\n`))), "line 2")
    }
  })
})

describe("parseQueries", () => {
  it("reads texts by id, in their order", () => {
    const queries = Either.getOrThrow(
      parseQueries('{"_id": "2", "text": "two", "metadata": {}}\n{"_id": "1", "text": "one"}\n')
    )
    assert.deepStrictEqual(
      [...queries],
      [
        ["2", "two"],
        ["1", "one"]
      ]
    )
  })

  it("names the line that it cannot read", () => {
    assert.include(
      Either.getOrThrow(Either.flip(parseQueries('{"_id": "2", "text": "two"}\n{"text": "x"}\n'))),
      "line 2"
    )
  })
})
