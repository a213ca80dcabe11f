import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { bestExcerpt, highlighter } from "../../src/citations/highlight.ts"
import type { TextSpan } from "../../src/model/Passage.ts"
import { learned } from "../../src/terms/stemmers.ts"
import { splitQuery, terms } from "../../src/terms/terms.ts"

const words = (text: string, query: string): ReadonlyArray<string> =>
  highlighter(query)(text).map(({ end, start }) => text.slice(start, end))

describe("highlight", () => {
  const cases: ReadonlyArray<readonly [string, string, ReadonlyArray<string>]> = [
    ["The runner runs; running is fun.", "run", ["runs", "running"]],
    ["Cafés in Łódź", "cafe lodz", ["Cafés", "Łódź"]],
    ["getUserName(id)", "user", ["User"]],
    ["getUserName(id)", "user name", ["UserName"]],
    ["getUserName(id)", "get_user_name", ["getUserName"]],
    ["a user has a name", "getUserName", ["user", "name"]],
    ["v1.2.3 and v1.2.4", "1.2.3", ["v1.2.3", "v1.2.4"]],
    ["C and C++", "C++", ["C++"]],
    ["C and C++", "c", ["C"]],
    ["the dog's bone", "dogs", ["dog"]],
    ["src/text/chunk.ts", "chunk.ts", ["chunk.ts"]],
    ["東京都に行く", "東京都", ["東京都"]],
    ["東京都に行く", "行く", ["行く"]],
    ["香水、水道", "水", ["水", "水"]],
    ["ｶﾞｷﾞ", "ガ", ["ｶﾞ"]],
    ["the cat sat on the mat", "the cat", ["cat"]],
    ["to be or not to be", "to be", ["to", "be", "to", "be"]],
    ["nothing here", "else", []],
    ["", "word", []],
    ["word", '"*(', []]
  ]
  for (const [text, query, expected] of cases) {
    it(`${JSON.stringify(query)} in ${JSON.stringify(text)}`, () =>
      assert.deepStrictEqual(words(text, query), expected))
  }

  it("can be used for many texts", () => {
    const find = highlighter("水 dog")
    assert.deepStrictEqual(find("dogs 水"), [
      { start: 0, end: 4 },
      { start: 5, end: 6 }
    ])
    assert.deepStrictEqual(find("no"), [])
    assert.deepStrictEqual(find("水"), [{ start: 0, end: 1 }])
  })

  const vocabulary = FastCheck.constantFrom(
    "getUser",
    "user",
    "v1.2",
    "dogs",
    "c++",
    "漢字",
    "水",
    "the",
    "é",
    ". ",
    "-",
    " "
  )
  const text = FastCheck.array(vocabulary, { maxLength: 20 }).map((parts) => parts.join(""))

  it.prop("gives spans in order, apart, within the text and not empty", [text, text], ([passage, query]) => {
    let last = -1
    for (const { end, start } of highlighter(query)(passage)) {
      assert.isAbove(start, last)
      assert.isAbove(end, start)
      last = end
    }
    assert.isAtMost(last, passage.length)
  })

  it.prop("marks something exactly where the query finds the passage", [text, text], ([passage, query]) => {
    const { content } = splitQuery(query)
    const found = terms(passage).some((term) =>
      content.some((wanted) => term === wanted || (/^[漢字水]$/.test(wanted) && term.startsWith(wanted)))
    )
    assert.strictEqual(highlighter(query)(passage).length > 0, found)
  })
})

describe("bestExcerpt", () => {
  const text =
    "The first sentence says little. The second one is about cats. Here is one more about dogs and cats! " +
    "Then it goes on at length about the weather, the sea, and what else there may be. Nothing ends well."
  const excerpt = (query: string, maxChars: number) => {
    const { end, start } = bestExcerpt(text, highlighter(query)(text), maxChars)
    return text.slice(start, end)
  }

  it("is the whole text where that fits", () =>
    assert.deepStrictEqual(bestExcerpt("short", [], 5), { start: 0, end: 5 }))

  it("holds the most matches and begins at a sentence", () =>
    assert.strictEqual(excerpt("more dogs", 45), "Here is one more about dogs and cats! Then it"))

  it("is the first of those that hold as many", () =>
    assert.strictEqual(excerpt("cats", 30), "The second one is about cats."))

  it("begins at a word where the sentence begins too early", () =>
    assert.strictEqual(excerpt("sea", 30), "weather, the sea, and what"))

  it("takes the sentences before a match at the end", () =>
    assert.strictEqual(
      excerpt("well", 110),
      "Then it goes on at length about the weather, the sea, and what else there may be. Nothing ends well."
    ))

  it("is the beginning where nothing matches", () =>
    assert.strictEqual(excerpt("unicorn", 40), "The first sentence says little. The"))

  it("cuts where no word ends, but no character in two", () => {
    const kanji = "漢字".repeat(50)
    assert.deepStrictEqual(bestExcerpt(kanji, [{ start: 40, end: 42 }], 10), { start: 36, end: 46 })
    const rockets = "🚀".repeat(50)
    const { end, start } = bestExcerpt(rockets, [{ start: 40, end: 42 }], 11)
    assert.notMatch(rockets.slice(start, end), /\p{Surrogate}/u)
  })

  const spans = (length: number): FastCheck.Arbitrary<ReadonlyArray<TextSpan>> =>
    FastCheck.uniqueArray(FastCheck.nat({ max: length }), { maxLength: 10 }).map((cuts) => {
      const sorted = cuts.toSorted((a, b) => a - b)
      return Array.from({ length: sorted.length >> 1 }, (_, i) => ({
        start: sorted[2 * i] as number,
        end: sorted[2 * i + 1] as number
      }))
    })
  const passage = FastCheck.array(FastCheck.constantFrom("word", "a", ". ", " ", "\n", "漢", "🚀", "e\u0301"), {
    maxLength: 60
  }).map((parts) => parts.join(""))
  const task = passage.chain((text) => FastCheck.tuple(FastCheck.constant(text), spans(text.length)))

  it.prop(
    "keeps to its length, within the text, and holds as many spans as any part of that length",
    [task, FastCheck.integer({ min: 1, max: 80 })],
    ([[text, given], maxChars]) => {
      const { end, start } = bestExcerpt(text, given, maxChars)
      assert.isAtLeast(start, 0)
      assert.isAtLeast(end, start)
      assert.isAtMost(end, text.length)
      assert.isAtMost(end - start, maxChars)
      const held = (from: number, to: number) =>
        given.filter((span) => span.start >= from && span.end <= to && text.slice(span.start, span.end).trim() !== "")
          .length
      // Spans of words neither begin nor end with white space, which an excerpt drops at its ends.
      if (given.every((span) => /^\S(?:.*\S)?$/su.test(text.slice(span.start, span.end)))) {
        const most = Math.max(0, ...given.map(({ start: from }) => held(from, from + maxChars)))
        assert.isAtLeast(held(start, end), most)
      }
    }
  )
})

it.effect("marks other forms of a word in the text's language, and no words of its grammar", () =>
  Effect.gen(function* () {
    yield* learned(["ru", "tr"])
    const marked = (text: string, query: string, language: "ru" | "tr") =>
      highlighter(query)(text, language).map(({ end, start }) => text.slice(start, end))
    assert.deepStrictEqual(marked("Как отключаются наблюдатели?", "Как остановить наблюдателя?", "ru"), ["наблюдатели"])
    assert.deepStrictEqual(marked("IŞIKLAR ve ışık", "ışığı", "tr"), ["IŞIKLAR", "ışık"])
  })
)
