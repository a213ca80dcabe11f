import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { Scanner } from "../src/codes/Scanner.ts"
import * as checkedVectors from "../src/Store/sqlite/checkedVectors.ts"
import { codesOn } from "../src/Store/sqlite/codes.ts"
import { connect } from "../src/Store/sqlite/connect.ts"
import type { Mask } from "../src/model/Mask.ts"
import { transaction } from "../src/Store/sqlite/transaction.ts"
import * as vectors from "../src/Store/sqlite/vectors.ts"
import { vectorsIn, vectorsOf } from "./vectorsOf.ts"

const collection = 1
const depth = 200
const rounds = 3

const percentile = (values: ReadonlyArray<number>, at: number): string =>
  (values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * at))] ?? 0).toFixed(1)

const spread = (values: ReadonlyArray<number>) => ({ p50: percentile(values, 0.5), p99: percentile(values, 0.99) })

/** The store's tables with only vectors, inserted as an indexing run would; returns microseconds a row by hundredths. */
const fill = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, file: string, width: number, count: number) {
  yield* sql.unsafe(
    `INSERT INTO collections (id, name, backend, model, dimensions, query_prefix, passage_prefix, created_at)
     VALUES (?, 'bench', 'builtin', 'bench', ?, '', '', 0)`,
    [collection, width]
  )
  yield* vectors.create(sql, collection)
  const times: Array<number> = []
  let id = 1
  for (const part of vectorsIn(file, width, Math.min(512, count / 100))) {
    const rows = Array.from({ length: part.length / width }, (_, row) => ({
      id: id++,
      vector: Option.some(part.slice(row * width, (row + 1) * width))
    }))
    const began = performance.now()
    yield* transaction(sql, "BEGIN IMMEDIATE")(vectors.insert(sql, collection, rows))
    times.push(((performance.now() - began) * 1000) / rows.length)
  }
  const tenth = Math.floor(times.length / 10)
  console.log(
    `put in: ${percentile(times.slice(0, tenth), 0.5)} µs a row in the first tenth, ` +
      `${percentile(times.slice(-tenth), 0.5)} in the last (median of batches)`
  )
})

/** Ids of each query's `depth` nearest, by brute force over the file, best first. */
const truth = (
  file: string,
  queries: ReadonlyArray<Float32Array>,
  width: number
): ReadonlyArray<ReadonlyArray<number>> => {
  const kept = `${file}.truth-${queries.length}.json`
  if (existsSync(kept)) return JSON.parse(readFileSync(kept, "utf8")) as ReadonlyArray<ReadonlyArray<number>>
  const best = queries.map(() => ({ floor: -Infinity, found: [] as Array<readonly [number, number]> }))
  let id = 1
  for (const part of vectorsIn(file, width, 4096)) {
    for (let at = 0; at < part.length; at += width, id++) {
      queries.forEach((query, q) => {
        let dot = 0
        for (let d = 0; d < width; d++) dot += query[d]! * part[at + d]!
        const mine = best[q]!
        if (dot <= mine.floor) return
        if (mine.found.push([dot, id]) < 4 * depth) return
        mine.found = mine.found.sort((a, b) => b[0] - a[0]).slice(0, depth)
        mine.floor = mine.found.at(-1)![0]
      })
    }
  }
  const ids = best.map(({ found }) =>
    found
      .sort((a, b) => b[0] - a[0])
      .slice(0, depth)
      .map(([, id]) => id)
  )
  writeFileSync(kept, JSON.stringify(ids))
  return ids
}

/** About every `1 / share`-th passage, at random. */
const maskOf = (count: number, share: number): Mask => {
  const bits = new Uint32Array((count >>> 5) + 1)
  let chosen = 0
  for (let id = 1, state = 1; id <= count; id++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0
    if ((state >>> 0) / 2 ** 32 >= share) continue
    bits[id >>> 5]! |= 1 << (id & 31)
    chosen++
  }
  return { bits, count: chosen }
}

const measure = Effect.fnUntraced(function* (folder: string, scratch: string, count: number) {
  const { file, queries: all, width } = yield* Effect.promise(() => vectorsOf(folder, scratch, count))
  const every = Math.max(1, Math.floor(all.length / 100))
  const queries = all.filter((_, i) => i % every === 0).slice(0, 100)
  const filename = join(scratch, `scan-${count}.db`)
  const isNew = !existsSync(filename)
  const sql = yield* connect({ filename, mode: "create" })
  if (isNew) yield* fill(sql, file, width, count)
  const read = transaction(sql, "BEGIN")
  const nearest = truth(file, queries, width)

  const before = process.memoryUsage().rss
  const codes = new Scanner()
  const cold = performance.now()
  yield* read(codes.nearest(codesOn(sql), collection, queries[0]!, { wanted: 1600, mask: undefined }))
  const coldMs = performance.now() - cold
  const { bytes, loadedMs } = codes.figures
  console.log(
    `${count} × ${width}, database ${(statSync(filename).size / 1e6).toFixed(0)} MB; codes ${(bytes / 1e6).toFixed(1)} MB, ` +
      `loaded in ${loadedMs.toFixed(0)} ms (first scan after ${coldMs.toFixed(0)}), ` +
      `${((process.memoryUsage().rss - before) / 1e6).toFixed(0)} MB more resident`
  )

  const rows: Record<string, unknown> = {}
  const each = Effect.fnUntraced(function* <A, E>(
    name: string,
    work: (query: Float32Array) => Effect.Effect<A, E>,
    recall?: (results: ReadonlyArray<A>) => Record<string, string>
  ) {
    const times: Array<number> = []
    let results: Array<A> = []
    let used = process.cpuUsage()
    for (let round = 0; round < rounds; round++) {
      if (round === 1) used = process.cpuUsage()
      results = []
      for (const query of queries) {
        const began = performance.now()
        results.push(yield* work(query))
        times.push(performance.now() - began)
      }
    }
    const { system, user } = process.cpuUsage(used)
    const cpu = ((user + system) / 1000 / queries.length / (rounds - 1)).toFixed(1)
    rows[name] = { "mean CPU": cpu, ...spread(times.slice(queries.length)), ...recall?.(results) }
  })
  type Found = ReadonlyArray<ReadonlyArray<{ readonly id: number }>>
  const recallOf = (results: Found, expected: ReadonlyArray<ReadonlyArray<number>>) =>
    Object.fromEntries(
      [10, 100, 200].map((k) => {
        const shares = results.map((found, q) => {
          const ids = new Set(found.map(({ id }) => id))
          return expected[q]!.slice(0, k).filter((id) => ids.has(id)).length / k
        })
        return [`recall@${k}`, (shares.reduce((a, b) => a + b, 0) / shares.length).toFixed(4)]
      })
    )
  const recalls = (results: Found) => recallOf(results, nearest)
  const leg =
    (mask: Mask | undefined, oversample: "auto" | number, exact = false) =>
    (query: Float32Array) =>
      read(
        vectors.search(
          sql,
          { codes, checked: checkedVectors.make(), vectors: { oversample, exact } },
          collection,
          query,
          {
            depth,
            mask,
            passages: count
          }
        )
      )

  yield* each("scan alone", (query) =>
    read(codes.nearest(codesOn(sql), collection, query, { wanted: 1000, mask: undefined }))
  )
  for (const oversample of ["auto", 8, 16] as const) {
    yield* each(`leg, oversample ${oversample}`, leg(undefined, oversample), recalls)
  }
  for (const share of [0.5, 0.1, 0.01, 0.009, 0.003]) {
    const mask = maskOf(count, share)
    // The exact order is quick to compute for a few passages; for many it is skipped.
    const fully = mask.count > 20_000 ? [] : yield* Effect.forEach(queries, leg(mask, "auto", true))
    const expected = fully.map((found) => found.map(({ id }) => id))
    yield* each(`leg, filter that leaves ${mask.count}`, leg(mask, "auto"), (results) =>
      expected.length === 0 ? {} : recallOf(results, expected)
    )
  }
  console.table(rows)
}, Effect.scoped)

/** The vector leg compared with brute force: latency, recall, loading, and the cost of inserting. */
export const main = async (folder: string, scratch: string, counts: ReadonlyArray<number>): Promise<void> => {
  mkdirSync(scratch, { recursive: true })
  for (const count of counts) await Effect.runPromise(measure(folder, scratch, count))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [folder, scratch, ...counts] = process.argv.slice(2)
  if (folder === undefined || scratch === undefined) {
    console.error("usage: tsx bench/scan.ts <folder of data sets in BEIR layout> <scratch folder> [passages…]")
    process.exitCode = 2
  } else await main(folder, scratch, counts.length > 0 ? counts.map(Number) : [100_000, 1_000_000])
}
