import { it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assert, describe } from "vitest"
import { chunk } from "../../src/chunking/chunk.ts"
import { Tokenizer } from "../../src/packaged/Tokenizer.ts"
import { assertLaws, countTokens, options, sentences, words } from "./chunkLaws.ts"

const texts = (content: string, size = 64, overlap = 0) =>
  assertLaws(content, options({ size, overlap, format: "text" })).map(({ text }) => text)

describe("chunk, text", () => {
  it("makes one passage of what fits, none of white space", () => {
    assert.deepStrictEqual(texts("  One.\n\nTwo.\n"), ["One.\n\nTwo."])
    for (const blank of ["", " ", "\n\n\t\r\n", "\ufeff\u00a0\u3000"]) assert.deepStrictEqual(texts(blank), [])
  })
  it("has no headings", () => {
    for (const passage of assertLaws(`# A\n\n${words(90)}`, options({ size: 64, format: "text" })))
      assert.deepStrictEqual(passage.heading, [])
  })
  it("cuts between paragraphs before it cuts one", () => {
    const found = texts(Array.from({ length: 6 }, () => sentences(3, 13)).join("\n\n"))
    assert.deepStrictEqual(
      found,
      Array.from({ length: 6 }, () => sentences(3, 13))
    )
  })
  it("cuts a paragraph too large between sentences, whatever the width of its lines", () => {
    const wrapped = sentences(20, 17).replace(/(.{50,60}) /g, "$1\n")
    for (const text of texts(wrapped)) assert.match(text, /^S\d+\s.*\.$/s)
  })
  it("cuts at no full stop that ends no sentence", () => {
    const stops = ["e.g.", "Fig.", "Dr.", "J.", "vs.", "No.", "et al."]
    const sentence = (stop: string, i: number) => `It ${words(6)} ${stop} 7 Bell${i} ${words(6)}.`
    for (const stop of stops)
      for (const text of texts(Array.from({ length: 20 }, (_, i) => sentence(stop, i)).join(" ")))
        assert.match(text, /^It .*word5\.$/s, stop)
  })
  it("cuts at the marks of other scripts", () => {
    const content = "東京は日本の首都である。大阪は商業の町だ！京都へ行きますか？".repeat(30)
    const found = texts(content)
    assert.isAbove(found.length, 3)
    for (const text of found) assert.match(text, /[。！？]$/)
  })
  it("bounds dense scripts by what they say, known or not", () => {
    const found = assertLaws("漢字".repeat(3000), options({ size: 64, format: "text", countTokens: () => 0 }))
    for (const { text } of found) assert.isAtMost(text.length, 128)
  })
  it("cuts lines that stand for themselves at their ends", () => {
    const log = Array.from({ length: 60 }, (_, i) => `2024-01-02 12:00:${i} INFO Started. Listening on ${i}`).join("\n")
    const found = texts(log)
    assert.isAbove(found.length, 3)
    for (const text of found) assert.match(text, /^2024.* on \d+$/s)
  })
  it("cuts a sentence too large between its parts, then its words", () => {
    const clauses = Array.from({ length: 30 }, (_, i) => `C${i} ${words(9)}`).join(", ")
    for (const text of texts(clauses)) assert.match(text, /^C\d+/)
    for (const text of texts(words(500))) assert.match(text, /^word\d+ .* word\d+$/)
  })
  it("cuts a word too long between its characters, and no character", () => {
    const family = "👩‍👩‍👧‍👦"
    for (const text of texts(family.repeat(400))) assert.strictEqual(text.length % family.length, 0)
    for (const text of texts("e\u0301".repeat(2000))) assert.match(text, /^(e\u0301)+$/)
    assert.strictEqual(texts("aB3/".repeat(5000)).join(""), "aB3/".repeat(5000))
  })
  it("keeps a short title with its text", () => {
    const part = (i: number) => `Chapter ${i}\n\n${sentences(3, 15)}`
    const found = texts([0, 1, 2, 3].map(part).join("\n\n"))
    assert.deepStrictEqual(found, [0, 1, 2, 3].map(part))
  })
  it("counts lines that end in any way", () => {
    const content = `one\r\ntwo\rthree\n\nfour ${words(40)}\n\r\nfive ${words(40)}`
    const found = assertLaws(content, options({ size: 48, format: "text" }))
    assert.deepStrictEqual(
      found.map(({ endLine, startLine }) => [startLine, endLine]),
      [
        [1, 5],
        [7, 7]
      ]
    )
  })
})

describe("chunk, overlap", () => {
  const overlaps = (content: string, size = 64, overlap = 20, format: "text" | "markdown" = "text") => {
    const found = assertLaws(content, options({ size, overlap, format }))
    return found.slice(1).map(({ start }, i) => content.slice(start, Math.max(start, found[i]?.end ?? 0)))
  }
  it("repeats whole sentences, as many as the overlap allows", () => {
    for (const text of overlaps(sentences(40, 9))) assert.match(text, /^S\d+ [^S]*\. S\d+ [^S]*\.$/)
  })
  it("repeats none that is longer", () => {
    assert.deepStrictEqual(new Set(overlaps(sentences(40, 25))), new Set([""]))
  })
  it("repeats across paragraphs of one section", () => {
    const found = overlaps(Array.from({ length: 4 }, () => sentences(4, 11)).join("\n\n"))
    assert.deepStrictEqual(
      found,
      found.map(() => `S3 ${words(9)}.`)
    )
    assert.isAbove(found.length, 2)
  })
  it("repeats lines of what is made of lines", () => {
    const log = Array.from({ length: 60 }, (_, i) => `2024-01-02 INFO ${i}`).join("\n")
    for (const text of overlaps(log)) assert.match(text, /^2024.*INFO \d+$/s)
  })
  it("repeats nothing across headings, code, tables or items", () => {
    const blocks = [
      `## B\n\n${sentences(4, 12)}`,
      `\`\`\`\n${words(50)}\n\`\`\``,
      `| a | b |\n|---|---|\n${"| c | d |\n".repeat(8)}`,
      Array.from({ length: 5 }, () => `- ${sentences(2, 8)}`).join("\n")
    ]
    for (const block of blocks)
      assert.deepStrictEqual(
        new Set(overlaps(`# A\n\n${sentences(4, 12)}\n\n${block}`, 64, 20, "markdown")),
        new Set([""]),
        block
      )
  })
  it("is part of the size", () => {
    for (const { text } of chunk(sentences(60, 6), options({ size: 24, overlap: 12, format: "text" })))
      assert.isAtMost(countTokens(text), 24)
  })
})

describe("chunk, with the packaged tokenizer", () => {
  it.effect("keeps within the size in every format", () =>
    Effect.gen(function* () {
      const { count } = yield* (yield* Tokenizer).load
      const content = `# Heat\n\n${sentences(30, 12)}\n\n${"transfermechanism".repeat(80)}\n\n${"東京は日本の首都。".repeat(80)}\n\n\`x\`😀`
      for (const format of ["text", "markdown", "code"] as const) {
        const found = assertLaws(content, options({ size: 128, overlap: 24, format, countTokens: count }))
        assert.isAbove(found.length, 3)
      }
    }).pipe(Effect.provide(Tokenizer.Default))
  )
})
