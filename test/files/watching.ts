import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as fs from "node:fs"
import * as path from "node:path"
import { StoreConfig, WatchConfig } from "../../src/Config.ts"
import { Settings } from "../../src/Config/Settings.ts"
import { FileEvents } from "../../src/files/FileEvents.ts"
import { make as nodeEvents } from "../../src/files/FileEvents/Node.ts"
import { FileIndexer } from "../../src/files/FileIndexer.ts"
import type { WatchEvent } from "../../src/files/FileEvent.ts"
import { Watcher } from "../../src/files/Watcher.ts"
import { layerFree } from "../../src/files/WatchLock/Sqlite.ts"
import { defaultCollection } from "../../src/model/Collection.ts"
import { Store } from "../../src/Store.ts"
import { embeddersLayer, makeEmbedder, chunkerOf } from "../fakes.ts"
import { Indexer } from "../../src/Indexer.ts"
import { layerMemory } from "../../src/Store/Sqlite.ts"
import { temporaryFolder } from "../folder.ts"
import { layer } from "./Loader/loading.ts"

interface Given {
  readonly events?: FileEvents["Type"]
  readonly settings?: Partial<WatchConfig["Type"]>
}

/** A folder, and a watcher that has not begun to follow it. */
export const setUp = Effect.fnUntraced(function* (given: Given = {}) {
  const { embedded, embedder } = yield* makeEmbedder()
  const folder = yield* temporaryFolder
  const root = path.join(folder, "root")
  fs.mkdirSync(root)
  const config = Layer.merge(
    Layer.succeed(StoreConfig, Schema.decodeSync(Settings)({ store: { path: path.join(folder, "index.db") } }).store),
    Layer.succeed(WatchConfig, { paths: [], rescanSeconds: 300, quietMs: 20, maxWaitMs: 2000, ...given.settings })
  )
  const context = yield* Layer.build(
    Watcher.Default.pipe(
      Layer.provide(FileIndexer.Default),
      Layer.provide(Indexer.Default),
      Layer.provide([chunkerOf(64, 0), layer, embeddersLayer(embedder)]),
      Layer.provide([layerFree, config, Layer.succeed(FileEvents, given.events ?? nodeEvents())]),
      Layer.provideMerge(layerMemory)
    )
  )
  const watcher = yield* Effect.provide(Watcher, context)
  const store = yield* Effect.provide(Store, context)
  const told = yield* Queue.unbounded<WatchEvent>()
  const at = (name: string) => path.join(root, name)

  const scanned: Effect.Effect<Extract<WatchEvent, { readonly _tag: "Scanned" }>> = Effect.flatMap(
    Queue.take(told),
    (event) => (event._tag === "Scanned" ? Effect.succeed(event) : scanned)
  )

  const stored = store.list(defaultCollection, { limit: 10_000 }).pipe(
    Effect.map((documents) => documents.map(({ source }) => path.relative(root, source ?? "")).sort()),
    Effect.catchTag("CollectionNotFound", () => Effect.succeed([]))
  )
  const content = (name: string) =>
    Effect.gen(function* () {
      const found = yield* store.documentsOf(defaultCollection, at(name), { limit: 1 })
      return found[0] === undefined ? undefined : (yield* store.get(defaultCollection, found[0].docId)).content
    })
  return {
    root,
    at,
    embedded,
    scanned,
    stored,
    content,
    status: watcher.status,
    write: (name: string, text: string) => {
      fs.mkdirSync(path.dirname(at(name)), { recursive: true })
      fs.writeFileSync(at(name), text)
    },
    /** Begins to follow; done when what is there is indexed. */
    start: Effect.forkScoped(
      watcher.run({ paths: [root], collection: defaultCollection }, (event) => Queue.offer(told, event))
    ).pipe(Effect.zipRight(scanned)),
    /** Waits for the scan after which it is so. */
    settled: <E>(check: Effect.Effect<boolean, E>) => again(check, scanned)
  }
})

const again = <E>(check: Effect.Effect<boolean, E>, next: Effect.Effect<unknown>): Effect.Effect<void, E> =>
  Effect.flatMap(check, (done) => (done ? Effect.void : Effect.zipRight(next, again(check, next))))

/** Whether an index holds just these files. */
export const holds =
  (...names: ReadonlyArray<string>) =>
  <E>(stored: Effect.Effect<ReadonlyArray<string>, E>): Effect.Effect<boolean, E> =>
    Effect.map(stored, (found) => found.join("\n") === [...names].sort().join("\n"))
