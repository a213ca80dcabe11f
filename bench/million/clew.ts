import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { copyFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as App from "../../src/App.ts"
import { percentile } from "../../src/measuring/Benchmark.ts"
import { noApiKeys } from "../../src/Config/Env.ts"
import { Settings } from "../../src/Config/Settings.ts"
import { defaultCollection } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"
import type { PreparedDocument } from "../../src/model/Stored.ts"
import { documentLanguage } from "../../src/terms/detect.ts"
import { type Stores, type Whole, whole } from "../../src/Store.ts"
import { median, program, run } from "../program.ts"
import { type Data, filters, passageAt, shares, type Task, topK } from "./data.ts"
import type { Result, Row, Truth } from "./result.ts"
import { measure } from "./timing.ts"
import { type RankedRequest, ranked } from "../../test/ranked.ts"

const batch = 500

/** The first and last rates are those of this many passages, or of a tenth if there are fewer. */
const edge = 100_000

/** Largest index that is written to during queries: the promised latency is for this size. */
const busySize = 100_000
const busySeconds = 15

const open = (path: string, store: "create" | "existing" | "readonly", pooled = false) =>
  App.layer({
    settings: Schema.decodeSync(Settings)({ embedding: { backend: "builtin" }, store: { path } }),
    apiKeys: noApiKeys,
    store,
    pooled
  })

/** Passages as the store takes them, each a document. */
export const documents = (
  { identity, source, vectors }: Data,
  first: number,
  count: number,
  prefix = "p"
): ReadonlyArray<PreparedDocument> => {
  const width = identity.dimensions
  const rows = vectors(first, count)
  return Array.from({ length: count }, (_, n) => {
    const { metadata, text, title } = passageAt(source, first + n)
    const docId = DocumentId.make(`${prefix}${first + n}`)
    const span = { start: 0, end: text.length, startLine: 1, endLine: 1 }
    const vector = Option.some(rows.slice(n * width, (n + 1) * width))
    return {
      docId,
      derivedId: docId,
      fingerprint: docId,
      content: text,
      title,
      language: documentLanguage([{ text }]),
      metadata,
      passages: [{ ...span, text, heading: [], vector }]
    }
  })
}

interface Built {
  readonly seconds: number
  /** Passages a second. */
  readonly first: number
  readonly last: number
}

const build = (data: Data, { size }: Task, file: string) =>
  Effect.gen(function* () {
    const store = yield* whole
    yield* store.createCollection(defaultCollection, data.identity)
    const share = Math.min(edge, Math.ceil(size / 10))
    const started = performance.now()
    const marks = { first: 0, beforeLast: 0 }
    for (let at = 0; at < size; at += batch) {
      if (at < share) marks.first = at
      yield* store.put(defaultCollection, documents(data, at, Math.min(batch, size - at)))
      const now = performance.now() - started
      if (at < share) marks.first = now
      if (at + batch <= size - share) marks.beforeLast = now
    }
    const ms = performance.now() - started
    return {
      seconds: ms / 1000,
      first: (share * 1000) / marks.first,
      last: (share * 1000) / (ms - marks.beforeLast)
    } satisfies Built
  }).pipe(Effect.provide(open(file, "create")))

export const requestOf = (query: Data["queries"][number], request: RankedRequest): RankedRequest => ({
  vector: query.vector,
  keyword: query.text,
  alpha: 0.4,
  limit: topK,
  ...request
})

/** Queries one after another while batches are written without a pause. */
const whileIndexing = (data: Data, { size }: Task) =>
  Effect.gen(function* () {
    const store = yield* whole
    const put = (at: number) => store.put(defaultCollection, documents(data, at % (size - batch), batch, `again${at}-`))
    let written = 0
    const writing = yield* Effect.fork(
      Effect.iterate(0, {
        while: () => true,
        body: (at) =>
          Effect.map(put(at), () => {
            written += batch
            return at + batch
          })
      })
    )
    const times: Array<number> = []
    const one = (n: number) => ranked(store, requestOf(data.queries[n % data.queries.length]!, {}))
    // All threads have started once both have worked.
    yield* Effect.repeat(Effect.all([one(0), one(1)], { concurrency: 2 }), { while: () => written === 0 })
    const [started, before] = [performance.now(), written]
    for (let n = 0; performance.now() - started < busySeconds * 1000; n++) {
      const from = performance.now()
      yield* one(n)
      times.push(performance.now() - from)
    }
    const rate = (written - before) / ((performance.now() - started) / 1000)
    yield* Fiber.interrupt(writing)
    return {
      name: `Clew hybrid, while ${rate.toFixed(0)}/s are indexed`,
      p50: percentile(times, 0.5),
      p99: percentile(times, 0.99),
      recall: null
    }
  })

const on = <A, E>(layer: Layer.Layer<Stores, unknown>, use: (store: Whole) => Effect.Effect<A, E, Stores>) =>
  Effect.scoped(Effect.flatMap(Layer.build(layer), (context) => Effect.provide(Effect.flatMap(whole, use), context)))

export const clew = async (data: Data, task: Task, truth: Truth): Promise<Result> => {
  const file = join(task.work, `clew-${data.source.hash}-${task.size}.db`)
  const figures = `${file}.json`
  if (!existsSync(figures)) {
    for (const part of ["", "-wal", "-shm"]) rmSync(`${file}${part}`, { force: true })
    writeFileSync(figures, JSON.stringify(await Effect.runPromise(build(data, task, file))))
  }
  const built = JSON.parse(readFileSync(figures, "utf8")) as Built
  const notes = [
    `Clew at ${task.size}: indexed at ${built.first.toFixed(0)} passages/s first and ${built.last.toFixed(0)} last, vectors made before`
  ]

  const rows: Array<Row> = []
  let rss = 0
  await Effect.runPromise(
    on(open(file, "readonly"), (store) =>
      Effect.promise(async () => {
        const timed = async (name: string, request: RankedRequest, wanted?: ReadonlyArray<ReadonlyArray<number>>) =>
          rows.push(
            await measure(`Clew ${name}`, data.queries, wanted, async (query) => {
              const hits = await Effect.runPromise(ranked(store, requestOf(query, request)))
              return hits.map(({ document }) => Number(document.docId.slice(1)))
            })
          )
        await timed("vector", { keyword: undefined }, truth["all"])
        for (const share of shares) {
          await timed(`vector, filter ${share}`, { keyword: undefined, filter: filters[share] }, truth[share])
        }
        await timed("keyword", { vector: undefined })
        await timed("hybrid", {})
        for (const share of shares) await timed(`hybrid, filter ${share}`, { filter: filters[share] })
        rss = process.memoryUsage().rss
      })
    )
  )

  const query = data.queries.slice(0, 5).map(({ text }) => run([program(), "query", "--db", file, "--", text]).ms)
  notes.push(`Clew at ${task.size}: \`clew query\` from start to end ${median(query).toFixed(0)} ms`)

  if (task.size <= busySize) {
    const busy = join(task.work, "busy.db")
    for (const part of ["", "-wal", "-shm"]) rmSync(`${busy}${part}`, { force: true })
    copyFileSync(file, busy)
    rows.push(await Effect.runPromise(on(open(busy, "existing", true), () => whileIndexing(data, task))))
    for (const part of ["", "-wal", "-shm"]) rmSync(`${busy}${part}`, { force: true })
  }
  return { rows, buildSeconds: built.seconds, rss, bytes: statSync(file).size, notes }
}
