import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { createHash } from "node:crypto"
import { derivingId, drafting, fingerprinting } from "../../src/Indexer/drafting.ts"
import { formatOf, judgingFormat, lineStretches, stretches } from "../../src/chunking/format.ts"
import { withoutPause } from "../../src/model/withoutPause.ts"
import type { Steps } from "../../src/runtime/EventLoop.ts"

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")

const stepsOf = (steps: Steps<unknown>): number => {
  let count = 0
  while (steps.next().done !== true) count++
  return count
}

/** Around where one piece ends and the next begins. */
const long = FastCheck.tuple(FastCheck.integer({ min: 65_530, max: 65_540 }), FastCheck.string({ unit: "binary" })).map(
  ([length, end]) => `${"a".repeat(length)}${end}"\\🧵🧵🧵\n`.repeat(2)
)

describe("what a document is known by", () => {
  it.prop("is as if it were hashed in one piece", { content: long, source: FastCheck.string() }, (given) => {
    const { content, source } = given
    assert.strictEqual(
      withoutPause(fingerprinting(["1/2", "text", "", { b: 1, a: 2 }], content)),
      sha256(JSON.stringify(["1/2", "text", "", { a: 2, b: 1 }, content]))
    )
    assert.strictEqual(withoutPause(derivingId({ content })), sha256(`content:${content}`).slice(0, 32))
    assert.strictEqual(withoutPause(derivingId({ content, source })), sha256(`source:${source}`).slice(0, 32))
    assert.strictEqual([...stretches(content)].join(""), content)
    assert.strictEqual([...lineStretches(content)].join(""), content)
  })

  it("tells a page from one of the same text on other lines", () => {
    const of = (line: number) => withoutPause(drafting({ content: "a", metadata: {}, marks: [{ start: 0, line }] }, ""))
    assert.notStrictEqual(of(1).fingerprint, of(2).fingerprint)
  })

  // A document of 31 MB held up everybody else for half a second.
  it("takes many steps for a long document", () => {
    const content = "A line of text.\n".repeat(60_000)
    assert.isAbove(stepsOf(fingerprinting(["text"], content)), 10)
    assert.isAbove(stepsOf(derivingId({ content })), 10)
    assert.isAbove(stepsOf(judgingFormat(undefined, content)), 10)
    assert.strictEqual(formatOf(undefined, content), "text")
    assert.strictEqual(formatOf(undefined, `${content}# Heading\n`), "markdown")
  })

  it("is Markdown in Elixir's notebooks and cheat sheets", () => {
    assert.deepStrictEqual([formatOf("a.livemd", "# A"), formatOf("a.cheatmd", "# A")], ["markdown", "markdown"])
  })

  it("is reStructuredText in a .txt with a title and anything else of it, and text otherwise", () => {
    const title = "Utilities\n=========\n\n"
    for (const sign of [".. _top:", ".. note:: Beware.", "See :func:`strip`.", "Like this::"]) {
      assert.strictEqual(formatOf("utils.txt", `${title}Words.\n\n${sign}\n`), "rst", sign)
      assert.strictEqual(formatOf("utils.txt", `Words.\n\n${sign}\n`), "text", sign)
    }
    for (const text of [`${title}Words.`, "A title that is longer\n====\n\nLike this::", "| a |\n======\n  x\n"]) {
      assert.strictEqual(formatOf("notes.txt", text), "text", text)
    }
  })
})
