import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { widthOf, wrapStream } from "../../src/cli/wrap.ts"

const streamed = (text: string, width: number, cuts: ReadonlyArray<number>): string => {
  const { end, push } = wrapStream(width)
  const places = [...new Set([0, ...cuts.map((cut) => cut % (text.length + 1)), text.length])].sort((a, b) => a - b)
  return places.map((place, i) => push(text.slice(place, places[i + 1] ?? place))).join("") + end()
}

const answers = FastCheck.array(
  FastCheck.oneof(
    FastCheck.stringMatching(/^[a-z[\]0-9.,]{1,14}$/),
    FastCheck.constantFrom(" ", "  ", "\n", "\n\n", "- ", "潮が満ちる", "「", "한국어")
  )
)

describe("an answer at a terminal", () => {
  it.prop(
    "is wrapped the same however it comes in pieces, with no word broken or lost",
    { parts: answers, cuts: FastCheck.array(FastCheck.nat()), width: FastCheck.constantFrom(20, 60, 80) },
    ({ cuts, parts, width }) => {
      const text = parts.join(" ")
      const shown = streamed(text, width, cuts)
      assert.strictEqual(shown, streamed(text, width, []))
      assert.strictEqual(shown.replace(/\s+/g, ""), text.replace(/\s+/g, ""))
      // Words of scripts that have blanks stay whole.
      const words = (of: string) => of.match(/[a-z[\]0-9.,]+/g) ?? []
      assert.deepStrictEqual(words(shown), words(text))
      for (const line of shown.split("\n")) {
        // A word stays behind the answer's own blanks, though they leave no room for it.
        const [first = ""] = /^ +\S+/.exec(line) ?? []
        assert.isAtMost(widthOf(line.trimEnd()), Math.max(width, widthOf(first)), line)
      }
    }
  )

  it("shows each word as soon as the next begins, and keeps the answer's own lines", () => {
    const { end, push } = wrapStream(20)
    assert.strictEqual(push("The ti"), "The")
    assert.strictEqual(push("de rises "), " tide rises")
    assert.strictEqual(push("twice"), "")
    assert.strictEqual(push(" a day.\n\n- it"), " twice\na day.\n\n-")
    assert.strictEqual(end(), " it")
    assert.strictEqual(end(), "")
  })
})
