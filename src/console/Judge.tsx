import { useEffect, useMemo, useState } from "preact/hooks"
import { bootstrap, type Interval } from "../measuring/evaluation.ts"
import { jsonIn } from "./address.ts"
import { call, query } from "./api.ts"
import { placeText } from "./Hit.tsx"
import { useAttempt, useGet, useKeys, useShell } from "./hooks.ts"
import { count, splitSource } from "./matching.ts"
import { Columns, Copy, Empty, Progress, SourcePath, Trouble } from "./Parts.tsx"
import { gradeOf, latest, ndcg, pooled } from "./scoring.ts"
import { PassageText } from "./Text.tsx"
import type { Compared, Grade, Hit, Judged, Settings } from "./wire.ts"

const meanings = ["does not answer", "is related", "answers in part", "answers"] as const

const stored = "clew.questions"
const mostQuestions = 500

/** Questions that were judged in this browser: the server tells the judgements of one that is named. */
const questions = {
  get: (): ReadonlyArray<string> =>
    (jsonIn<ReadonlyArray<unknown>>(localStorage.getItem(stored), Array.isArray) ?? [])
      .filter((each) => typeof each === "string")
      .slice(0, mostQuestions),
  add: (question: string): void =>
    localStorage.setItem(
      stored,
      JSON.stringify([question, ...questions.get().filter((each) => each !== question)].slice(0, mostQuestions))
    )
}

interface Body {
  readonly query: string
  readonly top_k: number
  readonly a: Settings
  readonly b: Settings
}

const intervalOf = (values: ReadonlyArray<number>): Interval => bootstrap(values, 1)

interface Measured {
  readonly questions: number
  readonly a: Interval
  readonly b: Interval
  readonly difference: Interval
}

const judgedOf = async (question: string): Promise<ReadonlyArray<Grade>> =>
  (await call<Judged>("GET", `/judgements${query({ query: question })}`)).judgements

const figures = ({ high, low, mean }: Interval, few: boolean): string =>
  few ? mean.toFixed(3) : `${mean.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`

/** Searches for every question that was judged in both ways, and scores the lists. */
const measure = async (body: Body, onDone: (done: number, total: number) => void): Promise<Measured | undefined> => {
  const all = questions.get()
  const scores: Array<readonly [a: number, b: number]> = []
  for (const [at, question] of all.entries()) {
    onDone(at, all.length)
    const grades = await judgedOf(question)
    if (!grades.some(({ grade }) => grade > 0)) continue
    const { a, b } = await call<Compared>("POST", "/compare", {
      body: { ...body, query: question, top_k: Math.max(10, body.top_k) }
    })
    scores.push([ndcg(a.results, grades) ?? 0, ndcg(b.results, grades) ?? 0])
  }
  if (scores.length === 0) return undefined
  return {
    questions: scores.length,
    a: intervalOf(scores.map(([a]) => a)),
    b: intervalOf(scores.map(([, b]) => b)),
    difference: intervalOf(scores.map(([a, b]) => b - a))
  }
}

const download = async (): Promise<void> => {
  const all: Array<Grade> = []
  for (const question of questions.get()) all.push(...(await judgedOf(question)))
  const address = URL.createObjectURL(
    new Blob(
      all.map((each) => `${JSON.stringify(each)}\n`),
      { type: "application/x-ndjson" }
    )
  )
  const link = document.createElement("a")
  link.href = address
  link.download = "judgements.jsonl"
  link.click()
  URL.revokeObjectURL(address)
}

const gate = "clew benchmark --judgements judgements.jsonl --baseline quality.json --tolerance 0.02"

const Scores = ({
  body,
  compared,
  grades
}: {
  readonly body: Body
  readonly compared: Compared
  readonly grades: ReadonlyArray<Grade>
}) => {
  const { announce } = useShell()
  const [measured, setMeasured] = useState<Measured | "none">()
  const [progress, setProgress] = useState<readonly [number, number]>()
  const { attempt, failure } = useAttempt()
  const a = ndcg(compared.a.results, grades)
  const b = ndcg(compared.b.results, grades)
  const run = (work: () => Promise<unknown>) => void attempt(work).then(() => setProgress(undefined))
  const known = measured === "none" ? undefined : measured
  const few = known !== undefined && known.questions < 2
  return (
    <div class="scores">
      <table class="grid">
        <Columns names={["nDCG@10", "A", "B", "B − A"]} />
        <tbody>
          <tr>
            <th scope="row">This question</th>
            <td>{a === undefined ? "–" : a.toFixed(3)}</td>
            <td>{b === undefined ? "–" : b.toFixed(3)}</td>
            <td>{a === undefined || b === undefined ? "–" : (b - a).toFixed(3)}</td>
          </tr>
          {known !== undefined && (
            <tr>
              <th scope="row">{count(known.questions, "question")}</th>
              <td>{figures(known.a, few)}</td>
              <td>{figures(known.b, few)}</td>
              <td>{figures(known.difference, few)}</td>
            </tr>
          )}
        </tbody>
      </table>
      {measured === "none" && <p class="remark">No question that was judged here has an answer.</p>}
      {known !== undefined && (
        <p class="remark">
          {few
            ? "An interval needs several questions."
            : known.difference.low > 0
              ? "B is better: the 95 % interval of the difference is above 0."
              : known.difference.high < 0
                ? "A is better: the 95 % interval of the difference is below 0."
                : "The 95 % interval of the difference contains 0: judge more questions to tell them apart."}
        </p>
      )}
      {progress && <Progress label="Searching for all judged questions" done={progress[0]} total={progress[1]} />}
      <Trouble failure={failure} />
      <p class="actions">
        <button
          type="button"
          disabled={progress !== undefined}
          onClick={() =>
            run(async () => {
              const all = await measure(body, (done, total) => setProgress([done, total]))
              setMeasured(all ?? "none")
              announce("Measured")
            })
          }
        >
          Measure over all judged questions
        </button>
        <button type="button" onClick={() => run(download)}>
          Download judgements
        </button>
        <Copy text={gate}>Copy the gate for CI</Copy>
      </p>
      <pre class="snippet" tabIndex={0}>
        {gate}
      </pre>
    </div>
  )
}

/** Grades the passages of both lists one by one, without telling which list had them where. */
export const Judge = ({
  body,
  compared,
  question,
  words
}: {
  readonly question: string
  readonly compared: Compared
  readonly body: Body
  readonly words: ReadonlyArray<string>
}) => {
  const { announce } = useShell()
  const pool = useMemo(() => pooled(compared), [compared])
  const { failure: unread, value } = useGet<Judged>(`/judgements${query({ query: question })}`)
  const [given, give] = useState<ReadonlyArray<Grade>>([])
  const { attempt, failure } = useAttempt()
  const [at, move] = useState<number>()
  // Those of the server may have been read before or after one was given here.
  const grades = latest([...(value?.judgements ?? []), ...given])
  const graded = (hit: Hit) => gradeOf(hit, grades)
  useEffect(() => {
    if (value === undefined) return
    // Passages that were judged before are passed over, unless somebody has moved on already.
    const first = pool.findIndex((hit) => gradeOf(hit, value.judgements) === undefined)
    move((now) => now ?? Math.max(0, first))
  }, [value])
  const position = at ?? 0
  const hit = pool[position]

  const step = (by: number) => move((now = 0) => Math.max(0, Math.min(pool.length, now + by)))
  const judge = async (grade: number) => {
    if (hit === undefined) return
    const { metadata } = hit
    const judgement: Grade = {
      query: question,
      source: metadata.source,
      grade,
      start_line: metadata.start_line,
      end_line: metadata.end_line
    }
    // At once: what is pressed before the server answers is for the next passage.
    step(1)
    await attempt(async () => {
      await call("POST", "/judgements", { body: { judgements: [judgement] } }).catch((error: unknown) => {
        move(position)
        throw error
      })
      questions.add(question)
      give((before) => [...before, judgement])
      announce(`Graded ${grade}: ${meanings[grade]}`)
    })
  }
  useKeys({
    ...Object.fromEntries(meanings.map((_, grade) => [String(grade), () => void judge(grade)])),
    ArrowRight: () => step(1),
    ArrowLeft: () => step(-1)
  })
  const done = pool.filter((each) => graded(each) !== undefined).length
  return (
    <div class="judge">
      <Trouble failure={unread ?? failure} />
      <div class="judged">
        <Progress label={`${done} of ${count(pool.length, "passage")} judged`} done={done} total={pool.length} />
        <button type="button" class="quiet icon" disabled={position === 0} onClick={() => step(-1)} aria-label="Back">
          ←
        </button>
        <button type="button" class="quiet icon" disabled={hit === undefined} onClick={() => step(1)} aria-label="Skip">
          →
        </button>
      </div>
      {hit === undefined ? (
        <Empty title="All passages of both lists were shown" />
      ) : (
        <article class="card" aria-label={`Passage ${position + 1} of ${pool.length}`}>
          <h2>{hit.metadata.title ?? splitSource(hit.metadata.source)[1]}</h2>
          <p class="where">
            <SourcePath source={hit.metadata.source} />
            <span>{placeText(hit.metadata)}</span>
          </p>
          <PassageText source={hit.metadata.source} text={hit.text} words={words} />
        </article>
      )}
      <p class="actions grades" role="group" aria-label="Grade">
        {meanings.map((meaning, grade) => (
          <button
            key={grade}
            type="button"
            aria-pressed={hit !== undefined && graded(hit) === grade}
            disabled={hit === undefined}
            onClick={() => void judge(grade)}
          >
            <kbd>{grade}</kbd> {meaning}
          </button>
        ))}
      </p>
      <Scores body={body} compared={compared} grades={grades} />
    </div>
  )
}
