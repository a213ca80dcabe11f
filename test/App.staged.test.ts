import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as App from "../src/App.ts"
import { Collections } from "../src/Collections.ts"
import { noApiKeys } from "../src/Config/Env.ts"
import { Settings, type SettingsEncoded } from "../src/Config/Settings.ts"
import { Indexer } from "../src/Indexer.ts"
import { Search } from "../src/Search.ts"
import { Store } from "../src/Store.ts"
import { withoutFolders } from "../src/http/documents.ts"
import { defaultCollection } from "../src/model/Collection.ts"
import { toCollectionInfo } from "../src/model/Stats.ts"
import { nextTurn } from "../src/runtime/EventLoop.ts"
import { Reindexer } from "../src/upkeep/Reindexer.ts"
import { withRuntime, writeTiny } from "./onnx/tiny.ts"

const setUp = Effect.gen(function* () {
  yield* withRuntime
  const model = yield* writeTiny({ files: { "README.md": new TextEncoder().encode("---\nlanguage: [en, de]\n---\n") } })
  const fs = yield* FileSystem.FileSystem
  const path = `${yield* fs.makeTempDirectoryScoped({ prefix: "clew-" })}/index.db`
  const opened = Effect.fnUntraced(function* (embedding: NonNullable<SettingsEncoded["embedding"]>, pooled = false) {
    const settings = yield* Schema.decode(Settings)({ store: { path }, embedding })
    return yield* App.layerFor({ settings, apiKeys: noApiKeys }, "write", { pooled })
  })
  return { opened, onnx: { backend: "onnx", model, threads: 1 } as const }
}).pipe(Effect.provide(NodeFileSystem.layer))

/** Words that the packaged model knows, and the tiny one. */
const documents = Array.from({ length: 100 }, (_, at) => ({
  content: at === 70 ? "east" : "north",
  metadata: { source: `s${at}` }
}))

const found = Effect.flatMap(Search, ({ run }) => run({ query: "east", topK: 1 }))
const current = Effect.flatMap(Store, ({ collection }) => collection(defaultCollection))
const resumed = Effect.map(Reindexer, ({ resumed }) => resumed(defaultCollection)).pipe(Stream.unwrap)

it.scopedLive("a new collection of a slow embedder answers at once, and resumes after it was broken off", () =>
  Effect.gen(function* () {
    const { onnx, opened } = yield* setUp
    const first = Effect.gen(function* () {
      yield* (yield* Indexer).index(documents)
      const before = yield* current
      assert.strictEqual(before.embedder.backend, "builtin")
      assert.deepStrictEqual([before.next?.embedder.backend, before.next?.done], ["onnx", 0])
      // The first step alone is done.
      yield* Stream.runDrain(Stream.take(resumed, 2))
      const { degraded, hits } = yield* found
      assert.strictEqual(hits[0]!.document.source, "s70")
      assert.match(
        degraded ?? "",
        /^the configured model has made 32 % of the vectors of collection default; until it has made all, those of the packaged/
      )
      // Over HTTP a folder is shown by its name.
      const { reindexing } = toCollectionInfo(withoutFolders(yield* current))
      assert.deepStrictEqual([reindexing?.done, reindexing?.total], [32, 100])
      assert.match(reindexing!.embedding.model, /^clew-onnx-\w+@[0-9a-f]{8}$/)
      assert.isUndefined(yield* (yield* Collections).languages(yield* current))
    })
    yield* Effect.provide(first, yield* opened(onnx))
    const second = Effect.gen(function* () {
      yield* (yield* Indexer).index([{ content: "south", metadata: { source: "added" } }])
      const states = yield* Stream.runCollect(resumed)
      assert.deepStrictEqual(
        [...states].map(({ changed, done }) => [changed, done]),
        [
          [false, 32],
          [false, 64],
          [false, 101],
          [true, 101]
        ]
      )
      const after = yield* current
      assert.strictEqual(after.embedder.backend, "onnx")
      assert.isUndefined(after.next)
      const { degraded, hits, mode } = yield* found
      assert.deepStrictEqual([degraded, hits[0]!.document.source, mode], [undefined, "s70", "hybrid"])
      assert.deepStrictEqual(yield* (yield* Collections).languages(after), ["en", "de"])
      assert.deepStrictEqual([...(yield* Stream.runCollect(resumed))], [])
      // From now on it embeds what is added.
      yield* (yield* Indexer).index([{ content: "east east", metadata: { source: "new" } }])
      assert.isUndefined((yield* current).next)
    })
    yield* Effect.provide(second, yield* opened(onnx))
    const back = Effect.gen(function* () {
      const last = yield* Stream.runLast((yield* Reindexer).run(defaultCollection))
      assert.isTrue(Option.getOrThrow(last).changed)
      assert.strictEqual((yield* current).embedder.backend, "builtin")
    })
    yield* Effect.provide(back, yield* opened({ backend: "builtin" }))
  })
)

it.scopedLive("a server makes the vectors in the background", () =>
  Effect.gen(function* () {
    const { onnx, opened } = yield* setUp
    const served = Effect.gen(function* () {
      yield* (yield* Indexer).index(documents)
      const changed = Effect.repeat(Effect.zipRight(nextTurn, current), {
        until: ({ embedder }) => embedder.backend === "onnx"
      })
      assert.strictEqual((yield* Effect.timeout(changed, "30 seconds")).passages, 100)
      assert.isUndefined((yield* found).degraded)
    })
    yield* Effect.provide(served, yield* opened(onnx, true))
  })
)

it.scopedLive("passages are cut so that the model reads each at once, also before it makes their vectors", () =>
  Effect.gen(function* () {
    const { opened, onnx } = yield* setUp
    const content = Array.from({ length: 400 }, (_, at) => (at % 9 === 8 ? "east." : "north")).join(" ")
    const cut = Effect.gen(function* () {
      const [indexed] = yield* (yield* Indexer).index([{ content, metadata: { source: "long" } }])
      const texts = yield* (yield* Store).sample(defaultCollection, [0, 0.5, 1])
      return { passages: indexed!.passages, longest: Math.max(...texts.map(({ text }) => text.split(/\s+/).length)) }
    })
    const usual = yield* Effect.provide(cut, yield* opened({ backend: "builtin" }))
    assert.isAbove(usual.longest, 62)
    const other = yield* setUp
    const fitting = yield* Effect.provide(cut, yield* other.opened(onnx))
    // 64 tokens, two of them special.
    assert.isAtMost(fitting.longest, 62)
    assert.isAbove(fitting.passages, usual.passages)
  })
)
