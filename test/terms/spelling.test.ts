import { assert, it } from "@effect/vitest"
import { Nearest } from "../../src/postings/spelling.ts"
import { distance } from "../../src/terms/nearest.ts"
import { spelledWords, termsNearby, writtenAs } from "../../src/terms/spelling.ts"
import { termOf } from "../../src/terms/word.ts"

it("counts letters added, taken away, changed and swapped", () => {
  assert.strictEqual(distance("receive", "receive", 1), 0)
  assert.strictEqual(distance("recieve", "receive", 1), 1)
  assert.strictEqual(distance("recive", "receive", 1), 1)
  assert.strictEqual(distance("receiive", "receive", 1), 1)
  assert.strictEqual(distance("receire", "receive", 2), 1)
  assert.strictEqual(distance("rceeire", "receive", 2), 2)
  assert.strictEqual(distance("rceeire", "receive", 1), 2)
  assert.strictEqual(distance("abc", "abcdefgh", 2), 3)
})

it("looks at words of letters alone", () => {
  const words = spelledWords("Why does the authentification of user_2 in core.auto fail? 所有权 tar 0x1234 Überprüfnug")
  assert.deepStrictEqual(
    words.map(({ word }) => word).filter((word) => word.length > 4),
    ["authentification", "Überprüfnug"]
  )
})

it("finds the stem of a word whose ending is misspelled", () => {
  assert.isTrue(termsNearby("configuraton").has("configur"))
  assert.isTrue(termsNearby("loggng").has("log"))
})

it("prefers the word whose stem is nearer to one that no text may have, however frequent its stem is", () => {
  const nearest = new Nearest(spelledWords("storngly")[0]!)
  nearest.see(termOf("storingly"), 500)
  nearest.see(termOf("strongly"), 5)
  assert.strictEqual(nearest.best()[0]?.term, termOf("strongly"))
})

it("shows a term as a text writes it", () => {
  assert.strictEqual(writtenAs("configur", ["none", "The Configurations of"]), "configurations")
  assert.isUndefined(writtenAs("configur", ["none"]))
})
