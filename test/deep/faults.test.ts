import { assert, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as fs from "node:fs"
import * as path from "node:path"
import { CollectionName, defaultCollection } from "../../src/model/Collection.ts"
import * as SqliteExaminer from "../../src/Store/SqliteExaminer.ts"
import { document, embedder } from "../contracts/Store.ts"
import { Examiner, StoreUnavailable, type Whole, whole } from "../../src/Store.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { temporaryFolder } from "../folder.ts"
import { ranked } from "../ranked.ts"

/** Each statement of each operation with CLEW_LONG_TESTS=1, else some of them. */
const isLong = process.env["CLEW_LONG_TESTS"] === "1"
const tries = isLong ? Infinity : 3

/** Lets a statement fail as SQLite lets it where the disk does. */
const faults = Effect.acquireRelease(
  Effect.sync(() => {
    // One prototype for the statements of all databases.
    const probe = new Database(":memory:")
    const statement = Object.getPrototypeOf(probe.prepare("SELECT 1")) as Record<string, (...args: never) => unknown>
    probe.close()
    const state = { done: 0, failing: Infinity, code: "SQLITE_IOERR_WRITE" }
    const kept = new Map(["run", "all", "get"].map((name) => [name, statement[name]!]))
    for (const [name, original] of kept) {
      statement[name] = function (this: Database.Statement, ...args: never) {
        // Taking back is SQLite's own, without a write.
        if (!this.source.startsWith("ROLLBACK") && ++state.done === state.failing) {
          throw new Database.SqliteError("disk I/O error", state.code)
        }
        return original.apply(this, args)
      } as never
    }
    const stop = () => {
      for (const [name, original] of kept) statement[name] = original
    }
    return { state, stop }
  }),
  ({ stop }) => Effect.sync(stop)
)

type Service = Whole

const other = CollectionName.make("other")
const next = { ...embedder, model: "next" }
const vector = Option.some(Float32Array.of(0, 1, 0, 0))

const note = (n: number, version = "") =>
  document(`river ${n}${version}\nand sea ${n}`, {
    source: `s${n}`,
    origin: `/notes/${n}`,
    title: `Note ${n}`,
    metadata: { n }
  })

const reindexed = Effect.fnUntraced(function* (store: Service) {
  yield* store.beginReindex(defaultCollection, next)
  for (;;) {
    const { passages, position } = yield* store.unembedded(defaultCollection, next, 20)
    if (passages.length === 0) break
    yield* store.putReindexed(
      defaultCollection,
      passages.map(({ id }) => ({ id, vector })),
      position
    )
  }
  return yield* store.finishReindex(defaultCollection, next)
})

/** Whatever writes; each can be done twice. */
const operations: Readonly<Record<string, (store: Service) => Effect.Effect<unknown, unknown>>> = {
  put: (store) => store.put(defaultCollection, [note(3, " anew"), note(100)]),
  deleteSource: (store) => store.deleteSource(defaultCollection, "s4"),
  settle: (store) => store.settle(),
  purge: (store) => store.purge(),
  reindex: reindexed,
  dropCollection: (store) =>
    Effect.zipRight(
      Effect.catchTag(store.dropCollection(other), "CollectionNotFound", () => Effect.void),
      Effect.repeat(store.settle(), { while: () => store.sweeping() })
    ),
  compact: (store) => store.compact()
}

const build = Effect.fnUntraced(function* (store: Service) {
  for (const name of [defaultCollection, other]) {
    yield* store.createCollection(name, embedder)
    for (let n = 0; n < 12; n++) yield* store.put(name, [note(n)])
    for (let n = 0; n < 3; n++) yield* store.deleteSource(name, `s${n}`)
  }
})

const contentsOf = Effect.fnUntraced(function* (store: Service) {
  const all: Array<unknown> = []
  for (const { name } of yield* store.collections) {
    const listed = yield* store.list(name, { limit: 100 })
    const hits = yield* ranked(store, {
      collection: name,
      keyword: "river anew",
      vector: Float32Array.of(1, 0.5, 0, 0),
      alpha: 0.5,
      limit: 50
    })
    all.push(
      name,
      listed.map(({ source, passages }) => [source, passages]),
      hits.map((hit) => [hit.document.source, hit.passage.text, hit.score.toFixed(6)])
    )
  }
  return all
})

it.scopedLive(
  "a statement that fails, whichever it is, is told by name, leaves the index whole, and the next try succeeds",
  () =>
    Effect.gen(function* () {
      const place = yield* temporaryFolder
      const { state } = yield* faults
      const fresh = path.join(place, "fresh.db")
      yield* Effect.flatMap(whole, build).pipe(Effect.provide(Sqlite.layer({ filename: fresh, mode: "create" })))
      const filename = path.join(place, "index.db")
      const copy = () => {
        for (const name of [filename, `${filename}-wal`, `${filename}-shm`]) fs.rmSync(name, { force: true })
        fs.copyFileSync(fresh, filename)
      }
      const using = <A, E>(use: (store: Service) => Effect.Effect<A, E>) =>
        Effect.scoped(
          Effect.flatMap(Layer.build(Sqlite.layer({ filename, mode: "existing" })), (context) =>
            Effect.flatMap(Effect.provide(whole, context), use)
          )
        )
      for (const [name, operation] of Object.entries(operations)) {
        copy()
        const [expected, statements] = yield* using((store) =>
          Effect.gen(function* () {
            state.done = 0
            yield* operation(store)
            const statements = state.done
            return [yield* contentsOf(store), statements] as const
          })
        )
        const step = Math.max(1, Math.floor(statements / tries))
        for (let failing = 1; failing <= statements; failing += step) {
          const at = `${name}, statement ${failing} of ${statements}`
          copy()
          const contents = yield* using((store) =>
            Effect.gen(function* () {
              Object.assign(state, { done: 0, failing })
              const outcome = yield* Effect.either(operation(store))
              Object.assign(state, { failing: Infinity })
              // What goes on beside it may have met the fault instead.
              if (Either.isLeft(outcome)) {
                assert.instanceOf(outcome.left, StoreUnavailable, at)
                assert.match(String((outcome.left as StoreUnavailable).reason), /I\/O error/, at)
              }
              yield* contentsOf(store)
              yield* operation(store)
              return yield* contentsOf(store)
            })
          )
          assert.deepStrictEqual(contents, expected, at)
          const findings = yield* Effect.flatMap(Examiner, (it) => it.examine(() => Effect.void)).pipe(
            Effect.provide(SqliteExaminer.layer(filename))
          )
          assert.deepStrictEqual(
            findings.filter(({ status }) => status === "fail"),
            [],
            at
          )
        }
      }
    }),
  isLong ? 1_800_000 : 120_000
)
