import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { beginningsOf, scan, scanFor } from "../../src/terms/scan.ts"

/** The terms of a text that are in `wanted`; `isWhole`: of all its terms. */
const among = (text: string, wanted: ReadonlySet<string>, isWhole: boolean) => {
  const found: Array<readonly [string, number]> = []
  const emit = (term: string, start: number) => {
    if (wanted.has(term)) found.push([term, start])
  }
  if (isWhole) scan(text, emit)
  else scanFor(beginningsOf(wanted), text, emit)
  return found
}

const awkward = FastCheck.constantFrom(
  ..."dying die lying lie tying tie aed aing as ties skies idly C++ c# .NET U.S.A. don't we'll getUser RNAs 1,234 1.2.3".split(
    " "
  ),
  ..."v1.2 naïve Ünal 東京 x y A a AI by cry sky e-mail over/under foo_bar user@host ﬁne 🦓".split(" ")
)
const word = FastCheck.oneof(
  awkward,
  FastCheck.stringMatching(/^[a-z]{1,9}$/),
  FastCheck.stringMatching(/^[A-Za-z0-9]{1,6}$/),
  FastCheck.stringMatching(/^[a-z]{1,6}(?:ing|ed|ies|s|ly)$/),
  FastCheck.string({ maxLength: 4 })
)
const text = FastCheck.array(
  FastCheck.tuple(word, FastCheck.constantFrom(" ", ". ", ", ", "-", "\n", "'", "", "+", "/", ":", "::", "->"))
)

describe("scan", () => {
  it.prop(
    "finds the same wanted terms if it leaves out words that begin otherwise",
    [text, text],
    ([words, others]) => {
      const passage = words.flat().join("")
      const wanted = new Set<string>()
      scan(others.concat(words.slice(0, 3)).flat().join(""), (term) => wanted.add(term))
      assert.deepStrictEqual(among(passage, wanted, false), among(passage, wanted, true))
    }
  )

  it("leaves out what begins otherwise, so that a passage is judged quickly", () => {
    const emitted: Array<string> = []
    scanFor(beginningsOf(["tide"]), "The spring tide and the neap tide", (term) => emitted.push(term))
    assert.deepStrictEqual(emitted, ["tide", "tide"])
  })

  it("finds wanted terms in texts of any length, each after a longer one", () => {
    const wanted = new Set(["tide", "neap", "naïv", "naiv"])
    for (const times of [2000, 120, 1]) {
      const long = `${"The spring-tide, naïve. ".repeat(times)}neap`
      assert.deepStrictEqual(among(long, wanted, false), among(long, wanted, true))
      assert.isAbove(among(long, wanted, false).length, times)
    }
  })
})
