import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { toLoaded } from "../../../src/files/Loader/record.ts"

const load = (record: unknown) => toLoaded(7, JSON.stringify(record))
const document = (parts: object) => ({
  _tag: "Loaded",
  record: "L7",
  line: 7,
  format: "text",
  title: undefined,
  metadata: {},
  ...parts
})

describe("a line of JSON Lines", () => {
  const taken: ReadonlyArray<readonly [string, unknown, object]> = [
    ["as BEIR has it", { _id: "d1", title: "T", text: "x", metadata: {} }, { record: "d1", title: "T", content: "x" }],
    ["with a number for its id", { id: 12, content: "x" }, { record: "12", content: "x" }],
    ["without an id, by its line", { text: "x", id: null }, { content: "x", metadata: { id: null } }],
    [
      "as /index takes it",
      { doc_id: "d", content: "x", metadata: { title: "T", source: "s", a: 1 } },
      { record: "d", content: "x", title: "T", metadata: { a: 1, original_source: "s" } }
    ],
    [
      "with the keys that are left as metadata",
      { _id: "a", id: 3, text: "x", content: "y", lang: ["de"], n: { m: 1 } },
      { record: "a", content: "x", metadata: { id: 3, content: "y", lang: ["de"], n: { m: 1 } } }
    ],
    [
      "whose own keys go before those of its metadata",
      { text: "x", year: 1, metadata: { year: 2, id: "b" } },
      { content: "x", metadata: { year: 1, id: "b" } }
    ],
    ["with metadata that is no object", { text: "x", metadata: "m" }, { content: "x", metadata: { metadata: "m" } }],
    [
      "with a source",
      { text: "x", source: "http://a", original_source: "kept" },
      { content: "x", metadata: { original_source: "kept" } }
    ],
    [
      "as trackers export issues, with a body",
      { number: 7, title: "T", body: "x" },
      { content: "x", title: "T", metadata: { number: 7 } }
    ],
    [
      "whose body is no text",
      { title: "T", body: { a: 1 } },
      { content: "T", title: "T", metadata: { body: { a: 1 } } }
    ],
    ["that is only a title", { _id: "a", title: "T", text: "" }, { record: "a", title: "T", content: "T" }],
    ["with a title that is a number", { text: "x", title: 1984 }, { content: "x", title: "1984" }],
    [
      "with half a character",
      { _id: "\ud800", text: "a\udc00b", k: "\ud800" },
      { record: "\ufffd", content: "a\ufffdb", metadata: { k: "\ufffd" } }
    ]
  ]
  for (const [name, record, expected] of taken)
    it(name, () => assert.deepEqual(load(record) as unknown, document(expected)))

  const refused: ReadonlyArray<readonly [string, string, RegExp]> = [
    ["broken JSON", '{"text": "a"', /^not valid JSON: /],
    ["a list", "[1]", /^a line must be a JSON object, not a list$/],
    ["a number", "1234", /not a number$/],
    ["null", "null", /not null$/],
    ["no text", '{"_id": "a"}', /^no text: there is no string "text", "content" or "body"$/],
    ["a body of another type, and no title", '{"_id": "a", "body": 5}', /^no text: there is no string "text", /],
    ["an empty text", '{"text": " \\n", "title": ""}', /^it holds no text$/],
    ["a text of another type", '{"text": 5}', /^"text" must be a string, not a number$/],
    ["a text that is a list", '{"content": ["a"]}', /^"content" must be a string, not a list$/],
    [
      "an id of another type",
      '{"_id": {"$oid": "a"}, "text": "x"}',
      /^"_id" must be a string or a number, not an object$/
    ],
    ["an empty id", '{"id": "", "text": "x"}', /^"id" must not be empty$/],
    ["an endless id", `{"id": "${"x".repeat(1001)}", "text": "x"}`, /^"id" is longer than 1000 characters$/],
    ["a title of another type", '{"title": ["a"], "text": "x"}', /^"title" must be a string, not a list$/],
    [
      "nesting without end",
      `{"text": "x", "deep": ${"[".repeat(5000)}${"]".repeat(5000)}}`,
      /^is nested deeper than 100 levels$/
    ],
    [
      "metadata that nests too deep",
      `{"text": "x", "deep": ${"[".repeat(80)}${"]".repeat(80)}}`,
      /^metadata is nested more than 64 levels deep$/
    ],
    [
      "a number that would change",
      '{"text": "x", "n": 9007199254740993}',
      /^n: the number 9007199254740993 would change/
    ],
    ["a number that is none", '{"text": "x", "n": [1, 1e999]}', /^n\[1\]: the number 1e999 is too large/],
    [
      "too many keys",
      `{"text": "x", "of": {${Array.from({ length: 1001 }, (_, at) => `"k${at}": 1`).join(",")}}}`,
      /^of: an object has at most 1000 keys$/
    ],
    ["too many values", `{"text": "x", "of": [${"1,".repeat(200_000)}1]}`, /^holds more than 200000 values/]
  ]
  for (const [name, line, reason] of refused) {
    it(`is refused for ${name}`, () => {
      const result = toLoaded(7, line)
      assert.strictEqual(result?._tag, "Rejected")
      if (result?._tag === "Rejected") {
        assert.match(result.reason, reason)
        assert.strictEqual(result.line, 7)
      }
    })
  }

  it("is nothing when blank", () => {
    for (const blank of ["", "\r", " ", " \t  \r"]) assert.isUndefined(toLoaded(1, blank))
  })

  it("keeps a key called __proto__ a key", () => {
    const result = toLoaded(1, '{"text": "x", "__proto__": {"polluted": true}, "metadata": {"__proto__": 1}}')
    assert.deepStrictEqual(
      JSON.stringify(result?._tag === "Loaded" && result.metadata),
      '{"__proto__":{"polluted":true}}'
    )
    assert.isUndefined(({} as { polluted?: boolean }).polluted)
  })

  it.prop("never throws, and its metadata is JSON", [FastCheck.json({ maxDepth: 6 })], ([line]) => {
    const result = toLoaded(1, `{"text": "x", "value": ${line}}`)
    assert.strictEqual(result?._tag, "Loaded")
    // JSON has one zero.
    if (result?._tag === "Loaded")
      assert.strictEqual(JSON.stringify(result.metadata["value"]), JSON.stringify(JSON.parse(line)))
  })
})
