import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { createHash } from "node:crypto"
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  truncateSync,
  writeSync
} from "node:fs"
import { join } from "node:path"
import * as Builtin from "../../src/Embedder/Builtin.ts"
import type { EmbedderIdentity } from "../../src/model/Collection.ts"
import type { Filter } from "../../src/model/Filter.ts"
import { parseQueries } from "../../src/measuring/Benchmark.ts"
import { eachSentence } from "../../src/chunking/sentences.ts"
import { embeddedText } from "../../src/chunking/embedded.ts"
import { randomFrom } from "../../src/measuring/evaluation.ts"

export const topK = 10

/** The input of a run. */
export interface Task {
  readonly method: string
  readonly size: number
  /** Folders in BEIR layout. */
  readonly corpora: ReadonlyArray<string>
  /** Where everything is kept for the next run. */
  readonly work: string
  readonly queries: number
}

interface Source {
  readonly sentences: ReadonlyArray<string>
  readonly titles: ReadonlyArray<string>
  readonly queries: ReadonlyArray<string>
  readonly hash: string
}

const lines = (file: string): ReadonlyArray<string> =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")

/** The corpora split into sentences, and their queries. */
export const readSource = ({ corpora, queries }: Task): Source => {
  const sentences: Array<string> = []
  const titles: Array<string> = []
  const asked: Array<string> = []
  for (const folder of corpora) {
    for (const line of lines(join(folder, "corpus.jsonl"))) {
      const { text, title = "" } = JSON.parse(line) as { readonly title?: string; readonly text: string }
      if (title !== "") titles.push(title)
      let from = 0
      eachSentence(text, 0, text.length, (end) => {
        const sentence = text.slice(from, end).trim()
        if (sentence.split(" ").length >= 4) sentences.push(sentence)
        from = end
      })
    }
    asked.push(...Either.getOrThrow(parseQueries(readFileSync(join(folder, "queries.jsonl"), "utf8"))).values())
  }
  const random = randomFrom(1)
  const drawn = asked
    .map((query) => ({ query, place: random() }))
    .sort((a, b) => a.place - b.place)
    .slice(0, queries)
    .map(({ query }) => query)
  const hash = createHash("sha256").update(sentences.join("\n")).digest("hex").slice(0, 8)
  return { sentences, titles, queries: drawn, hash }
}

/** The filters, by the share of passages that they keep. */
export const filters = {
  "1 %": { one: true },
  "10 %": { ten: true },
  "50 %": { half: true }
} as const satisfies Record<string, Filter>
export type Share = keyof typeof filters
export const shares = Object.keys(filters) as ReadonlyArray<Share>

export interface Made {
  readonly title: string
  readonly text: string
  readonly metadata: { readonly one: boolean; readonly ten: boolean; readonly half: boolean }
}

/** Text of about 120 words: sentences of the corpora, two of which are adjacent there. The same for the same index. */
export const passageAt = ({ sentences, titles }: Source, index: number): Made => {
  const random = randomFrom(Math.imul(index + 1, 0x9e3779b1))
  const below = (bound: number) => Math.floor(random() * bound)
  const parts: Array<string> = []
  for (let words = 0; words < 110;) {
    const from = below(sentences.length - 1)
    for (const sentence of sentences.slice(from, from + 2)) {
      parts.push(sentence)
      words += sentence.split(" ").length
    }
  }
  return {
    title: titles[below(titles.length)] ?? "",
    text: parts.join(" "),
    metadata: { one: random() < 0.01, ten: random() < 0.1, half: random() < 0.5 }
  }
}

const batch = 1000

export interface Data {
  readonly source: Source
  readonly identity: EmbedderIdentity
  /** The queries that have a direction, with their vectors. */
  readonly queries: ReadonlyArray<{ readonly text: string; readonly vector: Float32Array }>
  /** Rows from `first` on, with the embedder's dimensions. */
  readonly vectors: (first: number, count: number) => Float32Array
}

/** Computes the missing vectors, in a file that grows. */
export const prepare = (task: Task): Effect.Effect<Data> =>
  Effect.gen(function* () {
    const source = readSource(task)
    const embedder = yield* Builtin.make()
    const identity = yield* Effect.orDie(embedder.identity)
    const bytes = identity.dimensions * 4
    mkdirSync(task.work, { recursive: true })
    const file = join(task.work, `vectors-${source.hash}.f32`)
    const known = existsSync(file) ? Math.floor(statSync(file).size / bytes) : 0
    if (known > 0) truncateSync(file, known * bytes)
    if (known < task.size) {
      const out = openSync(file, "a")
      const started = performance.now()
      for (let at = known; at < task.size; at += batch) {
        const made = Array.from({ length: Math.min(batch, task.size - at) }, (_, n) => passageAt(source, at + n))
        const texts = made.map(({ text, title }) => embeddedText(title, { heading: [], text }))
        const vectors = yield* Effect.orDie(embedder.embedPassages(texts))
        const rows = new Float32Array(made.length * identity.dimensions)
        for (const [row, vector] of vectors.entries()) rows.set(Option.getOrThrow(vector), row * identity.dimensions)
        writeSync(out, rows)
      }
      closeSync(out)
      const rate = (task.size - known) / ((performance.now() - started) / 1000)
      console.error(`${task.size - known} passages made and embedded, ${rate.toFixed(0)}/s`)
    }
    const opened = openSync(file, "r")
    const queries = yield* Effect.forEach(source.queries, (text) =>
      Effect.map(
        Effect.orDie(embedder.embedQuery(text)),
        Option.map((vector) => ({ text, vector }))
      )
    )
    return {
      source,
      identity,
      queries: queries.flatMap(Option.toArray),
      vectors: (first, count) => {
        const rows = new Float32Array(count * identity.dimensions)
        // One call reads at most 2 GB.
        const most = 1 << 20
        for (let at = 0; at < count; at += most) {
          const part = rows.subarray(at * identity.dimensions, Math.min(count, at + most) * identity.dimensions)
          readSync(opened, part, 0, part.byteLength, (first + at) * bytes)
        }
        return rows
      }
    }
  })
