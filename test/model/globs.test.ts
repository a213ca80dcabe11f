import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { Globs } from "../../src/model/globs.ts"

/** A glob as a regular expression, which backtracks, but says the same. */
const reference = (glob: string) =>
  new RegExp(
    `^${[...glob].map((c) => (c === "*" ? "[^]*" : c === "?" ? "[^]" : c.replace(/[\\^$.|+()[\]{}]/, "\\$&"))).join("")}$`,
    "u"
  )

const text = FastCheck.array(FastCheck.constantFrom("a", "b", "/", "é", "𝒳", "["), { maxLength: 10 }).map((some) =>
  some.join("")
)
const glob = FastCheck.array(FastCheck.constantFrom("a", "b", "/", "é", "𝒳", "[", "*", "*", "?"), {
  maxLength: 7
}).map((some) => some.join(""))

describe("globs", () => {
  it.prop(
    "match as each of them does alone",
    [FastCheck.array(glob, { maxLength: 6 }), FastCheck.array(text, { minLength: 1, maxLength: 20 })],
    ([patterns, texts]) => {
      const globs = new Globs(patterns)
      const alone = patterns.map(reference)
      for (const text of texts) {
        assert.strictEqual(
          globs.matches(text),
          alone.some((one) => one.test(text)),
          JSON.stringify([patterns, text])
        )
      }
    },
    { fastCheck: { numRuns: 500 } }
  )

  const sources = Array.from(
    { length: 2000 },
    (_, n) => `/home/of/${n % 50}/papers/of-${n % 997}/chapter-${n}-${(n * 7919) % 10_007}.md`
  )
  const characters = sources.reduce((sum, { length }) => sum + length, 0)

  const kinds: Readonly<Record<string, (n: number) => string>> = {
    folders: (n) => `/home/of/${n}/none/*`,
    "parts of a name": (n) => `*chapter-${n}x*`,
    "names below folders": (n) => `*/of-${n}/*-${n}.txt`,
    "many stars": (n) => `*h*o*m*-${n}-*q*`,
    "single characters": (n) => `*/????-${n}/?*.txt`
  }
  for (const [kind, make] of Object.entries(kinds)) {
    it(`that are a thousand ${kind} cost little more than the characters of the texts`, () => {
      const globs = new Globs(
        Array.from({ length: 1000 }, (_, n) => make(n)),
        () => globs.steps > 30 * characters
      )
      // Comparing each glob with each source takes at least a thousand steps for each source, mostly for each character.
      for (const source of sources) assert.isFalse(globs.matches(source))
      assert.isBelow(globs.steps / characters, 10)
    })
  }

  it("give up within a bounded number of steps where nobody waits", () => {
    let asked = 0
    const globs = new Globs(
      Array.from({ length: 1000 }, (_, n) => `*o*f*${n}?`),
      () => ++asked >= 3
    )
    let given = 0
    for (const source of sources) {
      if (globs.matches(source) === undefined) break
      given++
    }
    assert.strictEqual(asked, 3)
    assert.isBelow(given, sources.length)
    assert.isBelow(globs.steps, 4 * 65_536)
  })
})
