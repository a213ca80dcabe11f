import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type Answered, type JudgedMode, judgedModes, type Scores } from "../measuring/Judging.ts"
import { bootstrap } from "../measuring/bootstrap.ts"
import { mean } from "../measuring/evaluation.ts"
import { harmless } from "./harmless.ts"
import { count } from "./output.ts"
import { type Column, drawn } from "./table.ts"
import { Terminal } from "./terminal.ts"

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
  with: Schema.String.annotations({ description: "The file of the other configuration, or of the baseline" }),
  questions: Schema.Int.annotations({ description: "Number of questions that both have" }),
  before: Schema.Finite.annotations({ description: "Mean nDCG@10 of the baseline, or of this configuration" }),
  after: Schema.Finite.annotations({ description: "Mean nDCG@10 now, or of the other configuration" }),
  difference: Interval,
  changed: Schema.Array(Change).annotations({ description: "Largest change first" })
})
type Comparison = typeof Comparison.Type

const Configuration = Schema.Struct({
  configuration: Schema.String.annotations({ description: 'Its file, or "defaults"' }),
  modes: Schema.Record({ key: Schema.Literal(...judgedModes), value: Mode })
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
export const Baseline = Schema.Struct({
  questions: Schema.Array(Schema.Struct({ query: Schema.String, ndcg_at_10: Schema.Finite }))
}).annotations({ identifier: "Baseline" })

export const baselineOf = (answered: ReadonlyArray<Answered>): typeof Baseline.Type => ({
  questions: answered.map(({ query, scores }) => ({ query, ndcg_at_10: scores.configured.ndcg10 }))
})

/** The figures of a configuration, per mode. */
export const configurationOf = (configuration: string, answered: ReadonlyArray<Answered>, seed: number) => {
  const of = (mode: JudgedMode): typeof Mode.Type => {
    const values = (pick: (scores: Scores) => number) => answered.map(({ scores }) => pick(scores[mode]))
    return {
      ndcg_at_10: bootstrap(
        values(({ ndcg10 }) => ndcg10),
        seed
      ),
      recall_at_10: bootstrap(
        values(({ recall10 }) => recall10),
        seed
      ),
      mrr_at_10: bootstrap(
        values(({ mrr10 }) => mrr10),
        seed
      ),
      judged_at_10: mean(values(({ judged10 }) => judged10))
    }
  }
  return {
    configuration,
    modes: {
      configured: of("configured"),
      keyword: of("keyword"),
      vector: of("vector"),
      "hybrid rrf": of("hybrid rrf"),
      "hybrid score": of("hybrid score")
    }
  } satisfies typeof Configuration.Type
}

/** Smaller differences come from rounding. */
const least = 1e-9

/** The common questions that became better or worse, and the interval of the difference of the means. */
export const compare = (
  name: string,
  before: typeof Baseline.Type,
  after: typeof Baseline.Type,
  seed: number
): Comparison => {
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
  `Against ${harmless(name)}: nDCG@10 ${before.toFixed(4)} to ${after.toFixed(4)}, ${signed(difference.mean)} ` +
    `(${signed(difference.low)} to ${signed(difference.high)}) over ${count(questions, "question")}, of which ${changed.length} changed`,
  ...changed
    .slice(0, mostShown)
    .map(
      (change) =>
        `  ${change.before.toFixed(3)} to ${change.after.toFixed(3)}  ${harmless(change.query).replaceAll("\n", " ")}`
    ),
  ...(changed.length > mostShown ? [`  and ${changed.length - mostShown} more`] : [])
]

const columns: ReadonlyArray<Column> = [
  ["configuration", "left"],
  ["mode", "left"],
  ["nDCG@10", "right"],
  ["", "left"],
  ["recall@10", "right"],
  ["", "left"],
  ["MRR@10", "right"],
  ["", "left"],
  ["judged@10", "right"]
]

/** A table of the modes of each configuration, and the changes. */
export const renderGate = (report: GateReport) =>
  Effect.gen(function* () {
    const { colors } = (yield* Terminal).out
    const rows: Array<ReadonlyArray<string>> = []
    for (const { configuration, modes } of report.configurations) {
      for (const mode of judgedModes) {
        const { judged_at_10: judged, mrr_at_10: mrr, ndcg_at_10: ndcg, recall_at_10: recall } = modes[mode]
        const range = ({ high, low }: typeof Interval.Type) => colors.dim(`${low.toFixed(3)}-${high.toFixed(3)}`)
        rows.push([
          harmless(configuration),
          mode,
          mode === "configured" ? colors.bold(ndcg.mean.toFixed(4)) : ndcg.mean.toFixed(4),
          range(ndcg),
          recall.mean.toFixed(4),
          range(recall),
          mrr.mean.toFixed(4),
          range(mrr),
          judged.toFixed(2)
        ])
      }
    }
    const { against, baseline, questions, unanswerable } = report
    return [
      `${count(questions, "question")} of ${harmless(report.judgements)}` +
        (unanswerable === 0 ? "" : `; ${unanswerable} left out because nothing judged answers them`),
      "",
      yield* drawn(columns, rows),
      ...(against === undefined ? [] : rendered(against)),
      ...(baseline === undefined ? [] : rendered(baseline))
    ].join("\n")
  })
