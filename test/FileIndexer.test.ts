import { assert, it } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Chunker } from "../src/Chunker.ts"
import { PipelineConfig } from "../src/Config.ts"
import { type FileEvent, FileIndexer, type FileRun } from "../src/FileIndexer.ts"
import { Indexer } from "../src/Indexer.ts"
import { layer as files } from "../src/Loader/Files.ts"
import { formats } from "../src/Loader/formats.ts"
import { defaultCollection } from "../src/model/Collection.ts"
import { Store } from "../src/Store.ts"
import { layerMemory } from "../src/Store/Sqlite.ts"
import { Tokenizer } from "../src/Tokenizer.ts"
import { embeddersLayer, makeEmbedder } from "./fakes.ts"

const setUp = Effect.gen(function* () {
  const { embedded, embedder } = yield* makeEmbedder()
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "clew-files-"))),
    (made) => Effect.sync(() => fs.rmSync(made, { recursive: true }))
  )
  const chunker = Chunker.Default.pipe(
    Layer.provide([Tokenizer.Default, Layer.succeed(PipelineConfig, { chunkSize: 64, chunkOverlap: 0 })])
  )
  const loader = files({ formats, maxFileBytes: 2 ** 20 }).pipe(Layer.provide(NodeFileSystem.layer))
  const context = yield* Layer.build(
    FileIndexer.Default.pipe(
      Layer.provide(Indexer.Default),
      Layer.provide([chunker, loader, embeddersLayer(embedder)]),
      Layer.provideMerge(layerMemory)
    )
  )
  const indexer = yield* Effect.provide(FileIndexer, context)
  const store = yield* Effect.provide(Store, context)
  const run = (given: Partial<FileRun> = {}) =>
    indexer.run({ paths: [folder], collection: defaultCollection, prune: false, dryRun: false, ...given })
  return {
    embedded,
    store,
    run,
    /** What a run comes to. */
    report: (given: Partial<FileRun> = {}) =>
      Stream.runFold(run(given), [] as ReadonlyArray<FileEvent>, (events, event) => [...events, event]),
    write: (name: string, content: string | Uint8Array) => {
      fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
      fs.writeFileSync(path.join(folder, name), content)
      return path.join(folder, name)
    },
    at: (name: string) => path.join(folder, name),
    stored: Effect.map(store.list(defaultCollection, { limit: 10_000 }), (documents) =>
      documents.map(({ source }) => path.relative(folder, source ?? ""))
    )
  }
})

const records = (count: number) =>
  Array.from({ length: count }, (_, n) => JSON.stringify({ _id: `r${n}`, text: `Record ${n} lies north.` })).join("\n")

it.scoped("prunes nothing that another run has met meanwhile", () =>
  Effect.gen(function* () {
    const { report, run, stored, write } = yield* setUp
    write("a.jsonl", records(400))
    write("one.txt", "north")
    yield* report()
    let done = false
    // The other run goes from its start to its end while this one is in its first batch.
    yield* run({ prune: true }).pipe(
      Stream.mapEffect(() =>
        done
          ? Effect.void
          : Effect.zipRight(
              Effect.sync(() => (done = true)),
              report()
            )
      ),
      Stream.runDrain
    )
    assert.isTrue(done)
    assert.strictEqual((yield* stored).length, 401)
  })
)
