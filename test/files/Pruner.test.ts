import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { defaultCollection } from "../../src/model/Collection.ts"
import { pruneAll } from "../../src/files/Pruner.ts"
import { nextTurn } from "../../src/runtime/EventLoop.ts"
import { document, embedder, skipped } from "../contracts/Store.ts"
import { temporaryFolder } from "../folder.ts"
import { opened } from "../Store/opened.ts"

it.scopedLive("lets another writer in between two steps", () =>
  Effect.gen(function* () {
    const filename = `${yield* temporaryFolder}/index.db`
    const { store } = yield* opened(filename)
    yield* store.createCollection(defaultCollection, embedder)
    for (let from = 0; from < 6000; from += 500) {
      const some = Array.from({ length: 500 }, (_, at) =>
        document(`note ${from + at}`, { source: `n${from + at}`, origin: `/notes/${from + at}` })
      )
      yield* store.put(defaultCollection, some)
    }
    const other = yield* opened(filename)
    let isPruned = false
    const pruning = yield* Effect.fork(
      Effect.tap(pruneAll(store, defaultCollection, ["/notes"]), () => (isPruned = true))
    )
    yield* nextTurn
    yield* other.store.put(defaultCollection, [document("meanwhile", { source: "other" })])
    assert.isFalse(isPruned)
    assert.strictEqual((yield* Fiber.join(pruning)).documents, 6000)
  })
)

it.scopedLive("forgets the files below a deleted path that brought no document", () =>
  Effect.gen(function* () {
    const { store } = yield* opened(`${yield* temporaryFolder}/index.db`)
    yield* store.createCollection(defaultCollection, embedder)
    yield* store.put(defaultCollection, [document("a note", { source: "a", origin: "/notes/a" })], {
      files: ["/notes/secret.bin", "/notes", "/other.bin"].map(skipped)
    })
    yield* pruneAll(store, defaultCollection, ["/notes"])
    const left = yield* store.filesBelow(defaultCollection, "/", { limit: 9 })
    assert.deepStrictEqual(
      left.map(({ path }) => path),
      ["/other.bin"]
    )
  })
)
