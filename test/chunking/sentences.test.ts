import { assert, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import { endOfAscii } from "../../src/chunking/sentences.ts"

const segmenter = new Intl.Segmenter("en", { granularity: "sentence" })

/** Characters that the rules for the ends of sentences tell apart, the decisive ones more often. */
const characters = [..."aB1.!?,-:;()\"'[]{}\t\v\f$_\0\x7f", ..."..   xY"]

const texts = fc.array(fc.constantFrom(...characters), { maxLength: 14 }).map((parts) => parts.join(""))

it("finds the ends of sentences in ASCII as Intl.Segmenter does", () => {
  fc.assert(
    fc.property(texts, (text) => {
      const ends: Array<number> = []
      for (let at = 0; at < text.length;) ends.push((at = endOfAscii(text, at)))
      const expected = Array.from(segmenter.segment(text), ({ index, segment }) => index + segment.length)
      assert.deepStrictEqual(ends, expected)
    }),
    { numRuns: 20_000 }
  )
})
