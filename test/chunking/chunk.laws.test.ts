import { it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { readFileSync } from "node:fs"
import { assert, describe } from "vitest"
import type { Format } from "../../src/model/Document.ts"
import { assertLaws, options } from "./chunkLaws.ts"

const word = FastCheck.constantFrom(
  ..."the of flow Boundary layer. heat? transfer! e.g. Fig. 2 et al. (2003) a, 1.5 foo.bar() snake_case `code` **bold** [a](b) naïve 東京都 は。 ok".split(
    " "
  )
)
const sentence = FastCheck.array(word, { minLength: 1, maxLength: 25 }).map((words) => words.join(" "))
const prose = FastCheck.array(sentence, { minLength: 1, maxLength: 8 }).chain((sentences) =>
  FastCheck.constantFrom(". ", ".\n", "\n", ", ").map((joint) => sentences.join(joint))
)
const newline = FastCheck.constantFrom("\n", "\r\n", "\r")
const fence = FastCheck.array(FastCheck.constantFrom("x = f(1)", "  # no heading", "", "    return {", "}"), {
  maxLength: 40
}).map((lines) => ["```js", ...lines, "```"].join("\n"))
const table = FastCheck.array(FastCheck.constantFrom("| a | b |", "| 1 |"), { maxLength: 40 }).map((rows) =>
  ["| h | i |", "|---|---|", ...rows].join("\n")
)
const list = FastCheck.array(FastCheck.tuple(FastCheck.nat(6), sentence), { minLength: 1, maxLength: 20 }).map(
  (items) => items.map(([depth, text]) => `${"  ".repeat(depth)}- ${text}`).join("\n")
)
const block = FastCheck.oneof(
  { weight: 4, arbitrary: prose },
  FastCheck.tuple(FastCheck.integer({ min: 1, max: 7 }), sentence).map(([n, text]) => `${"#".repeat(n)} ${text} #`),
  FastCheck.tuple(sentence, FastCheck.constantFrom("===", "---")).map((lines) => lines.join("\n")),
  fence,
  table,
  list,
  prose.map((text) => text.replace(/^/gm, "> ")),
  FastCheck.constantFrom("---", "***", "    indented code", "<div>", "<!-- # not\n\n# this -->", "```", "\t- x", "#")
)
const markdown = FastCheck.tuple(
  FastCheck.constantFrom("", "---\ntitle: A\n---\n", "+++\na = 1\n+++\n", "---\n", "\ufeff"),
  FastCheck.array(block, { maxLength: 16 }),
  FastCheck.constantFrom("\n", "\n\n", "\n \n\n"),
  newline
).map(([head, blocks, joint, newline]) => (head + blocks.join(joint)).replaceAll("\n", newline))

const soup = FastCheck.string({
  unit: FastCheck.oneof(
    FastCheck.constantFrom(..."a b Z 9 . ! ? , # - * > | ` ~ < / = : { } ( ) [ ] \" '".split(" ")),
    FastCheck.constantFrom(
      " ",
      " ",
      "\n",
      "\n",
      "\r",
      "\r\n",
      "\t",
      "\f",
      "\u0085",
      "\u2028",
      "\u00a0",
      "\u200b",
      "\0"
    ),
    FastCheck.constantFrom("é", "e\u0301", "👩‍👩‍👧", "🇩🇪", "\ud83d", "\udc00", "漢", "한", "ก", "\u0300", "\ufeff", "𠀀"),
    FastCheck.string({ unit: "grapheme", minLength: 1, maxLength: 3 })
  ),
  maxLength: 600
})

const line = FastCheck.constantFrom(
  "import { a } from 'b'",
  "export class Store {",
  "put(key) {",
  "return `x",
  "}",
  "",
  "",
  "def f(x):",
  '"""doc',
  "@decorator",
  "// comment",
  "# comment",
  "/* open",
  "*/",
  "const x = 1",
  "if (a) {",
  "} else {",
  "func (s *S) Put() {",
  "x = <<EOF",
  "EOF",
  "case 1:",
  "int",
  "main(void)",
  "{"
)
const code = FastCheck.array(FastCheck.tuple(FastCheck.nat(8), line), { maxLength: 120 }).chain((lines) =>
  newline.map((newline) => lines.map(([depth, text]) => "  ".repeat(depth) + text).join(newline))
)

const setting = FastCheck.constantFrom([256, 32], [64, 8], [40, 39], [20, 6], [8, 2], [3, 1], [1, 0], [64, 0])
const format = FastCheck.constantFrom<Format>("text", "markdown", "code")
const language = FastCheck.constantFrom("ts", "py", "go", "c", "sh", "sql", "yaml", "md", undefined)

const holds =
  (format: Format) =>
  ([content, [size = 1, overlap = 0], language]: readonly [
    string,
    ReadonlyArray<number>,
    string | undefined
  ]): void => {
    assertLaws(content, options({ size, overlap, format, language }))
  }

const runs = (numRuns: number) => ({
  fastCheck: { numRuns: numRuns * Number(process.env["CHUNK_RUNS"] ?? 1) },
  timeout: 600_000
})

describe("chunk, of anything", () => {
  it.prop("Markdown", [markdown, setting, language], holds("markdown"), runs(100))
  it.prop("Markdown as text", [markdown, setting, language], holds("text"), runs(50))
  it.prop("code", [code, setting, language], holds("code"), runs(300))
  it.prop(
    "any characters in any format",
    [soup, setting, language, format],
    ([content, setting, language, format]) => holds(format)([content, setting, language]),
    runs(400)
  )
  it.prop(
    "words unbroken",
    [
      FastCheck.string({ unit: FastCheck.constantFrom("a", ".", "漢", "👍🏽", "e\u0301", ";"), maxLength: 900 }),
      setting,
      format
    ],
    ([content, setting, format]) => holds(format)([content, setting, undefined]),
    runs(150)
  )
  it.prop(
    "a counter that knows none of it",
    [markdown, format],
    ([content, format]) => {
      assertLaws(content, options({ size: 10, overlap: 3, format, countTokens: () => 0 }))
    },
    runs(60)
  )
  it.prop(
    "a counter whose counts add up only where white space parts them",
    [
      FastCheck.oneof(
        soup,
        prose,
        prose.map((text) => text.replace(/ /g, ""))
      ),
      format
    ],
    ([content, format]) => {
      const count = (text: string) =>
        (text.match(/\S+/g) ?? []).reduce((sum, word) => sum + Math.ceil(word.length ** 1.7 / 20), 0)
      assertLaws(content, options({ size: 40, overlap: 12, format, countTokens: count }))
    },
    runs(200)
  )
  it.prop(
    "a counter of characters",
    [soup, format],
    ([content, format]) => {
      const count = (text: string) => text.replace(/\s/g, "").length * 2
      assertLaws(content, options({ size: 24, overlap: 0, format, countTokens: count }))
    },
    runs(100)
  )
})

/** Real documents: the project's own files, and those that its dependencies bring. */
const documents: ReadonlyArray<readonly [path: string, format: Format]> = [
  ["README.md", "markdown"],
  ["node_modules/picomatch/README.md", "markdown"],
  ["node_modules/typescript/NOTICE.txt", "text"],
  ["node_modules/effect/src/Cron.ts", "code"],
  ["node_modules/better-sqlite3/src/addon.cpp", "code"],
  ["node_modules/better-sqlite3/deps/download.sh", "code"],
  ["package.json", "code"]
]

describe("chunk, of real documents", () => {
  for (const [path, format] of documents)
    for (const [size, overlap] of [
      [256, 32],
      [50, 15]
    ] as const)
      it(`${path}, ${size}/${overlap}`, () => {
        const content = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8")
        const language = path.split(".").at(-1)
        for (const as of [format, "text"] as const)
          assert.isAbove(assertLaws(content, options({ size, overlap, format: as, language })).length, 1)
      })
})
