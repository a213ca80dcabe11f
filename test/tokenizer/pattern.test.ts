import { assert, describe, it } from "@effect/vitest"
import { regExpOf, splitAt } from "../../src/tokenizer/preTokenize.ts"

describe("regular expressions mean what they mean in Oniguruma", () => {
  // What the library tokenizers 0.23.3 gives for Split(Regex(pattern), "isolated").
  const library: ReadonlyArray<readonly [pattern: string, text: string, pieces: ReadonlyArray<string>]> = [
    ["^a", "a\na", ["a", "\n", "a"]],
    ["a$", "a\na", ["a", "\n", "a"]],
    ["^\\w", "éa\r\nb\nc", ["é", "a\r\n", "b", "\n", "c"]],
    [".", "\r\u2028\nx", ["\r", "\u2028", "\n", "x"]],
    ["[.^$]", "a.^", ["a", ".", "^"]],
    ["\\bfoo", "foo éfoo foo", ["foo", " éfoo ", "foo"]],
    ["\\bé\\B", "éa bé é", ["é", "a bé é"]],
    ["\\w+", "a_é1²①\u0301 ", ["a_é1²", "①", "\u0301", " "]],
    ["[\\w-]+", "a-é ①", ["a-é", " ①"]],
    ["\\s", "a\u0085b\u200bc\ufeffd\u001ce", ["a", "\u0085", "b\u200bc\ufeffd\u001ce"]],
    ["[^\\S\\n]+", "a \n\tb", ["a", " ", "\n", "\t", "b"]],
    ['\\"|\\-', 'a"b-c', ["a", '"', "b", "-", "c"]]
  ]
  for (const [pattern, text, pieces] of library) {
    it(pattern, () => assert.deepStrictEqual(splitAt(regExpOf({ Regex: pattern }), "Isolated")(text), pieces))
  }

  it("or are refused", () => {
    for (const pattern of ["(?i)foo", "[[:punct:]]", "[a&&b]", "\\h", "[\\W]", "("]) {
      assert.throws(
        () => regExpOf({ Regex: pattern }),
        `the regular expression ${JSON.stringify(pattern)} has no equivalent`
      )
    }
  })

  it("and literals are taken as they are", () => {
    assert.deepStrictEqual(splitAt(regExpOf({ String: ".*|" }), "Removed")("a.*|b.c"), ["a", "b.c"])
  })
})

describe("a delimiter", () => {
  const text = "the-final--countdown"
  const split = (behavior: Parameters<typeof splitAt>[1], invert = false) => splitAt(/-/gu, behavior, invert)(text)

  it("goes where it belongs", () => {
    assert.deepStrictEqual(split("Removed"), ["the", "final", "countdown"])
    assert.deepStrictEqual(split("Isolated"), ["the", "-", "final", "-", "-", "countdown"])
    assert.deepStrictEqual(split("MergedWithPrevious"), ["the-", "final-", "-", "countdown"])
    assert.deepStrictEqual(split("MergedWithNext"), ["the", "-final", "-", "-countdown"])
    assert.deepStrictEqual(split("Contiguous"), ["the", "-", "final", "--", "countdown"])
    assert.deepStrictEqual(split("Removed", true), ["-", "-", "-"])
  })
})
