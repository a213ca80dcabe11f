import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { BlockWriter } from "../../src/postings/block.ts"
import { type KeywordRow, buildSegment } from "../../src/postings/build.ts"
import { ByteWriter, writePosting } from "../../src/postings/bytes.ts"
import { learned } from "../../src/terms/stemmers.ts"
import { terms } from "../../src/terms/terms.ts"

const fields = ["title", "heading", "text"] as const

/** The same, from the scanner's terms, without the kernel. */
const reference = (rows: ReadonlyArray<KeywordRow>) => {
  const postings = new Map<string, Map<number, [number, number, number]>>()
  const lengths = rows.map((row, ordinal) => {
    let length = 0
    for (const [at, field] of fields.entries()) {
      for (const term of terms(row[field], row.language)) {
        // Unpaired surrogates become U+FFFD, as in SQLite.
        const key = Buffer.from(term).toString()
        const its = postings.get(key) ?? new Map<number, [number, number, number]>()
        const frequencies = its.get(ordinal) ?? [0, 0, 0]
        frequencies[at]!++
        postings.set(key, its.set(ordinal, frequencies))
        length++
      }
    }
    return length
  })
  const writer = new BlockWriter()
  const sorted = [...postings].map(([term, its]) => [Buffer.from(term), its] as const)
  for (const [term, its] of sorted.toSorted(([a], [b]) => Buffer.compare(a, b))) {
    const out = new ByteWriter()
    let previous = -1
    for (const [ordinal, [title, heading, text]] of its) {
      writePosting(out, previous, ordinal, title, heading, text)
      previous = ordinal
    }
    writer.add(term, term.length, its.size, previous, out)
  }
  writer.close()
  return { lengths, blocks: writer.blocks, firsts: writer.blocks.map(({ first }) => first) }
}

const made = (rows: ReadonlyArray<KeywordRow>) => {
  const { blocks, firsts, lengths } = buildSegment(rows)
  return { lengths: [...lengths], blocks, firsts }
}

const numbered = (texts: ReadonlyArray<Partial<KeywordRow>>): ReadonlyArray<KeywordRow> =>
  texts.map((text, index) => ({ title: "", heading: "", text: "", ...text, id: index + 1 }))

/** Pieces that the kernel leaves to the scanner, and those it takes for others if it is careless. */
const piece = FastCheck.oneof(
  FastCheck.constantFrom(
    ..."the cell Cell T-cell don't it's U.S.A. e.g. .NET .5 3.14 1,000 1,00 v1.2.3 C++ C# C c+ a+b".split(" ")
  ),
  FastCheck.constantFrom(
    ..."get_user getUser RNAs a/b/c me@b.org \u00e9t\u00e9 e\u0301te\u0301 Gr\u00f6\u00dfe \u2019s it\u2019s n\u2019 - \u2010 na\u00efve \u03b2-cell".split(
      " "
    )
  ),
  FastCheck.constantFrom(
    "\u6f22\u5b57\u3068",
    "\ud55c\uae00",
    "\u{20000}\u{20001}",
    "\u{1f680}",
    "\ud83d",
    "\udc00x",
    "\u0000",
    "\u00ad",
    "\u200d",
    "\u{1d518}"
  ),
  FastCheck.constantFrom("w".repeat(40), "w".repeat(41), "w".repeat(300), "a-".repeat(70), "1.".repeat(9), "x.y,"),
  FastCheck.string({ maxLength: 12 }),
  FastCheck.string({ unit: "binary", maxLength: 12 })
)

const text = FastCheck.array(
  FastCheck.tuple(piece, FastCheck.constantFrom(" ", " ", "", ".", ", ", "\n", "-", "/", "::", "->")),
  {
    maxLength: 40
  }
).map((parts) => parts.flat().join(""))

const row = FastCheck.record({
  title: FastCheck.oneof(FastCheck.constant("The same title"), text),
  heading: text,
  text,
  language: FastCheck.constantFrom(undefined, "en" as const, "de" as const)
})

describe("a segment", () => {
  it.effect("has the scanner's terms, in any text and language", () =>
    Effect.gen(function* () {
      yield* learned(["de"])
      FastCheck.assert(
        FastCheck.property(FastCheck.array(row, { maxLength: 12 }), (texts) => {
          const rows = numbered(texts)
          assert.deepStrictEqual(made(rows), reference(rows))
        }),
        { numRuns: 300 }
      )
    })
  )

  it("is the same after other segments", () => {
    const rows = numbered([{ text: "alpha beta alpha" }, { title: "beta", text: "gamma alpha" }])
    const before = made(rows)
    made(numbered([{ text: "beta delta" }]))
    assert.deepStrictEqual(made(rows), before)
  })

  it("keeps its terms when there are more than the kernel remembers, in one segment and over several", () => {
    const words = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => `w${(from + index).toString(36)}x`).join(" ")
    const one = numbered([{ text: words(0, 40_000) }, { text: words(20_000, 60_000) }])
    assert.deepStrictEqual(made(one), reference(one))
    for (let from = 0; from < 4; from++) {
      const next = numbered([{ text: `same ${words(from * 30_000, 30_000)}` }])
      assert.deepStrictEqual(made(next), reference(next))
    }
  })

  it("splits blocks where the writer of merges does, also around terms with many postings", () => {
    const rows = numbered(
      Array.from({ length: 9000 }, (_, index) => ({
        title: index % 3 === 0 ? "often ".repeat(1 + (index % 7)) : "",
        heading: index % 5 === 0 ? "often often often often" : "",
        text: `often common ${index % 1000} w${index} ${"often ".repeat(index % 11)}`
      }))
    )
    assert.deepStrictEqual(made(rows), reference(rows))
  })

  it("has no block without terms", () => {
    assert.deepStrictEqual(made(numbered([{ text: "" }, { text: "-- \u00ad --" }])), {
      lengths: [0, 0],
      blocks: [],
      firsts: []
    })
    assert.deepStrictEqual(made([]), { lengths: [], blocks: [], firsts: [] })
  })
})
