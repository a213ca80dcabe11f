import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as path from "node:path"
import { latenciesOf } from "../measuring/Benchmark.ts"
import { mean } from "../measuring/evaluation.ts"
import { type Answered, legs, Speed, type SpeedLeg } from "../measuring/Speed.ts"
import type { Hit } from "../model/SearchResult.ts"
import { StoreInfo } from "../model/Stats.ts"
import { Store } from "../Store.ts"
import { define, file, integer, number } from "./command.ts"
import { inIndex, Place, displayPath } from "./engine.ts"
import { cannot, exitCode, FileUnusable, stop } from "./exit.ts"
import * as options from "./flags.ts"
import { count, drawn, numberText, printResult } from "./output.ts"
import { printable, printableLine, Terminal } from "./terminal.ts"

const Mode = Schema.Struct({
  overlap_at_10: Schema.Finite.annotations({ description: "Mean share of the ten best that both have" }),
  same: Schema.Int.annotations({ description: "Questions with the same passages in the same order" }),
  moves: Schema.Finite.annotations({ description: "Mean places by which a passage that both have moved" }),
  largest_move: Schema.Int,
  largest_score_difference: Schema.Finite.annotations({ description: "Of a passage that both have" }),
  p50_ms: Schema.Tuple(Schema.Finite, Schema.Finite).annotations({ description: "Of a search for 10, in A and in B" }),
  p95_ms: Schema.Tuple(Schema.Finite, Schema.Finite)
})

const Side = Schema.Struct({ index: Schema.String, store: StoreInfo, documents: Schema.Int, chunks: Schema.Int })

/** What `compare --json` prints. */
export const CompareReport = Schema.Struct({
  a: Side,
  b: Side,
  questions: Schema.Int,
  modes: Schema.Record({ key: Schema.Literal(...legs), value: Mode }),
  different: Schema.Array(
    Schema.Struct({ query: Schema.String, mode: Schema.Literal(...legs), overlap_at_10: Schema.Finite })
  ).annotations({ description: "Questions whose ten best differ, the most different first" })
}).annotations({ identifier: "CompareReport" })
type CompareReport = typeof CompareReport.Type

const keyOf = ({ collection, document, passage }: Hit): string =>
  JSON.stringify([collection, document.docId, passage.start, passage.end])

/** How a question's answers differ. */
const differenceOf = (a: ReadonlyArray<Hit>, b: ReadonlyArray<Hit>) => {
  const places = new Map(a.map((hit, at) => [keyOf(hit), { at, score: hit.score }]))
  const both = b.flatMap((hit, at) => {
    const before = places.get(keyOf(hit))
    return before === undefined ? [] : [{ move: Math.abs(before.at - at), score: Math.abs(before.score - hit.score) }]
  })
  const longer = Math.max(a.length, b.length)
  return { overlap: longer === 0 ? 1 : both.length / longer, both }
}

const largest = (values: ReadonlyArray<number>): number => values.reduce((most, value) => Math.max(most, value), 0)

const modeOf = (
  a: ReadonlyArray<Answered>,
  b: ReadonlyArray<Answered>,
  differences: ReadonlyArray<ReturnType<typeof differenceOf>>
): typeof Mode.Type => {
  const both = differences.flatMap((difference) => difference.both)
  const moves = both.map(({ move }) => move)
  const [inA, inB] = [latenciesOf(a), latenciesOf(b)]
  return {
    overlap_at_10: mean(differences.map(({ overlap }) => overlap)),
    same: differences.filter((one) => one.overlap === 1 && one.both.every(({ move }) => move === 0)).length,
    moves: both.length === 0 ? 0 : mean(moves),
    largest_move: largest(moves),
    largest_score_difference: largest(both.map(({ score }) => score)),
    p50_ms: [inA.p50_ms, inB.p50_ms],
    p95_ms: [inA.p95_ms, inB.p95_ms]
  }
}

/** Most questions that are shown to people. */
const mostShown = 10

const rendered = Effect.fnUntraced(function* ({ a, b, different, modes, questions }: CompareReport) {
  const side = (name: string, { chunks, documents, index, store }: typeof Side.Type) =>
    `${name}  ${printable(index)}: ${store.backend} ${store.version}, ${count(documents, "document")}, ${count(chunks, "passage")}`
  const both = ([first, second]: readonly [number, number]) => `${first.toFixed(1)} / ${second.toFixed(1)}`
  const rows = legs.map((leg) => {
    const mode = modes[leg]
    return [
      leg,
      mode.overlap_at_10.toFixed(4),
      numberText(mode.same),
      `${mode.moves.toFixed(2)}, at most ${mode.largest_move}`,
      mode.largest_score_difference.toExponential(1),
      both(mode.p50_ms),
      both(mode.p95_ms)
    ]
  })
  const columns = ["mode", "overlap@10", "same", "places moved", "score differs by", "p50 ms A / B", "p95 ms A / B"]
  return [
    side("A", a),
    side("B", b),
    `${count(questions, "question")}, the ten best of each:`,
    "",
    yield* drawn(columns, rows),
    ...different
      .slice(0, mostShown)
      .map(({ mode, overlap_at_10, query }) => `  ${overlap_at_10.toFixed(1)} ${mode}: ${printableLine(query)}`),
    ...(different.length > mostShown ? [`  and ${numberText(different.length - mostShown)} more that differ`] : [])
  ].join("\n")
})

const readQuestions = (name: string) =>
  Effect.try({
    try: () => fs.readFileSync(name, "utf8"),
    catch: cannot("read", name)
  }).pipe(
    Effect.map((text) => [...new Set(text.split(/\r?\n/).map((line) => line.trim()))].filter((line) => line !== "")),
    Effect.filterOrFail(
      (questions) => questions.length > 0,
      () => new FileUnusable({ message: `${name} has no question: write one a line` })
    )
  )

export const compare = define(
  {
    name: "compare",
    summary: "Ask two indexes the same questions, and show how the answers differ",
    positional: {
      name: "INDEX",
      summary:
        "A and B: each an index file, or a configuration file (.toml) whose `store` names an index. Without B, A is compared with the configured index",
      min: 1,
      max: 2,
      paths: true
    },
    flags: {
      collection: options.onlyCollection,
      queries: file("queries", { value: "FILE", summary: "Questions to ask, one a line, in place of sampled ones" }),
      sample: integer("sample", {
        value: "N",
        summary: "Questions sampled from the passages and titles of A (default: 100)",
        min: 1,
        max: 10_000
      }),
      seed: options.seed("Seed that selects the questions"),
      minOverlap: number("min-overlap", {
        value: "X",
        summary: "Exit with 4 if the overlap of the ten best is lower in any mode (default: 0.99)",
        min: 0,
        max: 1
      })
    },
    details: [
      "Run it after a move: passages that are missing, in other places or with other scores show in the mode that they come from. Nothing is changed.",
      "An address with a password belongs in CLEW_STORE_URL or in a configuration file, not on the command line."
    ],
    examples: ["clew compare old.db new.db", "clew compare index.db --queries questions.txt --json"]
  },
  function* ({ collection, minOverlap = 0.99, queries, sample = 100, seed = 1 }, [first = "", second]) {
    const { cwd } = yield* Place
    const { note } = yield* Terminal
    const given = queries === undefined ? undefined : yield* readQuestions(path.resolve(cwd, queries))
    const places = [first, second].map((name) => (name === undefined ? undefined : path.resolve(cwd, name)))
    for (const place of places) {
      if (place !== undefined && !fs.existsSync(place)) {
        return yield* new FileUnusable({ message: `${place}: no such index or configuration file` })
      }
    }
    const side = Effect.fnUntraced(function* (found: string | undefined, asked: ReadonlyArray<string> | undefined) {
      const which =
        found === undefined ? {} : found.endsWith(".toml") ? { config: found, db: false as const } : { db: found }
      return yield* inIndex(
        "read",
        function* () {
          const store = yield* Store
          const speed = yield* Speed
          const questions = asked ?? (yield* speed.questions(collection, sample, seed))
          if (asked === undefined || asked === given) {
            yield* note(`clew: ${count(questions.length, "question")} in three modes, to two indexes`)
          }
          const answered = {} as Record<SpeedLeg, ReadonlyArray<Answered>>
          for (const leg of legs) answered[leg] = yield* speed.answers(collection, questions, leg)
          const { documents, passages } = yield* store.stats(collection)
          const index = found === undefined ? "configured" : displayPath(cwd, found)
          return { questions, answered, about: { index, store: yield* store.about(), documents, chunks: passages } }
        },
        which
      )
    })
    const a = yield* side(places[0], given)
    const b = yield* side(places[1], a.questions)
    const compared = legs.map((mode) => {
      const [before, after] = [a.answered[mode], b.answered[mode]]
      const differences = before.map(({ hits }, at) => differenceOf(hits, after[at]!.hits))
      return { mode, differences, figures: modeOf(before, after, differences) }
    })
    const different = compared.flatMap(({ differences, mode }) =>
      differences.flatMap(({ overlap }, at) =>
        overlap === 1 ? [] : [{ query: a.questions[at]!, mode, overlap_at_10: overlap }]
      )
    )
    const report: CompareReport = {
      a: a.about,
      b: b.about,
      questions: a.questions.length,
      modes: Object.fromEntries(compared.map(({ figures, mode }) => [mode, figures])) as CompareReport["modes"],
      different: different.toSorted((one, other) => one.overlap_at_10 - other.overlap_at_10)
    }
    yield* printResult(CompareReport, report, rendered(report))
    const worst = legs.toSorted((one, other) => report.modes[one].overlap_at_10 - report.modes[other].overlap_at_10)[0]!
    const { overlap_at_10: overlap } = report.modes[worst]
    if (overlap < minOverlap) {
      yield* note(`clew: the overlap of ${worst} search is ${overlap.toFixed(4)}, below ${minOverlap}`)
      yield* stop(exitCode.below)
    }
  }
)
