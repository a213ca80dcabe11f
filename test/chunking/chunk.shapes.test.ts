import { setImmediate } from "node:timers/promises"
import { assert, describe, it } from "vitest"
import { chunk } from "../../src/chunking/chunk.ts"
import { options } from "./chunkLaws.ts"

const staircase = (step: string): string => {
  let text = ""
  for (let depth = 0; text.length < 100_000; depth++) text += `${"  ".repeat(depth % 500)}${step}\n`
  return text
}

/** Shapes that cost too much where work is done twice over. */
const shapes: Readonly<Record<string, string>> = {
  "a word": "a".repeat(1e5),
  "a line": "word ".repeat(2e4),
  "white space": `a${" ".repeat(1e5)}b${"\n".repeat(1e5)}c`,
  "carriage returns": "a\r".repeat(1e5),
  headings: "# a\n".repeat(2e4),
  "headings of brackets": `# ${"[".repeat(200)}\n`.repeat(300),
  "nested items": staircase("- x"),
  "nested blocks": staircase("def f(): {"),
  brackets: "[".repeat(1e5),
  backticks: "`\n".repeat(2e4),
  comments: "/* <!-- ".repeat(1e4),
  "here-documents": Array.from({ length: 2e4 }, (_, i) => `x <<E${i}`).join("\n"),
  tables: "x\na|b\n-|-\n".repeat(2e4),
  marks: `a${"\u0300".repeat(7e4)}`,
  "halves of pairs": "\ud83d".repeat(7e4),
  "full stops": "A. ".repeat(2e4),
  colons: `f()${":".repeat(300)}\n`.repeat(500),
  words: `${"a ".repeat(300)}\n`.repeat(500)
}

describe("chunk, of what is large and odd", () => {
  for (const [name, content] of Object.entries(shapes))
    it(
      name,
      async () => {
        for (const [format, language] of [
          ["text", "txt"],
          ["markdown", "md"],
          ["code", "ts"],
          ["code", "sh"]
        ] as const) {
          // The runner is to hear of us between.
          await setImmediate()
          const started = process.cpuUsage().user
          const found = chunk(content, options({ format, language, countTokens: (text) => text.length / 5 }))
          assert.isAbove(found.length, 0)
          // A tenth of this is enough, on a slow machine too.
          assert.isBelow((process.cpuUsage().user - started) / 1e6, 4, `${format} ${language}`)
        }
      },
      120_000
    )
})
