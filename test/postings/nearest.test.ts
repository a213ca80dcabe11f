import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { assert, it } from "vitest"
import { Arena } from "../../src/postings/Arena.ts"
import { BlockWriter } from "../../src/postings/block.ts"
import { ByteWriter, writePosting } from "../../src/postings/bytes.ts"
import { Nearest, showBlock } from "../../src/postings/spelling.ts"
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

/** The terms of a block that are shown to a word. */
const shown = ({ similar }: Nearest, terms: ReadonlyArray<string>) => {
  const writer = new BlockWriter()
  for (const term of terms.map((each) => Buffer.from(each)).toSorted(Buffer.compare)) {
    const postings = new ByteWriter()
    writePosting(postings, -1, 0, 0, 0, 1)
    writer.add(term, term.length, 1, 0, postings)
  }
  writer.close()
  const seen: Array<string> = []
  const word = { similar, see: (term: string) => void seen.push(term) }
  const show = (arena: Arena) => Effect.sync(() => writer.blocks.forEach(({ data }) => showBlock(arena, word, data)))
  Effect.runSync(Arena.using(show))
  return seen
}

it("no term that is similar is passed over for its bytes", () => {
  let similar = 0
  FastCheck.assert(
    FastCheck.property(edited, ({ term, word }) => {
      const nearest = new Nearest(spelledWords(word)[0]!)
      nearest.see(term, 1)
      if (nearest.best().length === 0) return
      similar++
      // Among others, whose bytes it shares.
      const others = [term.slice(0, 2), `${term}x`, `${term.slice(0, -1)}zz`, "zz"]
      assert.include(shown(nearest, [...new Set([term, ...others])]), term, `${term} for ${word}`)
    }),
    { numRuns: 1000 }
  )
  assert.isAbove(similar, 100)
})

it("most other terms are", () => {
  const others = ["colony", "communicate", "conductivity", "cryptography", "cardiovascular", "c9orf72", "c_sharp"]
  const nearest = new Nearest(spelledWords("configuration")[0]!)
  assert.deepStrictEqual(shown(nearest, [...others, "configur"]), ["configur"])
})
