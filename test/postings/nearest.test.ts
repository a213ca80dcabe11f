import * as FastCheck from "effect/FastCheck"
import { assert, it } from "vitest"
import { Nearest } from "../../src/postings/spelling.ts"
import { spelledWords } from "../../src/terms/spelling.ts"
import { termOf } from "../../src/terms/word.ts"

const words = ["configuration", "receive", "socket", "metabolites", "penetrance", "mutating", "крокодил", "Ångström"]

const letter = FastCheck.constantFrom(..."abcdefghijklmnopqrstuvwxyzéя9-".split(""))

/** A word with up to three edits, as its term. */
const edited = FastCheck.record({
  word: FastCheck.constantFrom(...words),
  edits: FastCheck.array(FastCheck.record({ at: FastCheck.nat(12), letter, kind: FastCheck.nat(3) }), { maxLength: 3 })
}).map(({ edits, word }) => {
  const letters = [...word.toLowerCase()]
  for (const { at, kind, letter } of edits) {
    const place = at % letters.length
    if (kind === 0) letters.splice(place, 1)
    else if (kind === 1) letters.splice(place, 0, letter)
    else if (kind === 2) letters[place] = letter
    else letters.splice(place, 2, ...letters.slice(place, place + 2).toReversed())
  }
  return { word, term: termOf(letters.join("")) }
})

it("no term that is similar is passed over for its bytes", () => {
  let similar = 0
  FastCheck.assert(
    FastCheck.property(edited, ({ term, word }) => {
      const [spelled] = spelledWords(word)
      const nearest = new Nearest(spelled!)
      const bytes = Buffer.from(term)
      const mayBe = nearest.mayBe(bytes, bytes.length)
      nearest.see(term, 1)
      if (nearest.best().length === 0) return
      similar++
      assert.isTrue(mayBe, `${term} for ${word}`)
    }),
    { numRuns: 3000 }
  )
  assert.isAbove(similar, 300)
})

it("most other terms are", () => {
  const [spelled] = spelledWords("configuration")
  const nearest = new Nearest(spelled!)
  const others = ["colony", "communicate", "conductivity", "cryptography", "cardiovascular", "c9orf72", "c_sharp"]
  assert.deepStrictEqual(
    others.filter((term) => nearest.mayBe(Buffer.from(term), term.length)),
    []
  )
})
