import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as path from "node:path"
import { Judgements } from "../measuring/Judgements.ts"
import { type Answered, isRelevant, Judging } from "../measuring/Judging.ts"
import type { CollectionName } from "../model/Collection.ts"
import type { Judgement } from "../model/Judgement.ts"
import { Engine } from "./engine.ts"
import { exitCode, stop } from "./exit.ts"
import { FileUnusable } from "./FileUnusable.ts"
import { Baseline, baselineOf, compare, configurationOf, GateReport, renderGate } from "./gateReport.ts"
import { harmless } from "./harmless.ts"
import { count, printResult } from "./output.ts"
import { Place } from "./place.ts"
import { Terminal } from "./terminal.ts"

interface Asked {
  readonly judgements: string
  readonly collection: CollectionName | undefined
  readonly against: string | undefined
  readonly baseline: string | undefined
  readonly save: boolean
  readonly tolerance: number
  readonly seed: number
}

const decode = Schema.decodeUnknownOption(Schema.parseJson(Baseline))

/** The saved baseline. */
const readBaseline = Effect.fnUntraced(function* (file: string) {
  const text = yield* Effect.try({
    try: () => fs.readFileSync(file, "utf8"),
    catch: () => new FileUnusable({ message: `${file}: no such baseline; save one with --baseline and --save` })
  })
  return yield* Option.match(decode(text), {
    onNone: () => new FileUnusable({ message: `${file} is not a baseline; save one with --baseline and --save` }),
    onSome: Effect.succeed
  })
})

const writeBaseline = (file: string, answered: ReadonlyArray<Answered>) =>
  Effect.try({
    try: () => {
      // Written whole or not at all, so that an interrupted run leaves the old one.
      fs.writeFileSync(`${file}.new`, `${JSON.stringify(baselineOf(answered), null, 1)}\n`)
      fs.renameSync(`${file}.new`, file)
    },
    catch: (error) => new FileUnusable({ message: `${file} cannot be written: ${(error as Error).message}` })
  })

/** That judgements count for nothing, since their documents are not there. */
export const unmatchedNote = (unmatched: ReadonlyArray<Judgement>, all: number): string =>
  `clew: ${unmatched.length} of ${count(all, "judgement")} ${unmatched.length === 1 ? "matches" : "match"} no document in this index, ` +
  `such as ${harmless(unmatched[0]!.source)}: index it, or measure with the index that was judged`

/** Measures searches of the user's index by judgements, against another configuration and a baseline. */
export const gate = Effect.fnUntraced(function* (asked: Asked) {
  const { cwd } = yield* Place
  const { note } = yield* Terminal
  const engine = yield* Engine
  const file = path.resolve(cwd, asked.judgements)
  const baselineFile = asked.baseline === undefined ? undefined : path.resolve(cwd, asked.baseline)
  const earlier = baselineFile === undefined || asked.save ? undefined : yield* readBaseline(baselineFile)

  const evaluated = (config: string | undefined) =>
    Effect.gen(function* () {
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
    }).pipe(Effect.provide(engine.open("read", { config })))

  const own = Option.getOrElse(yield* engine.configFile, () => "defaults")
  const { answered, judgements, questions, unanswerable, unmatched } = yield* evaluated(undefined)
  if (questions === 0) {
    return yield* new FileUnusable({
      message: `${file} has no question with a grade above 0; judge some with clew judge`
    })
  }
  const other = asked.against === undefined ? undefined : path.resolve(cwd, asked.against)
  const beside = other === undefined ? undefined : (yield* evaluated(other)).answered
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
    ...(compared === undefined ? {} : { baseline: compared })
  }
  yield* printResult(GateReport, report, renderGate(report))
  if (unmatched.length > 0) yield* note(unmatchedNote(unmatched, judgements))
  else if (answered.every(({ scores }) => Object.values(scores).every(({ judged10 }) => judged10 === 0))) {
    yield* note("clew: no result was judged: the judgements are about other passages than those found")
  }
  if (baselineFile !== undefined && asked.save) {
    yield* writeBaseline(baselineFile, answered)
    yield* note(`clew: ${count(questions, "question")} saved to ${baselineFile}`)
  }
  if (compared !== undefined && compared.after < compared.before - asked.tolerance) {
    yield* note(
      `clew: nDCG@10 fell from ${compared.before.toFixed(4)} to ${compared.after.toFixed(4)}, by more than ${asked.tolerance}`
    )
    yield* stop(exitCode.failed)
  }
})
