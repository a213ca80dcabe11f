import { assert, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import type { Locator, Mark } from "../../src/model/Locator.ts"
import { located } from "../../src/chunking/located.ts"

const content = "## One\n\nFirst slide.\n\n## Two\n\nSecond slide.\n\n## Three\n\nThird slide."

const whole = { text: content, start: 0, end: content.length, startLine: 1, endLine: 11, heading: ["Talk"] }

const marksOf = (...locators: ReadonlyArray<Locator>): ReadonlyArray<Mark> =>
  locators.map((locator, i) => ({ start: [0, content.indexOf("## Two"), content.indexOf("## Three")][i]!, locator }))

it("ends a passage at the edge of a slide, so that each is cited as itself", () => {
  const passages = located(
    [whole],
    marksOf({ _tag: "Slide", slide: 1 }, { _tag: "Slide", slide: 2 }, { _tag: "Slide", slide: 3 })
  )
  assert.deepStrictEqual(
    passages.map(({ endLine, heading, locator, startLine }) => ({ heading, locator, startLine, endLine })),
    [
      { heading: ["Talk", "One"], locator: { _tag: "Slide", slide: 1 }, startLine: 1, endLine: 3 },
      { heading: ["Talk", "Two"], locator: { _tag: "Slide", slide: 2 }, startLine: 5, endLine: 7 },
      { heading: ["Talk", "Three"], locator: { _tag: "Slide", slide: 3 }, startLine: 9, endLine: 11 }
    ]
  )
  for (const { end, start, text } of passages) assert.strictEqual(text, content.slice(start, end))
})

it("lets a passage go on over pages and cells, and over what is said within a minute", () => {
  const count = (...locators: ReadonlyArray<Locator>) => located([whole], marksOf(...locators)).length
  assert.strictEqual(count({ _tag: "Page", page: 1 }, { _tag: "Page", page: 2 }), 1)
  assert.strictEqual(count({ _tag: "Cell", cell: 1 }, { _tag: "Cell", cell: 2 }), 1)
  assert.strictEqual(
    count({ _tag: "Time", time: 0 }, { _tag: "Time", time: 59_000 }, { _tag: "Time", time: 61_000 }),
    2
  )
  assert.strictEqual(count({ _tag: "Sheet", sheet: "a", cell: "A1" }, { _tag: "Sheet", sheet: "a", cell: "A2" }), 1)
  assert.strictEqual(count({ _tag: "Sheet", sheet: "a", cell: "A1" }, { _tag: "Sheet", sheet: "b", cell: "A1" }), 2)
})

const minutes = FastCheck.tuple(
  FastCheck.array(FastCheck.integer({ min: 0, max: 200 }), { maxLength: 40 }),
  FastCheck.array(FastCheck.tuple(FastCheck.integer({ min: 1, max: 40 }), FastCheck.integer({ min: 0, max: 30 })), {
    minLength: 1,
    maxLength: 12
  })
)

it.prop(
  "leaves passages that overlap in the order of their starts, all of their text, and none within another",
  [minutes],
  ([[seconds, cuts]]) => {
    const text = "abcdefghij".repeat(60)
    const passages: Array<{ readonly start: number; readonly end: number }> = []
    for (const [length, overlap] of cuts) {
      const before = passages.at(-1) ?? { start: -1, end: 0 }
      const start = Math.max(before.start + 1, before.end - overlap)
      passages.push({ start, end: before.end + length })
    }
    const marks = seconds
      .toSorted((a, b) => a - b)
      .map((second, at): Mark => ({ start: at * 11, locator: { _tag: "Time", time: second * 1000 } }))
    const cut = passages.map((span) => ({
      ...span,
      text: text.slice(span.start, span.end),
      startLine: 1,
      endLine: 1,
      heading: []
    }))
    const found = located(cut, marks)
    const covered = (spans: ReadonlyArray<{ readonly start: number; readonly end: number }>) =>
      Array.from(text, (_, at) => spans.some(({ end, start }) => start <= at && at < end))
    assert.deepStrictEqual(covered(found), covered(passages))
    for (const [at, { end, start, text: own }] of found.entries()) {
      assert.strictEqual(own, text.slice(start, end))
      const before = found[at - 1]
      if (before !== undefined) assert.isTrue(before.start < start && before.end < end, `${at}: ${start} to ${end}`)
    }
  }
)
