import * as Effect from "effect/Effect"
import type * as SqlClient from "@effect/sql/SqlClient"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { percentile } from "../src/measuring/Benchmark.ts"
import { connect } from "../src/Store/sqlite/connect.ts"
import * as keyword from "../src/Store/sqlite/keyword.ts"
import { transaction } from "../src/Store/sqlite/transaction.ts"
import { fts5 } from "../test/fts5.ts"
import { temporaryFolder } from "./program.ts"

interface Collection {
  readonly rows: ReadonlyArray<keyword.KeywordRow>
  readonly queries: ReadonlyArray<string>
}

const lines = <A>(file: string): ReadonlyArray<A> =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as A)

export const read = (folder: string): Collection => ({
  rows: lines<{ readonly title?: string; readonly text: string }>(join(folder, "corpus.jsonl")).map(
    ({ text, title }, index) => ({ id: index + 1, title: title ?? "", heading: "", text })
  ),
  queries: lines<{ readonly text: string }>(join(folder, "queries.jsonl")).map(({ text }) => text)
})

/** Passages of the pipeline's batch, one transaction. */
const batchRows = 700
const collection = 1
const depth = 200

export const index = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, rows: Iterable<keyword.KeywordRow>) {
  const write = transaction(sql, "BEGIN IMMEDIATE")
  const times = { put: 0, merge: 0, longest: 0 }
  const timed =
    (kind: "put" | "merge") =>
    <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.suspend(() => {
        const started = performance.now()
        return Effect.tap(effect, () =>
          Effect.sync(() => {
            const took = performance.now() - started
            times[kind] += took
            if (kind === "merge") times.longest = Math.max(times.longest, took)
          })
        )
      })
  const step = timed("merge")(write(keyword.mergeStep(sql)))
  let batch: Array<keyword.KeywordRow> = []
  const put = Effect.suspend(() => {
    const full = batch
    batch = []
    return timed("put")(write(keyword.insert(sql, collection, full)))
  })
  for (const row of rows) {
    batch.push(row)
    if (batch.length < batchRows) continue
    yield* put
    // As in the background: steps alternate with puts.
    yield* step
    yield* step
  }
  yield* put
  yield* Effect.repeat(step, { while: (more) => more })
  return times
})

export const ask = (sql: SqlClient.SqlClient, query: string) =>
  transaction(sql, "BEGIN")(keyword.search(sql, [collection], query, { depth, mask: undefined, also: [] }))

/** How many queries have the same top ten as FTS5, apart from ties. */
const compare = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, { queries, rows }: Collection) {
  const reference = fts5(rows)
  let same = 0
  for (const query of queries) {
    const expected = new Map(reference.search(query).map(({ id, score }) => [id, score]))
    const ranked = [...expected.values()]
    const found = (yield* ask(sql, query)).slice(0, 10)
    const agrees =
      found.length === Math.min(10, expected.size) &&
      found.every(({ id, score }, rank) => {
        const close = (other: number | undefined) => other !== undefined && Math.abs(other - score) < 1e-6
        return close(expected.get(id)) && close(ranked[rank])
      })
    if (agrees) same++
    else console.log(`differs: ${query}`, found, [...expected].slice(0, 10))
  }
  reference.close()
  return same
})

/** Numbers between 0 and 1, the same in every run. */
const random = (seed: number) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
  return seed / 2 ** 32
}

/** Passages of about 120 words from sentences of real texts, four under each title. */
export function* resample(rows: ReadonlyArray<keyword.KeywordRow>, count: number): Generator<keyword.KeywordRow> {
  const next = random(1)
  const pick = <A>(from: ReadonlyArray<A>): A => from[Math.floor(next() * from.length)]!
  const sentences = rows
    .flatMap(({ text }) => text.split(/(?<=[.?!])\s+/))
    .map((text) => ({ text, words: text.split(/\s+/).length }))
  let title = ""
  for (let id = 1; id <= count; id++) {
    if (id % 4 === 1) title = pick(rows).title
    const parts: Array<string> = []
    for (let words = 0; words < 120;) {
      const sentence = pick(sentences)
      parts.push(sentence.text)
      words += sentence.words
    }
    yield { id, title, heading: "", text: parts.join(" ") }
  }
}

const open = Effect.fnUntraced(function* () {
  const filename = join(temporaryFolder(), "index.db")
  const sql = yield* connect({ filename, mode: "create" })
  return { filename, sql }
})

export const bytesOf = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql.unsafe<{ readonly name: string; readonly bytes: number }>(
      "SELECT name, sum(pgsize) AS bytes FROM dbstat WHERE name LIKE 'keyword%' GROUP BY name"
    ),
    (rows) => rows.reduce((sum, { bytes }) => sum + bytes, 0)
  )

const measure = Effect.fnUntraced(function* (collections: ReadonlyArray<Collection>, size: number) {
  const { filename, sql } = yield* open()
  const times = yield* index(
    sql,
    resample(
      collections.flatMap(({ rows }) => rows),
      size
    )
  )
  const each = (ms: number) => ((1000 * ms) / size).toFixed(1)
  const bytes = yield* bytesOf(sql)
  console.log(
    `${size} passages: put ${each(times.put)} µs, merging ${each(times.merge)} µs a passage, longest step ` +
      `${times.longest.toFixed(0)} ms, ${(bytes / size).toFixed(1)} bytes a passage`
  )
  const segments = yield* sql.unsafe<{ readonly n: number }>("SELECT count(*) AS n FROM keyword_segments")
  const queries = collections.flatMap((collection) => collection.queries)
  const started = performance.now()
  const other = yield* connect({ filename, mode: "existing" })
  yield* ask(other, queries[0]!)
  console.log(`  ${segments[0]!.n} segments, first query ${(performance.now() - started).toFixed(0)} ms`)
  for (const round of ["cold", "warm", "warm"]) {
    const milliseconds: Array<number> = []
    for (const query of queries) {
      const started = performance.now()
      yield* ask(sql, query)
      milliseconds.push(performance.now() - started)
    }
    const at = (share: number) => percentile(milliseconds, share).toFixed(1)
    console.log(`  ${round}: ${queries.length} queries, p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms`)
  }
})

/** Compares the keyword leg with FTS5 on collections in BEIR layout, then times it at several sizes. */
export const main = (folders: ReadonlyArray<string>, sizes: ReadonlyArray<number>) =>
  Effect.gen(function* () {
    const collections = folders.map(read)
    for (const [place, collection] of collections.entries()) {
      const { sql } = yield* open()
      yield* index(sql, collection.rows)
      const same = yield* compare(sql, collection)
      console.log(`${folders[place]}: same best ten as FTS5 for ${same} of ${collection.queries.length} queries`)
    }
    for (const size of sizes) yield* Effect.scoped(measure(collections, size))
  }).pipe(Effect.scoped, Effect.runPromise)

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const given = process.argv.slice(2)
  const sizes = given.filter((argument) => /^\d+$/.test(argument)).map(Number)
  const folders = given.filter((argument) => !/^\d+$/.test(argument))
  if (folders.length === 0) {
    console.error("usage: tsx bench/keyword.ts <folder of a data set in BEIR layout>... [passages]...")
    process.exitCode = 2
  } else await main(folders, sizes)
}
