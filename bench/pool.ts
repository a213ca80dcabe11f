import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { readFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { layerOf } from "../src/App.ts"
import { percentile, parseQueries } from "../src/measuring/Benchmark.ts"
import { Embedders } from "../src/Embedders.ts"
import { FileIndexer } from "../src/files/FileIndexer.ts"
import { CollectionName, defaultCollection } from "../src/model/Collection.ts"
import { DocumentId } from "../src/model/Document.ts"
import { type Stores, whole } from "../src/Store.ts"
import * as Threaded from "../src/Store/SqliteThreaded.ts"
import { corpusNamed, temporaryFolder } from "./program.ts"
import * as Sqlite from "../src/Store/Sqlite.ts"
import { type RankedRequest, ranked } from "../test/ranked.ts"

const seconds = 4
const atOnce = 8
const resolution = 1

const corpus = resolve(corpusNamed("pool"))
const filename = join(temporaryFolder(), "index.db")
const queries = [
  ...Option.getOrThrow(
    Option.getRight(parseQueries(readFileSync(join(dirname(corpus), "queries.jsonl"), "utf8")))
  ).values()
]

const large = { collection: CollectionName.make("large"), docId: DocumentId.make("large"), bytes: 20_000_000 }

/** Indexes the corpus, and separately one large document; returns the queries as requests to the store. */
const prepare = Effect.gen(function* () {
  const files = yield* FileIndexer
  const embedders = yield* Embedders
  const store = yield* whole
  yield* Stream.runDrain(files.run({ paths: [corpus], collection: defaultCollection, prune: false, dryRun: false }))
  const identity = yield* embedders.configured.identity
  yield* store.createCollection(large.collection, identity)
  const length = 700
  const text = "It goes on about rivers and seas. ".repeat(length).slice(0, length)
  const content = text.repeat(large.bytes / length)
  yield* store.put(large.collection, [
    {
      docId: large.docId,
      derivedId: large.docId,
      fingerprint: "",
      language: "en",
      metadata: {},
      content,
      passages: Array.from({ length: large.bytes / length }, (_, n) => ({
        text,
        start: n * length,
        end: (n + 1) * length,
        startLine: 1,
        endLine: 1,
        heading: [],
        vector: Option.none()
      }))
    }
  ])
  return yield* Effect.forEach(queries, (keyword) =>
    Effect.map(embedders.configured.embedQuery(keyword), (vector): RankedRequest => ({
      collection: defaultCollection,
      keyword,
      vector: Option.getOrUndefined(vector),
      alpha: 0.4,
      fusion: "rrf",
      filter: {},
      limit: 10
    }))
  )
})

const ms = (value: number): string => `${value.toFixed(value < 1 ? 3 : 1)} ms`

/** How late timers were during an effect: other work on the thread waited as long. */
const lag = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const delay = monitorEventLoopDelay({ resolution })
    delay.enable()
    // It counts from its first turn.
    yield* Effect.sleep("20 millis")
    const result = yield* effect
    // So that a turn that has just ended counts.
    yield* Effect.sleep("20 millis")
    delay.disable()
    const late = (nanoseconds: number) => ms(Math.max(0, nanoseconds / 1e6 - resolution))
    return { result, lag: `event loop late p99 ${late(delay.percentile(99))}, most ${late(delay.max)}` }
  })

const timed = <A, E, R>(effect: Effect.Effect<A, E, R>, into: Array<number>) =>
  Effect.suspend(() => {
    const from = performance.now()
    return Effect.tap(effect, () => Effect.sync(() => into.push(performance.now() - from)))
  })

const figures = (times: ReadonlyArray<number>) =>
  `p50 ${ms(percentile(times, 0.5))}  p99 ${ms(percentile(times, 0.99))}`

/** Queries one at a time, then many at once. */
const load = (name: string, requests: ReadonlyArray<RankedRequest>) =>
  Effect.gen(function* () {
    const store = yield* whole
    // Long enough for all threads to start, which they do on demand.
    const warm = performance.now() + seconds * 1000
    yield* Effect.repeat(
      Effect.forEach(requests.slice(0, atOnce), (request) => ranked(store, request), {
        concurrency: atOnce,
        discard: true
      }),
      { while: () => performance.now() < warm }
    )
    const alone: Array<number> = []
    yield* Effect.forEach(requests.slice(0, 100), (request) => timed(ranked(store, request), alone))
    const together: Array<number> = []
    const until = performance.now() + seconds * 1000
    const before = process.cpuUsage()
    const { lag: late } = yield* lag(
      Effect.forEach(
        Array.from({ length: atOnce }, (_, n) => n),
        (first) =>
          Effect.iterate(first, {
            while: () => performance.now() < until,
            body: (n) => Effect.as(timed(ranked(store, requests[n % requests.length]!), together), n + atOnce)
          }),
        { concurrency: "unbounded" }
      )
    )
    const rate = together.length / seconds
    const used = process.cpuUsage(before)
    // If other processes want the cores, this shows what the threads could not use.
    const cores = (used.user + used.system) / 1e6 / seconds
    console.log(
      `${name}\n  one at a time  ${figures(alone)}\n  ${atOnce} at once      ${figures(together)}  ${rate.toFixed(0)}/s, ${cores.toFixed(2)} cores used\n  ${late}`
    )
    return rate
  })

const trivial = Effect.gen(function* () {
  const store = yield* whole
  const reads = {
    collection: store.collection(defaultCollection),
    collections: store.collections,
    stats: store.stats()
  }
  for (const [name, read] of Object.entries(reads) as ReadonlyArray<[string, Effect.Effect<unknown, unknown>]>) {
    const times: Array<number> = []
    for (let n = 0; n < 500; n++) yield* timed(read, times)
    console.log(`on the caller's thread: ${name.padEnd(12)} ${figures(times)}`)
  }
})

/** Short reads during a long one. */
const beside = (requests: ReadonlyArray<RankedRequest>) =>
  Effect.gen(function* () {
    const store = yield* whole
    const short: Array<number> = []
    const long: Array<number> = []
    const { lag: late } = yield* lag(
      Effect.zipRight(
        timed(store.get(large.collection, large.docId), long),
        Effect.forEach(requests.slice(0, 20), (request) => timed(ranked(store, request), short)),
        { concurrent: true }
      )
    )
    console.log(
      `a document of ${large.bytes / 1e6} MB read in ${ms(long[0]!)}, queries meanwhile ${figures(short)}\n  ${late}`
    )
  })

const requests = await Effect.runPromise(
  Effect.provide(prepare, layerOf({ store: { path: filename }, embedding: { backend: "builtin" } }))
)
const on = <A, E>(layer: Layer.Layer<Stores, unknown>, effect: Effect.Effect<A, E, Stores>) =>
  Effect.runPromise(Effect.scoped(Effect.flatMap(Layer.build(layer), (context) => Effect.provide(effect, context))))
const pooled = (readers: number) => Threaded.layerPooled({ filename, mode: "existing", readers })

await on(pooled(2), trivial)
await on(Sqlite.layer({ filename, mode: "existing" }), load("in process", requests))
const one = await on(pooled(1), load("a pool of 1", requests))
const two = await on(pooled(2), load("a pool of 2", requests))
console.log(`two threads answer ${(two / one).toFixed(2)} times as many as one`)
await on(pooled(2), Effect.zipRight(load("a pool of 2, again", requests), beside(requests)))
