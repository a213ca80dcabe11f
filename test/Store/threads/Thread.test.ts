import { assert, it } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Tracer from "effect/Tracer"
import { defaultCollection } from "../../../src/model/Collection.ts"
import { DocumentId } from "../../../src/model/Document.ts"
import type { Found } from "../../../src/model/Stored.ts"
import { RankingStore, whole } from "../../../src/Store.ts"
import { ofNames } from "../../../src/runtime/tracing.ts"
import * as Threaded from "../../../src/Store/SqliteThreaded.ts"
import * as Thread from "../../../src/Store/threads/Thread.ts"
import { document, embedder } from "../../contracts/Store.ts"
import * as Sqlite from "../../../src/Store/Sqlite.ts"
import { ranking } from "../../ranked.ts"
import { collected } from "../../spans.ts"

const both = ranking({ keyword: "zebra", vector: Float32Array.of(1, 0, 0, 0), alpha: 0.4 })

/** A file with one document, and where it is. */
const file = Effect.gen(function* () {
  const files = yield* FileSystem.FileSystem
  const filename = `${yield* files.makeTempDirectoryScoped()}/index.db`
  yield* Effect.gen(function* () {
    const store = yield* whole
    yield* store.createCollection(defaultCollection, embedder)
    yield* store.put(defaultCollection, [document("zebra", { docId: DocumentId.make("z") })])
  }).pipe(Effect.provide(Sqlite.layer({ filename, mode: "create" })))
  return filename
})

it.layer(NodeFileSystem.layer)("threads", (it) => {
  it.scoped("a call that is given up makes room for the next", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const { alive, cancel, perform } = yield* Thread.start({ filename, mode: "readonly" })
      const call = { method: "find", args: [both] } as const
      cancel(2)
      const [first, second, third] = yield* Effect.forEach([1, 2, 3], (id) => perform({ ...call, id }))
      assert.lengthOf(((yield* Thread.fromOutcome(first!.outcome)) as Found).hits, 1)
      assert.strictEqual(second?.outcome._tag, "Failure")
      assert.deepStrictEqual(third?.outcome, first?.outcome)
      assert.isTrue(alive())
    })
  )

  it.scoped("is watched only while it performs a call, and no longer than its scope", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const call = { method: "find", args: [both] } as const
      const scope = yield* Scope.make()
      // As a pool starts one: where nothing can be interrupted.
      const thread = yield* Effect.uninterruptible(Scope.extend(Thread.start({ filename, mode: "readonly" }), scope))
      yield* thread.perform({ ...call, id: 1 })
      yield* TestClock.adjust("1 hour")
      assert.isTrue(thread.alive())
      const { outcome } = yield* thread.perform({ ...call, id: 2 })
      assert.lengthOf(((yield* Thread.fromOutcome(outcome)) as Found).hits, 1)
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(thread.alive())
    })
  )

  it.scoped("a connection for reading writes nothing", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const { perform } = yield* Thread.start({ filename, mode: "readonly" })
      const { outcome } = yield* perform({ id: 1, method: "dropCollection", args: [defaultCollection] })
      const error = yield* Effect.flip(Thread.fromOutcome(outcome))
      assert.strictEqual(error._tag, "StoreUnavailable")
      assert.match(error.message, /is read-only/)
    })
  )

  it.scoped("a thread that cannot open its file says why, and ends with its scope", () =>
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const filename = `${yield* files.makeTempDirectoryScoped()}/none.db`
      const error = yield* Effect.flip(Thread.start({ filename, mode: "readonly" }))
      assert.strictEqual(error._tag, "StoreUnavailable")
      assert.match((error as Error).message, /There is no index/)

      const { alive, perform } = yield* Effect.scoped(Thread.start({ filename: yield* file, mode: "readonly" }))
      // Its scope may end before it does.
      const ended = yield* Effect.flip(perform({ id: 1, method: "find", args: [both] }))
      assert.strictEqual(ended._tag, "ThreadDied")
      assert.isFalse(alive())
    })
  )

  it.scoped("a thread that has started before anybody waits for it has started", () =>
    Effect.gen(function* () {
      const filename = yield* file
      let state: "before" | "spawned" | "suspended" = "before"
      const given = {
        filename,
        get mode() {
          state = "spawned"
          return "readonly" as const
        }
      }
      const { defaultScheduler: usual } = Scheduler
      // Right after its thread is made, the fiber is suspended for longer than that takes to start.
      const scheduler: Scheduler.Scheduler = {
        shouldYield: (fiber) => (state === "spawned" ? 0 : usual.shouldYield(fiber)),
        scheduleTask: (task, priority, fiber) => {
          if (state !== "spawned") return usual.scheduleTask(task, priority, fiber)
          state = "suspended"
          setTimeout(task, 3000)
        }
      }
      const { perform } = yield* Effect.withScheduler(Thread.start(given), scheduler)
      const { outcome } = yield* perform({ id: 1, method: "find", args: [both] })
      assert.lengthOf(((yield* Thread.fromOutcome(outcome)) as Found).hits, 1)
    })
  )

  it.scoped("starts for a write once those of a command come to more than a little", () =>
    Effect.gen(function* () {
      const filename = yield* file
      let started = 0
      const count = () => void started++
      yield* Effect.acquireRelease(
        Effect.sync(() => process.on("worker", count)),
        () => Effect.sync(() => process.off("worker", count))
      )
      const context = yield* Layer.build(Threaded.layer({ filename, mode: "existing" }))
      const { beginRun, deleteDocument, list, put } = yield* Effect.provide(whole, context)
      const add = (docId: string, text: string) =>
        put(defaultCollection, [document(text, { docId: DocumentId.make(docId) })])
      yield* beginRun(defaultCollection)
      yield* add("small", "zebra")
      assert.strictEqual(started, 0)
      // One begins before the thread has started, and both write.
      yield* Effect.all([add("near", "zebra"), add("large", "zebra ".repeat(20_000))], { concurrency: "unbounded" })
      yield* deleteDocument(defaultCollection, DocumentId.make("z"))
      assert.strictEqual(started, 1)
      assert.sameMembers(
        (yield* list(defaultCollection, { limit: 10 })).map(({ docId }) => docId),
        ["small", "near", "large"]
      )
    })
  )

  it.scoped("spans of a thread stand under the call's", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const { spans, tracer } = yield* collected
      const pooled = yield* Layer.build(Threaded.layerPooled({ filename, mode: "readonly", readers: 1 }))
      // Spans that nobody collects are not even made.
      const few = ofNames(Tracer.make({ context: tracer.context, span: tracer.span }), ["Store.vector"])
      yield* Effect.withTracer(Context.get(pooled, RankingStore).find(both), few)
      assert.deepStrictEqual(
        spans.splice(0).map(({ name }) => name),
        ["Store.vector"]
      )
      yield* Effect.withTracer(Context.get(pooled, RankingStore).find(both), tracer)
      const named = (name: string) => spans.find((span) => span.name === name)
      const above = (name: string) =>
        Option.getOrUndefined(Option.flatMapNullable(named(name)!.parent, (span) => span as Tracer.Span))?.name
      assert.isUndefined(above("Store.find"))
      for (const stage of ["Store.vector", "Store.keyword", "Store.fuse"]) {
        assert.strictEqual(above(stage), "Store.find", stage)
        const { status } = named(stage)!
        assert.isTrue(status._tag === "Ended" && status.endTime > status.startTime, stage)
      }
    })
  )
})
