import { assert, it } from "@effect/vitest"
import { didYouMean, nearest } from "../../src/terms/nearest.ts"

const names = ["query", "index", "info", "list", "chunk_size", "chunk_overlap"]

it("finds what a mistyped name means, however its words are joined", () => {
  assert.deepStrictEqual(nearest("qurey", names), ["query"])
  assert.deepStrictEqual(nearest("chunkSize", names), ["chunk_size"])
  assert.deepStrictEqual(nearest("overlap", names), ["chunk_overlap"])
  assert.deepStrictEqual(nearest("CHUNK-SIZ", names), ["chunk_size"])
})

it("names what is equally near, three at most, and nothing where nothing is like it", () => {
  assert.deepStrictEqual(nearest("ab", ["aa", "ac", "ad", "ae", "zz"]), ["aa", "ac", "ad"])
  assert.deepStrictEqual(nearest("volcano", names), [])
  assert.deepStrictEqual(nearest("", names), [])
})

it("spends nothing on names as long as a page", () => {
  assert.deepStrictEqual(nearest("a".repeat(1_000_000), ["a".repeat(999_999), "b"]), [])
})

it("says so in words, or nothing", () => {
  assert.strictEqual(didYouMean("lst", names), " (did you mean list?)")
  assert.strictEqual(didYouMean("lst", names, JSON.stringify), ' (did you mean "list"?)')
  assert.strictEqual(didYouMean("volcano", names), "")
})
