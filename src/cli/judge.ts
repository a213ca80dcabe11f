import { limits } from "../model/Limits.ts"
import * as Cli from "./command.ts"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as path from "node:path"
import { isSource, withoutWay } from "../measuring/grading.ts"
import { Judgements, type JudgedQuestion, questionsOf } from "../measuring/Judgements.ts"
import { gradeOf, Judging, judgedModes, type Pooled } from "../measuring/Judging.ts"
import { Judgement, mostGrade } from "../model/Judgement.ts"
import type { CollectionName } from "../model/Collection.ts"
import { Store } from "../Store.ts"
import { QueryText } from "../model/Query.ts"
import { headingPath } from "../model/SearchResult.ts"
import { nothingFound, parseFilter } from "./asking.ts"
import { filterHint } from "../filterHint.ts"
import { lookFor } from "./document.ts"
import { titleOf } from "./query.ts"
import { Engine, Place, displayPath } from "./engine.ts"
import { exitCode, stop, usage } from "./exit.ts"
import { unmatchedNote } from "./gate.ts"
import { printable, printableLine, Terminal } from "./terminal.ts"
import * as options from "./flags.ts"
import { count, printJson } from "./output.ts"
import { unlessOfIndex } from "./writing.ts"
import { attempt } from "../model/attempt.ts"

/** What `judge --json` prints. */
export const JudgeReport = Schema.Struct({
  judgements: Schema.String.annotations({ description: "The file of judgements" }),
  saved: Schema.Int.annotations({ description: "Judgements added to that file" }),
  questions: Schema.Array(
    Schema.Struct({
      query: Schema.String,
      pool: Schema.Array(
        Schema.Struct({
          source: Schema.String,
          start_line: Schema.Int,
          end_line: Schema.Int,
          title: Schema.optional(Schema.String),
          heading: Schema.optional(Schema.String),
          text: Schema.String,
          ranks: Schema.partial(Schema.Record({ key: Schema.Literal(...judgedModes), value: Schema.Int })).annotations({
            description: "Its rank in each mode that found it"
          }),
          grade: Schema.optional(Schema.Int.annotations({ description: "Its grade, if it was judged" }))
        })
      ).annotations({ description: `The best passages of ${judgedModes.length} modes together` })
    })
  )
}).annotations({ identifier: "JudgeReport" })

const help = "0 does not answer, 1 is related, 2 answers in part, 3 answers; s skips, q quits"

/** `SOURCE=GRADE` or `SOURCE:FROM-TO=GRADE`. */
const parseGrade = (query: string, text: string): Judgement | undefined => {
  const found = /^(.+?)(?::(\d{1,9})-(\d{1,9}))?=(\d{1,3})$/s.exec(text)
  if (found === null) return undefined
  const [, source = "", from, to, grade] = found
  const lines = from === undefined ? {} : { start_line: Number(from), end_line: Number(to) }
  const judgement = { query, source, grade: Number(grade), ...lines }
  return Schema.is(Judgement)(judgement) ? judgement : undefined
}

/**
 * A source as it is judged: below the working directory relative to it, so that it also fits where somebody else keeps
 * the files; else as it is stored, since a way up from here leads nowhere from there.
 */
const named = (cwd: string, source: string): string => {
  const relative = path.isAbsolute(source) ? path.relative(cwd, source) : source
  return relative === "" || path.isAbsolute(relative) || relative.split(path.sep)[0] === ".." ? source : relative
}

/** The path itself, and where its links lead: documents are stored under real paths. */
const pathsOf = (cwd: string, given: string): ReadonlyArray<string> => {
  const real = attempt(() => fs.realpathSync(path.resolve(cwd, given)))
  return real === undefined ? [given] : [given, real]
}

/** The source under which a document is judged that is given by a path or the end of one; undefined: there is none. */
const judgedSource = Effect.fnUntraced(function* (given: string, collection: CollectionName | undefined) {
  const { cwd } = yield* Place
  const store = yield* Store
  for (const each of pathsOf(cwd, given)) {
    const found = yield* lookFor(each, collection)
    const stored = yield* Effect.forEach(found, (one) => store.get(one.collection, one.docId))
    const sources = stored.map(({ docId, source = docId }) => source)
    const [only] = sources
    if (only !== undefined && (only === each || only === path.resolve(cwd, each))) return named(cwd, only)
    const matching = sources.filter((source) => isSource(source, each))
    // One document has one name, so that it is not judged as two.
    if (matching.length === 1) return named(cwd, matching[0]!)
    if (matching.length > 1) return withoutWay(each)
  }
  return undefined
})

const judgementOf = (cwd: string, query: string, { hit }: Pooled, grade: number): Judgement => ({
  query,
  source: named(cwd, hit.document.source),
  grade,
  start_line: hit.passage.startLine,
  end_line: hit.passage.endLine
})

/** The whole passage, without its ranks. */
const rendered = Effect.fnUntraced(function* (query: string, { hit }: Pooled, place: string) {
  const { cwd } = yield* Place
  const { colors } = (yield* Terminal).out
  const { startLine, endLine, text } = hit.passage
  const title = titleOf(hit)
  return [
    "",
    `${colors.bold(printableLine(query))}  ${colors.dim(place)}`,
    colors.cyan(`${displayPath(cwd, hit.document.source)}:${startLine}-${endLine}`),
    ...(title === "" ? [] : [colors.bold(title)]),
    printable(text)
  ].join("\n")
})

/**
 * Shows passages not judged yet, one by one, and saves each grade at once; gives the number saved, and whether the user
 * quit.
 */
const ask = Effect.fnUntraced(function* (
  file: string,
  query: string,
  pool: ReadonlyArray<Pooled>,
  next: Effect.Effect<string | undefined>
) {
  const { cwd } = yield* Place
  const { note, print } = yield* Terminal
  const { append } = yield* Judgements
  let saved = 0
  for (const [at, pooled] of pool.entries()) {
    yield* print(yield* rendered(query, pooled, `${at + 1}/${pool.length}`))
    for (;;) {
      const key = yield* next
      if (key === undefined || key === "q") return { saved, ended: true }
      if (key === "s") break
      if (/^[0-3]$/.test(key)) {
        yield* append(file, [judgementOf(cwd, query, pooled, Number(key))])
        saved++
        break
      }
      yield* note(`clew: ${help}`)
    }
  }
  return { saved, ended: false }
})

export const judge = Cli.define(
  {
    name: "judge",
    summary: "Judge search results for a question, to measure quality by",
    positional: {
      name: "QUESTION",
      summary: "The question; without one, all questions judged before",
      min: 0,
      max: Infinity
    },
    flags: {
      judgements: Cli.file("judgements", {
        value: "FILE",
        summary: "File of judgements (default: store.judgements, or beside the index)"
      }),
      topK: Cli.integer("top-k", {
        alias: "k",
        value: "N",
        summary: "Passages to take from each mode, 1 to 100 (default: 10)",
        ...limits.topK
      }),
      collection: options.searchedCollection,
      filter: options.filter,
      grade: Cli.repeated("grade", {
        value: "SOURCE=GRADE",
        summary: "Save the grade of a document, or of lines (SOURCE:FROM-TO=GRADE), without asking"
      }),
      from: Cli.text("from", {
        value: "DIR",
        summary: "Save the judgements of a dataset in BEIR layout"
      })
    },
    examples: [
      "clew judge how are passages ranked",
      "clew judge --grade docs/quality.md=3 --json how are passages ranked",
      "clew judge --from scifact --judgements scifact.judgements.jsonl"
    ],
    details: [
      "Shows the best passages of every mode together, without their ranks, and takes a key for each: 0 does not answer, 1 is related, 2 answers in part, 3 answers; s skips, q quits. Each grade is saved at once, and no passage is asked about twice. If standard input is not a terminal, its characters are the keys.",
      "With --json it prints the passages and asks nothing; --grade saves a grade without asking. docs/cli.md describes the file of judgements. Measure with it: clew benchmark --judgements FILE."
    ]
  },
  function* (flags, words) {
    const { cwd, globals } = yield* Place
    const { note } = yield* Terminal
    const asked = words.join(" ")
    if (asked.trim() !== "" && !Schema.is(QueryText)(asked)) return yield* usage("QUESTION is too long")
    if (flags.from !== undefined && asked !== "") return yield* usage("--from takes no QUESTION")
    if (asked === "" && flags.grade.length > 0) return yield* usage("--grade requires a QUESTION")
    const given = yield* Effect.forEach(flags.grade, (text) => {
      const judgement = parseGrade(asked, text)
      return judgement === undefined
        ? usage(
            `--grade is SOURCE=GRADE or SOURCE:FROM-TO=GRADE, a grade from 0 to ${mostGrade}, got ${JSON.stringify(text)}`
          )
        : Effect.succeed(judgement)
    })
    const filter = yield* Effect.mapError(parseFilter(flags.filter, cwd), usage)
    const engine = yield* Engine
    yield* Effect.gen(function* () {
      const judgements = yield* Judgements
      const judging = yield* Judging
      const file = flags.judgements === undefined ? judgements.usual : path.resolve(cwd, flags.judgements)
      yield* unlessOfIndex(file)
      const graded = yield* Effect.forEach(given, (judgement) =>
        Effect.flatMap(judgedSource(judgement.source, flags.collection), (source) =>
          source === undefined
            ? usage(`--grade: no document ${JSON.stringify(judgement.source)} is in the index; clew list shows all`)
            : Effect.succeed({ ...judgement, source })
        )
      )
      const before = yield* judgements.readOrNone(file)
      const stored = new Set(before.flatMap(({ judgements }) => judgements.map(identityOf)))
      const adding =
        flags.from === undefined
          ? graded
          : (yield* judgements.fromDataset(path.resolve(cwd, flags.from))).filter((one) => !stored.has(identityOf(one)))
      yield* judgements.append(file, adding)
      if (flags.from !== undefined && !globals.json) {
        yield* note(`clew: ${count(adding.length, "judgement")} saved to ${file}`)
        const lost = yield* judging.unmatched(adding, flags.collection)
        return lost.length === 0 ? undefined : yield* note(unmatchedNote(lost, adding.length))
      }

      const questions = asked === "" ? before.map(({ query }) => query) : [asked]
      if (questions.length === 0 && flags.from === undefined)
        return yield* usage("QUESTION is missing: nothing was judged before")
      const where = { most: flags.topK ?? 10, collection: flags.collection, filter }
      const all = questionsOf([...before.flatMap(({ judgements }) => judgements), ...graded])
      const known = new Map(all.map((question) => [question.query, question]))

      if (globals.json) {
        const pools = yield* Effect.forEach(flags.from === undefined ? questions : [], (query) =>
          Effect.map(judging.pool(query, where), (pool) => ({
            query,
            pool: pool.map((each) => toPool(known.get(query), each))
          }))
        )
        yield* printJson(JudgeReport, { judgements: file, saved: adding.length, questions: pools })
        if (pools.length > 0 && pools.every(({ pool }) => pool.length === 0)) yield* stop(exitCode.nothingFound)
        return
      }

      if (given.length > 0) return yield* note(`clew: ${count(given.length, "judgement")} saved to ${file}`)
      yield* note(`clew: ${help}`)
      const next = yield* (yield* Terminal).keys
      let saved = 0
      let found = 0
      for (const query of questions) {
        const pool = yield* judging.pool(query, where)
        found += pool.length
        const fresh = pool.filter(({ hit }) => gradeOf(known.get(query), hit) === undefined)
        const done = yield* ask(file, query, fresh, next)
        saved += done.saved
        if (done.ended) break
      }
      if (found === 0) {
        const hint = yield* filterHint(filter, flags.collection === undefined ? undefined : [flags.collection])
        return yield* nothingFound(hint)
      }
      yield* note(`clew: ${count(saved, "judgement")} saved to ${file}`)
    }).pipe(Effect.scoped, Effect.provide(engine.open("read")))
  }
)

const identityOf = ({ end_line: end, grade, query, source, start_line: start }: Judgement): string =>
  JSON.stringify([query, source, start, end, grade])

const toPool = (question: JudgedQuestion | undefined, { hit, ranks }: Pooled) => {
  const { document, passage } = hit
  return {
    source: document.source,
    start_line: passage.startLine,
    end_line: passage.endLine,
    title: document.title,
    heading: passage.heading.length === 0 ? undefined : headingPath(passage.heading),
    text: passage.text,
    ranks,
    grade: gradeOf(question, hit)
  }
}
