import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as fs from "node:fs"
import * as path from "node:path"
import { StoreConfig, WatchConfig } from "../../src/Config.ts"
import { Settings } from "../../src/Config/Settings.ts"
import type { Embedder } from "../../src/Embedder.ts"
import { FileEvents } from "../../src/files/FileEvents.ts"
import { make as nodeEvents } from "../../src/files/FileEvents/Node.ts"
import { FileIndexer } from "../../src/files/FileIndexer.ts"
import { layer as files } from "../../src/files/Loader/Files.ts"
import { formats } from "../../src/files/Loader/formats.ts"
import type { WatchEvent } from "../../src/files/FileEvent.ts"
import { Watcher, type WatchOptions } from "../../src/files/Watcher.ts"
import { layerFree } from "../../src/files/WatchLock/Sqlite.ts"
import { defaultCollection } from "../../src/model/Collection.ts"
import { Store } from "../../src/Store.ts"
import { embeddersLayer, makeEmbedder, chunkerOf } from "../fakes.ts"
import { Indexer } from "../../src/Indexer.ts"
import { layerMemory } from "../../src/Store/Sqlite.ts"
import { temporaryFolder } from "../folder.ts"

interface Given {
  readonly events?: FileEvents["Type"]
  readonly settings?: Partial<WatchConfig["Type"]>
  readonly options?: Partial<WatchOptions>
  /** What goes around the embedder. */
  readonly embedder?: (real: Embedder["Type"]) => Embedder["Type"]
}

export type Scanned = Extract<WatchEvent, { readonly _tag: "Scanned" }>

/** A folder, and a watcher that has not begun to follow it. */
export const setUp = Effect.fnUntraced(function* (given: Given = {}) {
  const { embedded, embedder } = yield* makeEmbedder()
  const folder = yield* temporaryFolder
  const root = path.join(folder, "root")
  fs.mkdirSync(root)
  const chunker = chunkerOf(64, 0)
  const loader = files({
    formats,
    maxFileBytes: 2 ** 20,
    extraction: { parseTimeoutMs: 60_000, parseMemoryMb: 512 }
  }).pipe(Layer.provide(NodeFileSystem.layer))
  const config = Layer.merge(
    Layer.succeed(StoreConfig, Schema.decodeSync(Settings)({ store: { path: path.join(folder, "index.db") } }).store),
    Layer.succeed(WatchConfig, { paths: [], rescanSeconds: 300, quietMs: 20, maxWaitMs: 2000, ...given.settings })
  )
  const context = yield* Layer.build(
    Watcher.Default.pipe(
      Layer.provide(FileIndexer.Default),
      Layer.provide(Indexer.Default),
      Layer.provide([chunker, loader, embeddersLayer(given.embedder?.(embedder) ?? embedder)]),
      Layer.provide([layerFree, config, Layer.succeed(FileEvents, given.events ?? nodeEvents())]),
      Layer.provideMerge(layerMemory)
    )
  )
  const watcher = yield* Effect.provide(Watcher, context)
  const store = yield* Effect.provide(Store, context)
  const told = yield* Queue.unbounded<WatchEvent>()
  const at = (name: string) => path.join(root, name)

  /** The next event that is so. */
  const until = <A extends WatchEvent>(is: (event: WatchEvent) => event is A): Effect.Effect<A> =>
    Effect.flatMap(Queue.take(told), (event) => (is(event) ? Effect.succeed(event) : until(is)))
  const scanned = until((event): event is Scanned => event._tag === "Scanned")

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
    store,
    embedded,
    told,
    until,
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
      watcher.run({ paths: [root], collection: defaultCollection, ...given.options }, (event) =>
        Queue.offer(told, event)
      )
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
