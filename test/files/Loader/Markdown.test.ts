import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Markdown from "../../../src/files/Loader/Markdown.ts"
import type { Metadata } from "../../../src/model/Document.ts"
import { loaded, sourceFile } from "../../contracts/FileFormat.ts"

const read = (text: string) =>
  Effect.flatMap(sourceFile("/n/a.md", new TextEncoder().encode(text)), (file) => loaded(Markdown.format, file))

describe("front matter", () => {
  const kept: ReadonlyArray<readonly [string, string, string | undefined, Metadata]> = [
    [
      "of YAML",
      '---\ntitle: "A: b"\ntags: [a, b]\nauthor:\n  name: N\n---\n# H\n',
      "A: b",
      { tags: ["a", "b"], author: { name: "N" } }
    ],
    ["of TOML", '+++\ntitle = "T"\ndraft = false\n[extra]\nn = 1\n+++\ntext', "T", { draft: false, extra: { n: 1 } }],
    [
      "with dates",
      "---\na: 2024-01-05\nb: 2024-01-05 10:00:00 +0200\nc: 2024-01-05 10:00\nd: '2024-01-05 10:00:00Z'\n---\n",
      undefined,
      { a: "2024-01-05", b: "2024-01-05T08:00:00.000Z", c: "2024-01-05T10:00", d: "2024-01-05 10:00:00Z" }
    ],
    [
      "with TOML's dates",
      "+++\na = 2024-01-05\nb = 2024-01-05T10:00:00+02:00\nc = 10:00:00\n+++\n",
      undefined,
      { a: "2024-01-05", b: "2024-01-05T08:00:00.000Z", c: "10:00:00.000" }
    ],
    ["with numbers that JSON has no form for", "---\na: .inf\nb: 1e3\n---\n", undefined, { a: "Infinity", b: 1000 }],
    ["with great numbers in TOML", "+++\na = 9223372036854775807\n+++\n", undefined, { a: "9223372036854775807" }],
    [
      "with great numbers in YAML",
      "---\na: 12345678901234567891\nb: [0x10, -7]\n2: c\n---\n",
      undefined,
      { a: "12345678901234567891", b: [16, -7], 2: "c" }
    ],
    ["with a title that is a number", "---\ntitle: 1984\n---\n", "1984", {}],
    ["with no title", "---\ntitle:\nyes: no\n---\n", undefined, { yes: "no" }],
    [
      "with a source of its own",
      "---\nsource: https://example.org/a\n---\n",
      undefined,
      { original_source: "https://example.org/a" }
    ],
    ["with a key twice: the last", "---\na: 1\na: 2\n---\n", undefined, { a: 2 }],
    ["with anchors", "---\nx: &x {a: 1}\ny:\n  <<: *x\n---\n", undefined, { x: { a: 1 }, y: { a: 1 } }],
    ["with Windows' line ends", "---\r\ntitle: T\r\n---\r\ntext\r\n", "T", {}],
    [
      "with values that go on at the start of a line, as PyYAML and Hugo read them",
      `---\ntitle: "A\nand b: c \\"d\\"\n\ne"\na: 'it''s\nso'\nb: [x,\ny, [z],\nw] # end\nc:\n  - d: {e: 1,\n"f": 2}\ng: |\n  h: "i\n  j"\n---\ntext`,
      'A and b: c "d"\ne',
      { a: "it's so", b: ["x", "y", ["z"], "w"], c: [{ d: { e: 1, f: 2 } }], g: 'h: "i\nj"\n' }
    ],
    ["so on Windows", '---\r\ntitle: "A\r\nb"\r\n---\r\ntext', "A b", {}],
    ["that is empty", "---\n---\ntext", undefined, {}],
    ["that is not there", "# Heading\n\n---\na: 1\n---\n", undefined, {}],
    ["that never closes", "---\ntitle: T\n\ntext", undefined, {}],
    ["that is prose between rules", "---\nSome prose.\n\n---\nMore.\n", undefined, {}]
  ]
  for (const [name, text, title, metadata] of kept) {
    it.effect(name, () =>
      Effect.gen(function* () {
        assert.deepEqual(yield* read(text), [{ _tag: "Loaded", content: text, format: "markdown", title, metadata }])
      })
    )
  }

  const broken: ReadonlyArray<readonly [string, string, number, RegExp, string | undefined, Metadata]> = [
    [
      "a colon in the title",
      "---\ntags: [a]\nyear: 2020\ntitle: Clew: the thread\n---\ntext",
      4,
      /^front matter \(yaml\): .*[Nn]ested mappings/,
      "Clew: the thread",
      { year: "2020" }
    ],
    [
      "a list that does not close",
      "---\ntitle: 'T'\ntags: [a, b\nx: 1\n---\ntext",
      4,
      /^front matter \(yaml\): /,
      "T",
      { x: "1" }
    ],
    [
      "an alias of nothing",
      "---\ntitle: T\nignore: *.md\nweight: 4\n---\ntext",
      3,
      /^front matter \(yaml\): Unresolved alias/,
      "T",
      { weight: "4" }
    ],
    ["broken TOML", '+++\ntitle = "T"\nbroken = = 1\n+++\ntext', 3, /^front matter \(toml\): /, undefined, {}],
    ["a title that is a list", "---\ntitle: [a]\nb: 1\n---\n", 2, /title is not a text/, undefined, { b: 1 }],
    [
      "aliases without end",
      `---\na: &a [${"x,".repeat(9)}x]\nb: &b [${"*a,".repeat(9)}*a]\nc: &c [${"*b,".repeat(9)}*b]\nd: [${"*c,".repeat(9)}*c]\n---\n`,
      2,
      /alias count/,
      undefined,
      {}
    ],
    [
      "nesting without end",
      `---\na: ${"[".repeat(100)}${"]".repeat(100)}\n---\n`,
      2,
      /nested more than 64 levels/,
      undefined,
      {}
    ]
  ]
  for (const [name, text, line, reason, title, metadata] of broken) {
    it.effect(`is reported with its line, and the text read, for ${name}`, () =>
      Effect.gen(function* () {
        const [problem, document, ...more] = yield* read(text)
        assert.deepStrictEqual(more, [])
        assert.deepEqual(document, { _tag: "Loaded", content: text, format: "markdown", title, metadata })
        assert.deepInclude(problem, { _tag: "Rejected", line })
        if (problem?._tag === "Rejected") assert.match(problem.reason, reason)
      })
    )
  }
})
