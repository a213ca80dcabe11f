import { assert } from "vitest"
import type { Passage } from "../../src/model/Passage.ts"
import { chunk, type ChunkOptions } from "../../src/chunking/chunk.ts"
import { frontMatterSpan } from "../../src/chunking/frontMatter.ts"
import { unpadded } from "../../src/chunking/chunk/unit.ts"

/** Words and marks: additive over pieces that white space parts. */
export const countTokens = (text: string): number =>
  text.match(/[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]/gu)?.length ?? 0

export const options = (over: Partial<ChunkOptions> = {}): ChunkOptions => ({
  size: 256,
  overlap: 32,
  format: "markdown",
  countTokens,
  ...over
})

export const words = (n: number, word = "word"): string => Array.from({ length: n }, (_, i) => `${word}${i}`).join(" ")

export const sentences = (n: number, length: number): string =>
  Array.from({ length: n }, (_, i) => `S${i} ${words(length - 2)}.`).join(" ")

const isBlank = (text: string) => text.trim() === ""

/** The line of each offset. */
const linesOf = (content: string): ReadonlyArray<number> =>
  content.split(/(?<=\n|\r(?!\n))/).flatMap((line, i) => Array.from({ length: line.length }, () => i + 1))

const splitsPair = (text: string, at: number): boolean =>
  /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(Math.max(0, at - 1), at + 1))

const codePoint = (text: string): boolean => [...text].length === 1

/** Everything that holds of any document's passages. */
export const assertLaws = (content: string, with_: ChunkOptions): ReadonlyArray<Passage> => {
  const passages = chunk(content, with_)
  assert.deepStrictEqual(chunk(content, with_), passages, "the same again")
  const lines = linesOf(content)
  let covered = with_.format === "markdown" ? (frontMatterSpan(content)?.end ?? 0) : 0
  let before: Passage | undefined
  for (const passage of passages) {
    const { end, endLine, start, startLine, text } = passage
    assert.strictEqual(text, content.slice(start, end), "text is the content at the span")
    assert.isFalse(isBlank(text), "not blank")
    assert.strictEqual(
      with_.format === "code" || with_.format === "data" ? text.trimEnd() : text.trim(),
      text,
      "trimmed"
    )
    assert.isTrue(start <= covered || isBlank(content.slice(covered, start)), `nothing lost before ${start}`)
    if (before !== undefined) {
      assert.isAbove(start, before.start, "starts in order")
      assert.isAbove(end, before.end, "ends in order")
      if (start < before.end)
        assert.isAtMost(
          with_.countTokens(content.slice(start, before.end)),
          with_.overlap,
          "no more overlap than asked for"
        )
    }
    const said = unpadded(text, " ")
    assert.isTrue(
      with_.countTokens(said) <= with_.size || codePoint(text),
      `${with_.countTokens(said)} tokens: ${text}`
    )
    assert.isTrue(said.length <= with_.size * 8 || codePoint(text), `${said.length} characters`)
    assert.strictEqual(startLine, lines[start], "first line")
    assert.strictEqual(endLine, lines[end - 1], "last line")
    assert.isFalse(splitsPair(content, start) || splitsPair(content, end), "a surrogate pair is cut")
    covered = Math.max(covered, end)
    before = passage
  }
  assert.isTrue(isBlank(content.slice(covered)), "nothing lost at the end")
  return passages
}
