import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { type Answered, type JudgedMode, judgedModes, type Scores, isRelevant, Judging } from "../measuring/Judging.ts"
import { latenciesOf } from "../measuring/Benchmark.ts"
import { bootstrap, mean } from "../measuring/evaluation.ts"
import { printable, printableLine, Terminal } from "./terminal.ts"
import { count, drawn, printResult } from "./output.ts"
import { Judgements } from "../measuring/Judgements.ts"
import type { CollectionName } from "../model/Collection.ts"
import type { Judgement } from "../model/Judgement.ts"
import { Backups, Store } from "../Store.ts"
import { Reindexer } from "../upkeep/Reindexer.ts"
import { type Copy, Engine, Place, inIndex } from "./engine.ts"
import { followed } from "./reindex.ts"
import { copyTo } from "./transfer.ts"
import { isOnServer } from "../Config.ts"
import { exitCode, stop, FileUnusable, usage } from "./exit.ts"
import { unlessTaken, writeWhole } from "./writing.ts"

const Interval = Schema.Struct({ mean: Schema.Finite, low: Schema.Finite, high: Schema.Finite }).annotations({
  description: "A mean over the questions, and its 95 % bootstrap interval"
})

const Mode = Schema.Struct({
  ndcg_at_10: Interval,
  recall_at_10: Interval,
  mrr_at_10: Interval,
  judged_at_10: Schema.Finite.annotations({ description: "Share of the top ten passages that were judged at all" })
})

const Change = Schema.Struct({
  query: Schema.String,
  before: Schema.Finite,
  after: Schema.Finite
}).annotations({ description: "A question whose nDCG@10 changed" })

const Comparison = Schema.Struct({
  with: Schema.String.annotations({
    description: "The file of the other configuration, the other embedder, or the file of the baseline"
  }),
  questions: Schema.Int.annotations({ description: "Number of questions that both have" }),
  before: Schema.Finite.annotations({ description: "Mean nDCG@10 of the baseline, or of this configuration" }),
  after: Schema.Finite.annotations({ description: "Mean nDCG@10 now, or of the other configuration" }),
  difference: Interval,
  changed: Schema.Array(Change).annotations({ description: "Largest change first" })
})
type Comparison = typeof Comparison.Type

const Configuration = Schema.Struct({
  configuration: Schema.String.annotations({ description: 'Its file, or "defaults"' }),
  modes: Schema.Record({ key: Schema.Literal(...judgedModes), value: Mode }),
  p50_ms: Schema.Finite.annotations({ description: "Median time of the configured search for 100 passages" }),
  p95_ms: Schema.Finite
})

/** What `benchmark --judgements --json` prints. */
export const GateReport = Schema.Struct({
  judgements: Schema.String,
  questions: Schema.Int.annotations({ description: "Number of questions with an answer" }),
  unanswerable: Schema.Int.annotations({
    description: "Number of questions left out because nothing judged answers them"
  }),
  unmatched: Schema.Int.annotations({
    description: "Number of judgements whose source is that of no document in the index"
  }),
  configurations: Schema.Array(Configuration),
  against: Schema.optional(Comparison),
  baseline: Schema.optional(Comparison)
}).annotations({ identifier: "GateReport" })
export type GateReport = typeof GateReport.Type

/** What `--save` writes: the nDCG@10 of each question in the configured mode. */
const Baseline = Schema.Struct({
  questions: Schema.Array(Schema.Struct({ query: Schema.String, ndcg_at_10: Schema.Finite }))
}).annotations({ identifier: "Baseline" })

const baselineOf = (answered: ReadonlyArray<Answered>): typeof Baseline.Type => ({
  questions: answered.map(({ query, scores }) => ({ query, ndcg_at_10: scores.configured.ndcg_at_10 }))
})

/** The figures of a configuration, per mode. */
const configurationOf = (configuration: string, answered: ReadonlyArray<Answered>, seed: number) => {
  const of = (mode: JudgedMode): typeof Mode.Type => {
    const values = (score: keyof Scores) => answered.map(({ scores }) => scores[mode][score])
    return {
      ndcg_at_10: bootstrap(values("ndcg_at_10"), seed),
      recall_at_10: bootstrap(values("recall_at_10"), seed),
      mrr_at_10: bootstrap(values("mrr_at_10"), seed),
      judged_at_10: mean(values("judged_at_10"))
    }
  }
  const { p50_ms, p95_ms } = latenciesOf(answered)
  return {
    configuration,
    modes: Object.fromEntries(judgedModes.map((mode) => [mode, of(mode)])) as Record<JudgedMode, typeof Mode.Type>,
    p50_ms,
    p95_ms
  } satisfies typeof Configuration.Type
}

/** Smaller differences come from rounding. */
const least = 1e-9

/** The common questions that became better or worse, and the interval of the difference of the means. */
const compare = (name: string, before: typeof Baseline.Type, after: typeof Baseline.Type, seed: number): Comparison => {
  const earlier = new Map(before.questions.map(({ ndcg_at_10, query }) => [query, ndcg_at_10]))
  const both = after.questions.flatMap(({ ndcg_at_10, query }) => {
    const was = earlier.get(query)
    return was === undefined ? [] : [{ query, before: was, after: ndcg_at_10 }]
  })
  const by = (change: { readonly before: number; readonly after: number }) => change.after - change.before
  return {
    with: name,
    questions: both.length,
    before: mean(both.map(({ before }) => before)),
    after: mean(both.map(({ after }) => after)),
    difference: bootstrap(both.map(by), seed),
    changed: both.filter((change) => Math.abs(by(change)) > least).sort((a, b) => Math.abs(by(b)) - Math.abs(by(a)))
  }
}

/** Most changed questions shown to people. */
const mostShown = 20

const signed = (value: number): string => `${value < 0 ? "" : "+"}${value.toFixed(4)}`

const rendered = ({ after, before, changed, difference, questions, with: name }: Comparison): ReadonlyArray<string> => [
  "",
  `Against ${printable(name)}: nDCG@10 ${before.toFixed(4)} to ${after.toFixed(4)}, ${signed(difference.mean)} ` +
    `(${signed(difference.low)} to ${signed(difference.high)}) over ${count(questions, "question")}, of which ${changed.length} changed`,
  ...changed
    .slice(0, mostShown)
    .map((change) => `  ${change.before.toFixed(3)} to ${change.after.toFixed(3)}  ${printableLine(change.query)}`),
  ...(changed.length > mostShown ? [`  and ${changed.length - mostShown} more`] : [])
]

/** A table of the modes of each configuration, and the changes. */
const renderGate = Effect.fnUntraced(function* (report: GateReport) {
  const { colors } = (yield* Terminal).out
  const both = ({ high, low, mean }: typeof Interval.Type) => [
    mean.toFixed(4),
    colors.dim(`${low.toFixed(3)}-${high.toFixed(3)}`)
  ]
  const rows = report.configurations.flatMap(({ configuration, modes }) =>
    judgedModes.map((mode) => {
      const { judged_at_10, mrr_at_10, ndcg_at_10, recall_at_10 } = modes[mode]
      const [ndcg = "", ...rest] = [ndcg_at_10, recall_at_10, mrr_at_10].flatMap(both)
      const first = mode === "configured" ? colors.bold(ndcg) : ndcg
      return [printable(configuration), mode, first, ...rest, judged_at_10.toFixed(2)]
    })
  )
  const columns = ["configuration", "mode", "nDCG@10", "", "recall@10", "", "MRR@10", "", "judged@10"]
  const { against, baseline, questions, unanswerable } = report
  return [
    `${count(questions, "question")} of ${printable(report.judgements)}` +
      (unanswerable === 0 ? "" : `; ${unanswerable} left out because nothing judged answers them`),
    "",
    yield* drawn(columns, rows),
    "",
    ...report.configurations.map(
      ({ configuration, p50_ms, p95_ms }) =>
        `${printable(configuration)}: ${p50_ms.toFixed(1)} ms a search, p95 ${p95_ms.toFixed(1)} ms`
    ),
    ...(against === undefined ? [] : rendered(against)),
    ...(baseline === undefined ? [] : rendered(baseline))
  ].join("\n")
})

interface Asked {
  readonly judgements: string
  readonly collection: CollectionName | undefined
  readonly against: string | undefined
  readonly embedder: string | undefined
  readonly baseline: string | undefined
  readonly save: boolean
  readonly tolerance: number
  readonly seed: number
}

const decode = Schema.decodeUnknown(Schema.parseJson(Baseline))
const decodeOption = Schema.decodeUnknownOption(Schema.parseJson(Baseline))

/** The saved baseline. */
const readBaseline = Effect.fnUntraced(function* (file: string) {
  const text = yield* Effect.try({
    try: () => fs.readFileSync(file, "utf8"),
    catch: () => new FileUnusable({ message: `${file}: no such baseline; save one with --baseline and --save` })
  })
  return yield* Effect.mapError(
    decode(text),
    () => new FileUnusable({ message: `${file} is not a baseline; save one with --baseline and --save` })
  )
})

const isBaseline = (file: string): boolean => Option.isSome(decodeOption(fs.readFileSync(file, "utf8")))

/** That judgements count for nothing, since their documents are not there. */
export const unmatchedNote = (unmatched: ReadonlyArray<Judgement>, all: number): string =>
  `clew: ${unmatched.length} of ${count(all, "judgement")} ${unmatched.length === 1 ? "matches" : "match"} no document in this index, ` +
  `such as ${printable(unmatched[0]!.source)}: index it, or measure with the index that was judged`

/** `BACKEND` or `BACKEND:MODEL`, where a model in a folder is its path. */
const named = (embedder: string, cwd: string) => {
  const [backend = "", ...rest] = embedder.split(":")
  const model = rest.length === 0 ? undefined : rest.join(":")
  const isFolder = backend === "onnx" || backend === "builtin"
  return backend === "auto"
    ? usage("--embedder auto names no embedder; give its backend, such as builtin, onnx:FOLDER or ollama:MODEL")
    : Effect.succeed({ backend, model: isFolder && model !== undefined ? path.resolve(cwd, model) : model })
}

/** Copies the index and gives the collections of the copy an embedder; their passages stay the same. */
const copied = Effect.fnUntraced(function* (embedder: string, collection: CollectionName | undefined) {
  const { backups, settings } = yield* Engine
  const { note } = yield* Terminal
  const { cwd } = yield* Place
  const other = yield* named(embedder, cwd)
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(tmpdir(), "clew-"))),
    (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
  )
  const copy: Copy = { path: path.join(folder, "index.db"), ...other }
  yield* isOnServer((yield* settings).store)
    ? copyTo(copy.path, collection)
    : Effect.provide(
        Effect.flatMap(Backups, ({ backup }) => backup(copy.path, { keep: 1 })),
        backups
      )
  yield* inIndex(
    "change",
    function* () {
      const all = collection === undefined ? (yield* (yield* Store).collections).map(({ name }) => name) : [collection]
      const reindexer = yield* Reindexer
      for (const name of all) {
        const started = yield* Clock.currentTimeMillis
        const changes = reindexer.run(name, { force: false })
        const last = yield* followed(changes, false, "the temporary copy of the index is deleted")
        const seconds = ((yield* Clock.currentTimeMillis) - started) / 1000
        const passages = last?.changed === true ? last.done : 0
        yield* note(`clew: ${count(passages, "passage")} of ${name} embedded by ${embedder} in ${seconds.toFixed(1)} s`)
      }
    },
    { copy }
  )
  return copy
})

/** Measures searches of the user's index by judgements, against another configuration or embedder and a baseline. */
export const gate = Effect.fnUntraced(function* (asked: Asked) {
  const { cwd } = yield* Place
  const { note } = yield* Terminal
  const engine = yield* Engine
  const file = path.resolve(cwd, asked.judgements)
  const baselineFile = asked.baseline === undefined ? undefined : path.resolve(cwd, asked.baseline)
  if (baselineFile !== undefined && asked.save) yield* unlessTaken(baselineFile, "a baseline", isBaseline)
  const earlier = baselineFile === undefined || asked.save ? undefined : yield* readBaseline(baselineFile)

  const evaluated = (options: { readonly config?: string; readonly copy?: Copy } = {}) =>
    inIndex(
      "read",
      function* () {
        const all = yield* (yield* Judgements).read(file)
        const questions = all.filter(isRelevant)
        const judging = yield* Judging
        const answered = yield* judging.evaluate(questions, asked.collection)
        const judgements = all.flatMap((question) => question.judgements)
        const unmatched = yield* judging.unmatched(judgements, asked.collection)
        return {
          answered,
          judgements: judgements.length,
          unmatched,
          questions: questions.length,
          unanswerable: all.length - questions.length
        }
      },
      options
    )

  const own = Option.getOrElse(yield* engine.configFile, () => "defaults")
  const { answered, judgements, questions, unanswerable, unmatched } = yield* evaluated()
  if (questions === 0) {
    return yield* new FileUnusable({
      message: `${file} has no question with a grade above 0; judge some with clew judge`
    })
  }
  const { embedder } = asked
  const other = embedder ?? (asked.against === undefined ? undefined : path.resolve(cwd, asked.against))
  const beside =
    other === undefined
      ? undefined
      : yield* Effect.map(
          embedder === undefined
            ? evaluated({ config: other })
            : Effect.scoped(Effect.flatMap(copied(embedder, asked.collection), (copy) => evaluated({ copy }))),
          ({ answered }) => answered
        )
  const now = baselineOf(answered)
  const compared = earlier === undefined ? undefined : compare(baselineFile!, earlier, now, asked.seed)
  if (compared?.questions === 0) {
    return yield* new FileUnusable({ message: `${baselineFile} has none of the questions of ${file}` })
  }
  const report: GateReport = {
    judgements: file,
    questions,
    unanswerable,
    unmatched: unmatched.length,
    configurations: [
      configurationOf(own, answered, asked.seed),
      ...(beside === undefined ? [] : [configurationOf(other!, beside, asked.seed)])
    ],
    ...(beside === undefined ? {} : { against: compare(other!, now, baselineOf(beside), asked.seed) }),
    baseline: compared
  }
  yield* printResult(GateReport, report, renderGate(report))
  if (unmatched.length > 0) yield* note(unmatchedNote(unmatched, judgements))
  else if (answered.every(({ scores }) => Object.values(scores).every(({ judged_at_10 }) => judged_at_10 === 0))) {
    yield* note("clew: no result was judged: the judgements are about other passages than those found")
  }
  if (baselineFile !== undefined && asked.save) {
    yield* writeWhole(baselineFile, `${JSON.stringify(now, null, 1)}\n`)
    yield* note(`clew: ${count(questions, "question")} saved to ${baselineFile}`)
  }
  if (compared !== undefined && compared.after < compared.before - asked.tolerance) {
    yield* note(
      `clew: nDCG@10 fell from ${compared.before.toFixed(4)} to ${compared.after.toFixed(4)}, by more than ${asked.tolerance}`
    )
    yield* stop(exitCode.failed)
  }
})
