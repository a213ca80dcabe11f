import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import { bootstrap, ndcgAt } from "../../src/measuring/evaluation.ts"
import { graded, isAbout } from "../../src/measuring/grading.ts"
import { parseJudged, questionsOf } from "../../src/measuring/Judgements.ts"

const judged = (source: string, grade: number, lines?: readonly [number, number]) => ({
  query: "q",
  source,
  grade,
  ...(lines === undefined ? {} : { start_line: lines[0], end_line: lines[1] })
})
const place = (source: string, startLine = 1, endLine = startLine) => ({ source, startLine, endLine })

describe("parseJudged", () => {
  it("reads lines, and keeps the latest grade of a place", () => {
    const text = [
      { ...judged("a.md", 1), by: "somebody" },
      judged("b.md", 2, [3, 4]),
      { ...judged("a.md", 3), query: "other" },
      judged("a.md", 0)
    ]
    const questions = questionsOf(
      Either.getOrThrow(parseJudged(`${text.map((line) => JSON.stringify(line)).join("\n\n")}\n`))
    )
    assert.deepStrictEqual(questions, [
      { query: "q", judgements: [judged("a.md", 0), judged("b.md", 2, [3, 4])] },
      { query: "other", judgements: [{ ...judged("a.md", 3), query: "other" }] }
    ])
  })

  it.each([
    ["{}", /^line 2 is not a judgement \(query\)/],
    ["nonsense", /^line 2 is not a judgement: /],
    [JSON.stringify({ ...judged("a", 1), grade: -1 }), /\(grade\)/],
    [JSON.stringify({ ...judged("a", 1), start_line: 4 }), /\(end_line\).*given together/],
    [JSON.stringify({ ...judged("", 1) }), /\(source\)/]
  ])("names what is wrong with %s", (line, message) => {
    const read = parseJudged(`${JSON.stringify(judged("a.md", 1))}\n${line}\n`)
    assert.match(Either.isLeft(read) ? read.left : "", message)
  })
})

describe("isAbout", () => {
  it("knows a source by the end of its path, from a name's beginning on", () => {
    assert.isTrue(isAbout(judged("docs/a.md", 1), place("/home/x/docs/a.md")))
    assert.isTrue(isAbout(judged("corpus.jsonl#7", 1), place("C:\\set\\corpus.jsonl#7")))
    assert.isFalse(isAbout(judged("a.md", 1), place("/home/x/aa.md")))
    assert.isFalse(isAbout(judged("/docs/a.md", 1), place("/home/x/docs/a.md")))
    // Judged from a folder beside docs.
    assert.isTrue(isAbout(judged("../docs/a.md", 1), place("/home/x/docs/a.md")))
    assert.isTrue(isAbout(judged("../../a.md", 1), place("a.md")))
    assert.isFalse(isAbout(judged("../docs/a.md", 1), place("/home/x/otherdocs/a.md")))
  })

  it("knows lines where half of the shorter are the other's", () => {
    const about = (lines: readonly [number, number], from: number, to: number) =>
      isAbout(judged("a", 1, lines), place("a", from, to))
    assert.isTrue(about([3, 8], 3, 8))
    assert.isTrue(about([3, 8], 6, 20))
    assert.isFalse(about([3, 8], 7, 20))
    assert.isTrue(about([5, 5], 1, 90))
    assert.isFalse(about([3, 8], 9, 9))
  })
})

describe("graded", () => {
  it("counts each judged thing once, by its best passage", () => {
    const judgements = [judged("a", 1, [1, 2]), judged("a", 3, [5, 6]), judged("b", 2)]
    const { grades, ranking } = graded(
      [place("x"), place("a", 5, 6), place("a", 5, 6), place("b", 1), place("b", 9), place("a", 1, 2)],
      judgements
    )
    assert.deepStrictEqual(
      ranking.map((name) => grades.get(name) ?? 0),
      [0, 3, 2, 1]
    )
  })

  it("is a ranking of documents where documents were judged, as of a dataset", () => {
    const { grades, ranking } = graded([place("x", 1), place("x", 9), place("a", 4)], [judged("a", 1)])
    assert.closeTo(ndcgAt(10, ranking, grades), 1 / Math.log2(3), 1e-12)
  })
})

describe("bootstrap", () => {
  it("is the same for a seed, and holds the mean", () => {
    const values = Array.from({ length: 40 }, (_, at) => (at % 4) / 4)
    const { high, low, mean } = bootstrap(values, 7)
    assert.deepStrictEqual(bootstrap(values, 7), { high, low, mean })
    assert.notDeepEqual(bootstrap(values, 8), { high, low, mean })
    assert.closeTo(mean, 0.375, 1e-12)
    // Normal approximation: .375 ± 1.96 · .2795 / √40.
    assert.closeTo(low, 0.288, 0.02)
    assert.closeTo(high, 0.462, 0.02)
    assert.deepStrictEqual(bootstrap([0.5], 1), { mean: 0.5, low: 0.5, high: 0.5 })
    assert.deepStrictEqual(bootstrap([], 1), { mean: 0, low: 0, high: 0 })
  })
})
