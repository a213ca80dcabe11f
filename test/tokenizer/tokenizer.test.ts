import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import { parse, parseWhole, type Template, type Tokenizer } from "../../src/tokenizer/tokenizer.ts"
import { pack } from "../../src/tokenizer/vocabulary.ts"
import { wordPieceJson } from "../Embedder/modelFolder.ts"
import library from "../fixtures/tokenizers/cases.json" with { type: "json" }

const tokenizerOf = (json: unknown): Tokenizer =>
  Either.getOrThrow(
    parse("tokenizer.json", new TextEncoder().encode(typeof json === "string" ? json : JSON.stringify(json)))
  )

const refusal = (json: unknown): string =>
  Either.match(
    parse("tokenizer.json", new TextEncoder().encode(typeof json === "string" ? json : JSON.stringify(json))),
    {
      onLeft: ({ reason }) => reason,
      onRight: () => "no refusal"
    }
  )

describe("gives the ids of the library tokenizers, also packed", () => {
  for (const { ids, name, tokenizer: json } of library.cases) {
    it(name, () => {
      const plain = tokenizerOf(json)
      const packed = Either.getOrThrow(parse("a.packed", pack(new TextEncoder().encode(JSON.stringify(json)))))
      // Twice: the second time from the cache.
      for (const { encode } of [plain, plain, packed]) {
        for (const [i, text] of library.texts.entries())
          assert.deepStrictEqual(encode(text), ids[i], JSON.stringify(text))
      }
    })
  }
})

describe("gives the ids of the library with special and unknown tokens", () => {
  for (const { ids, name, pairs, tokenizer: json } of library.whole) {
    it(name, () => {
      const { encode, pair, single } = Either.getOrThrow(parseWhole(new TextEncoder().encode(JSON.stringify(json))))
      const filled = (template: Template, a: string, b: string) =>
        template.flatMap(({ ids, type }) =>
          (ids === "A" ? encode(a) : ids === "B" ? encode(b) : ids).map((id) => [id, type] as const)
        )
      for (const [i, text] of library.texts.entries()) {
        assert.deepStrictEqual(
          filled(single, text, "").map(([id]) => id),
          ids[i],
          JSON.stringify(text)
        )
        if (i === 0) continue
        const both = filled(pair, library.texts[i - 1]!, text)
        assert.deepStrictEqual([both.map(([id]) => id), both.map(([, type]) => type)], pairs[i - 1])
      }
    })
  }
})

const bert = tokenizerOf(library.cases[0]!.tokenizer)

it("counts a run of any length as one piece", () => {
  const run = (length: number) => "\u{1f600}".repeat(length)
  // An unknown piece counts by its length.
  assert.strictEqual(bert.count(run(6e6)), 15e5)
  for (const length of [200, 5000, 9001]) {
    const tokens = Math.ceil(length / 4)
    assert.strictEqual(bert.count(run(length)), tokens)
    assert.strictEqual(bert.count(`${run(length)}—é ${run(length)}`), 2 * tokens + bert.count("—é"))
  }
})

/** Words, marks, scripts, controls and white space, in any order. */
const text = FastCheck.array(
  FastCheck.oneof(
    {
      weight: 4,
      arbitrary: FastCheck.constantFrom("the", "store", "Documents", "café", "e\u0301", "C++", "x".repeat(120))
    },
    { weight: 2, arbitrary: FastCheck.string({ unit: "binary", maxLength: 6 }) },
    { weight: 2, arbitrary: FastCheck.string({ maxLength: 6 }) },
    {
      weight: 3,
      arbitrary: FastCheck.constantFrom(" ", "\n", "\t", "\r\n", "  ", "\u00a0", "\f", "\u200b", "\u0301", "漢字")
    }
  ),
  { maxLength: 30 }
).map((parts) => parts.join(""))

describe("counting", () => {
  it.prop("adds up over parts split at space, tab and line break", { text }, ({ text }) => {
    const parts = text.split(/([ \t\r\n]+)/)
    assert.strictEqual(
      parts.reduce((sum, part) => sum + bert.count(part), 0),
      bert.count(text)
    )
  })

  it.prop("is never less than the ids there are", { text }, ({ text }) => {
    assert.isAtLeast(bert.count(text), bert.encode(text).length)
  })

  // MCP's answers rely on it (mcp/tools/answers.ts).
  it.prop("is never more than the units of the decomposed text", { text }, ({ text }) => {
    for (const each of [text, `${text}각ǖ각 ${text}`]) assert.isAtMost(bert.count(each), each.normalize("NFD").length)
  })

  it("counts known words by their tokens, and what is unknown by its length", () => {
    assert.strictEqual(bert.count("the store, the store"), bert.encode("the store, the store").length)
    assert.deepStrictEqual(bert.encode("漢字 xyzzyх"), [])
    assert.strictEqual(bert.count("字".repeat(100)), 100)
    assert.strictEqual(bert.count("\u0416".repeat(8)), 2)
    assert.strictEqual(bert.count("A".repeat(1000)), 250)
    assert.strictEqual(bert.count(" \n\t\u200b"), 0)
  })
})

it("keeps giving the same ids when there are more words than it remembers", () => {
  const tokenizer = tokenizerOf(
    wordPieceJson(["[UNK]", ..."0123456789", ..."0123456789".split("").map((c) => `##${c}`)])
  )
  const expected = (word: string) => [...word].map((digit, i) => Number(digit) + (i === 0 ? 1 : 11))
  for (let i = 0; i < 70_000; i++) {
    const word = String(i)
    const ids = tokenizer.encode(word)
    if (ids.length !== word.length || ids.some((id, at) => id !== expected(word)[at])) {
      assert.deepStrictEqual(ids, expected(word))
    }
  }
  assert.deepStrictEqual(tokenizer.encode("7"), [8])
})

describe("vocabulary", () => {
  it("is read whatever its layout and its escapes", () => {
    const tokens = [
      "[UNK]",
      'quote"',
      "back\\",
      "é",
      "😀",
      "tab\t",
      "a",
      "##b",
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      "model",
      "vocab"
    ]
    const spec = { ...wordPieceJson(tokens), normalizer: null, pre_tokenizer: { type: "WhitespaceSplit" } }
    const first = { vocab: { decoy: 1 }, ...spec }
    const escaped = JSON.stringify(first).replace(
      /[^\0-\x7f]/g,
      (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`
    )
    for (const json of [JSON.stringify(first), JSON.stringify(first, null, 2), escaped]) {
      const { encode, vocabularySize } = tokenizerOf(json)
      assert.strictEqual(vocabularySize, tokens.length)
      assert.deepStrictEqual(
        encode('back\\ quote" é 😀 ab { } [ ] , : model vocab'),
        [2, 1, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
      )
    }
  })

  it("takes the later of two tokens that are the same, and ids in any order", () => {
    const json = JSON.stringify(wordPieceJson([])).replace('"vocab":{}', '"vocab":{"b":7,"a":1,"[UNK]":3,"a":5}')
    const { encode, vocabularySize } = tokenizerOf(json)
    assert.deepStrictEqual(encode("a b c"), [5, 7])
    assert.strictEqual(vocabularySize, 8)
  })

  it("has words that are also names of an object's own", () => {
    const { encode } = tokenizerOf(wordPieceJson(["[UNK]", "constructor", "tostring"]))
    assert.deepStrictEqual(encode("constructor toString valueOf hasOwnProperty"), [1, 2])
  })
})

it("survives text that is not well-formed", () => {
  assert.deepStrictEqual(bert.encode("the \ud800 store\udc00"), bert.encode("the store"))
  for (const { tokenizer } of library.cases) {
    assert.isArray(tokenizerOf(tokenizer).encode("a\ud800b \udfff\ud800"))
  }
})

it("takes text of any length without a space", () => {
  const bytes = tokenizerOf(library.cases.find(({ name }) => name === "Unigram with bytes")!.tokenizer)
  assert.lengthOf(bytes.encode("ж".repeat(200_000)), 400_000)
  assert.strictEqual(bert.count("é".repeat(400_000)), 100_000)
})

describe("a tokenizer that is not supported is refused by name", () => {
  const refused: ReadonlyArray<readonly [changes: object, reason: RegExp]> = [
    [
      { model: { type: "WordLevel", vocab: { a: 0 } } },
      /^model\.type: .*"WordPiece".*"Unigram".*"BPE".*actual "WordLevel"/s
    ],
    [{ model: { type: "BPE", vocab: [["a", 0]], merges: [] } }, /model.vocab of BPE must be an object/],
    [{ model: { type: "BPE", vocab: { a: 0, b: 1 }, merges: ["a b"] } }, /merges\[0\] joins "a" and "b"/],
    [
      { model: { type: "BPE", vocab: { a: 0 }, merges: [], end_of_word_suffix: "</w>" } },
      /end_of_word_suffix: .*actual "<\/w>"/
    ],
    [{ model: { type: "WordPiece", vocab: { a: 0 } } }, /unk_token "\[UNK\]" has no id/],
    [{ model: { type: "WordPiece", vocab: [["a", 0]] } }, /unk_token/],
    [{ model: { type: "Unigram", vocab: { a: 0 } } }, /must be a list of tokens and their scores/],
    [{ model: { type: "Unigram", unk_id: 3, vocab: [["a", 0]] } }, /unk_id is 3, but model.vocab ends at 0/],
    [{ model: { type: "WordPiece", vocab: "a" } }, /model.vocab must be/],
    [
      { model: { type: "WordPiece", vocab: { "[UNK]": 0, a: "one" } } },
      /expected a token and its id, found "\\"a\\":\\"one/
    ],
    [{ model: { type: "WordPiece", vocab: { "[UNK]": -1 } } }, /expected a token and its id/],
    [{ model: { type: "WordPiece", vocab: { "[UNK]": 2 ** 31 } } }, /expected a token and its id/],
    [{ model: { type: "Unigram", vocab: [["a", 0], "b"] } }, /expected a token and its score, found "\\"b\\"/],
    [{ pre_tokenizer: { type: "Fixed" } }, /^pre_tokenizer\.type: .*"BertPreTokenizer".*actual "Fixed"/s],
    [{ normalizer: { type: "ByteLevel" } }, /^normalizer\.type: .*"BertNormalizer".*actual "ByteLevel"/s],
    [
      { pre_tokenizer: { type: "Split", pattern: { Regex: "(?<a" }, behavior: "Isolated" } },
      /regular expression "\(\?<a"/
    ],
    [{ normalizer: { type: "Precompiled", precompiled_charsmap: "!" } }, /charsmap is damaged: it is not base64/],
    [
      { normalizer: { type: "Precompiled", precompiled_charsmap: btoa("\x40\0\0\0abcd") } },
      /charsmap is damaged: it announces a trie of 64 bytes/
    ]
  ]
  it("models, normalizers and pre-tokenizers", () => {
    const nested = (deep: number) =>
      `${'{"type":"Sequence","normalizers":['.repeat(deep)}{"type":"NFC"}${"]}".repeat(deep)}`
    const json = JSON.stringify(wordPieceJson(["[UNK]", "a"], { normalizer: null }))
    assert.match(refusal(json.replace('"normalizer":null', `"normalizer":${nested(20_000)}`)), /nested too deep/)
    for (const [changes, reason] of refused) assert.match(refusal(wordPieceJson(["[UNK]", "a"], changes)), reason)
  })

  it("files that are not JSON, or not a tokenizer's", () => {
    assert.match(refusal(""), /JSON/)
    assert.match(refusal("{}"), /model/)
    assert.match(refusal("[]"), /./)
    const whole = JSON.stringify(library.cases[11]!.tokenizer)
    for (let length = 0; length < whole.length; length += 97) {
      assert.notStrictEqual(refusal(whole.slice(0, length)), "no refusal")
    }
    const packed = pack(new TextEncoder().encode(whole))
    for (let length = 1; length < packed.length; length += 9973) {
      const parsed = parse("a.packed", packed.subarray(0, length))
      assert.match(Either.isLeft(parsed) ? parsed.left.reason : "no refusal", /^it is damaged/)
    }
  })
})
