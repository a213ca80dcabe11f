import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { hasOperators, positiveWords, queryParts } from "../../src/terms/operators.ts"

const kinds = (query: string) => queryParts(query).map((part) => [part.kind, part.written])

describe("queryParts", () => {
  it("reads quotes, dashes and fields", () => {
    assert.deepStrictEqual(
      kinds('tides "spring tide", -moon title:sea -path:old/ author:"Ada Lovelace" \u201cneap tide\u201d'),
      [
        ["word", "tides"],
        ["phrase", '"spring tide"'],
        ["word", ","],
        ["without", "-moon"],
        ["field", "title:sea"],
        ["field", "-path:old/"],
        ["field", 'author:"Ada Lovelace"'],
        ["phrase", "\u201cneap tide\u201d"]
      ]
    )
    assert.deepStrictEqual(queryParts("sea -title:moon.").at(-1), {
      kind: "field",
      field: "title",
      value: "moon",
      negated: true,
      written: "-title:moon."
    })
  })

  it.each([
    "C++ -O2",
    "gcc -Wall -O2 -o out",
    "how does --no-verify differ from -n",
    "-draft reports",
    "git push -u",
    "-S<string> pickaxe",
    "a - b",
    "x -5",
    "http://x:80",
    "key: value",
    "std::vector",
    String.raw`C:\temp and D:\x`,
    "see file:///etc/hosts",
    'a lone " quote',
    '12" nails and 3" screws',
    '"" and "-"',
    'f("x")',
    'name="my value"',
    "it's 'single'",
    `Error: cannot open "a b"\n  at line 1`,
    `"quoted" ${"very ".repeat(60)}long`,
    "state-of-the-art rock-n-roll",
    "什么是 -"
  ])("leaves %s to be words", (query) => {
    assert.isFalse(hasOperators(queryParts(query)), query)
    assert.strictEqual(positiveWords(queryParts(query)).replace(/\s+/g, ""), query.replace(/\s+/g, ""))
  })

  it.each([
    ["tides -moon", "tides"],
    ['"spring tide" -moon', "spring tide"],
    ["title:sea", "sea"],
    ["title:sea tides", "tides"],
    ["x -moon", "x"],
    ["潮 -月亮", "潮"],
    ["-path:old -moon", "-path:old -moon"]
  ])("looks for the words of %s", (query, words) => {
    assert.strictEqual(positiveWords(queryParts(query)), words)
  })

  it("loses nothing of any text", () => {
    const bits = FastCheck.constantFrom(
      '"',
      "-",
      ":",
      " ",
      "a",
      "word",
      "title:",
      "\u201c",
      "\u201d",
      "(",
      "\n",
      "--x",
      "字"
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.array(bits, { maxLength: 60 }), (some) => {
        const query = some.join("")
        const parts = queryParts(query)
        assert.strictEqual(
          parts
            .map(({ written }) => written)
            .join("")
            .replace(/\s/g, ""),
          query.replace(/\s/g, "")
        )
        for (const part of parts) if (part.kind !== "word") assert.match(part.value, /[\p{L}\p{N}]/u)
      })
    )
  })
})
