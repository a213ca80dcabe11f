import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import { Chunker } from "../src/Chunker.ts"
import { PipelineConfig } from "../src/Config.ts"
import { Embedder } from "../src/Embedder.ts"
import * as Embedders from "../src/Embedders.ts"
import { CollectionName, defaultCollection } from "../src/model/Collection.ts"
import { DocumentId, type DocumentInput } from "../src/model/Document.ts"
import { Reindexer } from "../src/upkeep/Reindexer.ts"
import { ports, whole } from "../src/Store.ts"
import { Tokenizer } from "../src/packaged/Tokenizer.ts"
import { compass, embeddersLayer, makeEmbedder } from "./fakes.ts"
import { Indexer } from "../src/Indexer.ts"
import { TakesMentions } from "../src/Indexer/mentioning.ts"
import { nextTurn } from "../src/runtime/EventLoop.ts"
import { layerMemory } from "../src/Store/Sqlite.ts"
import { ranked } from "./ranked.ts"

const pipeline = (chunkSize: number) => Layer.succeed(PipelineConfig, { chunkSize, chunkOverlap: 0 })

const indexer = (embedders: Layer.Layer<Embedders.Embedders>, chunkSize = 256) =>
  Indexer.Default.pipe(
    Layer.provide(Layer.merge(embedders, Chunker.Default.pipe(Layer.provide([Tokenizer.Default, pipeline(chunkSize)]))))
  )

const setUp = Effect.gen(function* () {
  const { down, embedded, embedder } = yield* makeEmbedder()
  const store = yield* Layer.build(layerMemory)
  const open = (chunkSize?: number) =>
    Effect.flatMap(
      Layer.build(Layer.provide(indexer(embeddersLayer(embedder), chunkSize), Layer.succeedContext(store))),
      (context) => Effect.provide(Indexer, context)
    )
  return { down, embedded, embedder, open, indexer: yield* open(), store: yield* Effect.provide(whole, store) }
})

const note = (content: string, more: Partial<DocumentInput> = {}): DocumentInput => ({
  content,
  metadata: { source: "note" },
  ...more
})

it.scoped("embeds and searches a table's rows with the names of their columns, also after a change of embedder", () =>
  Effect.gen(function* () {
    const texts: Array<string> = []
    const { embedder } = yield* makeEmbedder()
    const listening = {
      ...embedder,
      embedPassages: (given: ReadonlyArray<string>) => {
        texts.push(...given)
        return embedder.embedPassages(given)
      }
    }
    const store = yield* Layer.build(layerMemory)
    const context = Layer.succeedContext(store)
    const embedders = embeddersLayer(listening)
    const { index } = yield* Effect.provide(Indexer, yield* Layer.build(Layer.provide(indexer(embedders, 32), context)))
    const rows = Array.from({ length: 40 }, (_, i) => `| cell${i} | value |`).join("\n")
    yield* index([note(`# Flags\n\n| Zebra | Default |\n|---|---|\n${rows}\n`, { metadata: { source: "flags.md" } })])
    const within = texts.filter((text) => text.startsWith("Flags\nZebra | Default\n| cell"))
    assert.isAbove(within.length, 3)
    assert.isTrue(texts.every((text) => text.includes("Zebra")))
    const hits = yield* ranked(yield* Effect.provide(whole, store), { keyword: "zebra", limit: 50 })
    assert.lengthOf(hits, texts.length)
    assert.isFalse(hits.at(-1)?.passage.text.includes("Zebra"))
    const cut = texts.splice(0)
    const { run } = yield* Effect.provide(
      Reindexer,
      yield* Layer.build(Layer.provide(Reindexer.Default, Layer.merge(embedders, context)))
    )
    yield* Stream.runDrain(run(defaultCollection, { force: true }))
    assert.deepStrictEqual(texts, cut)
  })
)

it.scoped("embeds only what changed", () =>
  Effect.gen(function* () {
    const { embedded, indexer, open } = yield* setUp
    const steps: ReadonlyArray<readonly [DocumentInput, string, number]> = [
      [note("north"), "created", 1],
      [note("north"), "unchanged", 0],
      [note("south"), "updated", 1],
      [note("south", { metadata: { source: "note", title: "T" } }), "updated", 1],
      [note("south", { metadata: { source: "note", title: "T", k: [1, { a: 1, b: 2 }] } }), "updated", 0],
      [note("south", { metadata: { k: [1, { b: 2, a: 1 }], title: "T", source: "note" } }), "unchanged", 0],
      [note("south", { metadata: { source: "note" }, docId: DocumentId.make("named") }), "updated", 1],
      [note("south", { metadata: {}, docId: DocumentId.make("named") }), "updated", 0],
      [note("south", { metadata: {}, docId: DocumentId.make("named") }), "unchanged", 0]
    ]
    for (const [input, status, cost] of steps) {
      const before = yield* Ref.get(embedded)
      const [outcome] = yield* indexer.index([input])
      assert.strictEqual(outcome?.status, status, JSON.stringify(input))
      assert.strictEqual((yield* Ref.get(embedded)) - before, cost)
    }
    // Passages of another size are other passages.
    const [recut] = yield* (yield* open(64)).index([note("south", { docId: DocumentId.make("named") })])
    assert.strictEqual(recut?.status, "updated")
  })
)

it.scoped("stores nothing of a batch whose embedding fails", () =>
  Effect.gen(function* () {
    const { down, indexer, store } = yield* setUp
    yield* indexer.index([note("north")])
    yield* Ref.set(down, "gone")
    const inputs = [note("south"), note("east", { metadata: { source: "other" } })]
    assert.strictEqual((yield* Effect.flip(indexer.index(inputs)))._tag, "EmbedderUnavailable")
    yield* Ref.set(down, undefined)
    const documents = yield* store.list(defaultCollection, { limit: 10 })
    assert.strictEqual(documents.length, 1)
    assert.strictEqual((yield* store.get(defaultCollection, documents[0]!.docId)).content, "north")
  })
)

it.scoped("stores many documents at once only where embedding them is quick", () =>
  Effect.gen(function* () {
    const stored = (backend: string) =>
      Effect.gen(function* () {
        const { embedder } = yield* makeEmbedder({ ...compass, backend })
        const store = Layer.succeedContext(yield* Layer.build(layerMemory))
        const built = yield* Layer.build(Layer.provide(indexer(embeddersLayer(embedder)), store))
        const { index } = yield* Effect.provide(Indexer, built)
        const inputs = Array.from({ length: 40 }, (_, n) => note("south", { metadata: { source: `${n}` } }))
        const done: Array<number> = []
        yield* index(inputs, defaultCollection, (count) => Effect.sync(() => done.push(count)))
        return done
      })
    assert.deepStrictEqual(yield* stored(compass.backend), [0, 16, 32, 40])
    assert.deepStrictEqual(yield* stored("builtin"), [0, 40])
  })
)

it.scoped("keeps the vectors of a large document, and only those, in memory that threads share", () =>
  Effect.gen(function* () {
    const { embedder, store } = yield* setUp
    const shared: Array<number> = []
    const put: typeof store.put = (_, [document]) => {
      const { derivedId: docId, passages } = document!
      const vectors = passages.flatMap(({ vector }) => Option.toArray(vector))
      shared.push(vectors.filter(({ buffer }) => buffer instanceof SharedArrayBuffer).length)
      return Effect.succeed([{ docId, status: "created", passages: passages.length }])
    }
    const context = Layer.succeedContext(ports({ ...store, put }))
    const built = yield* Layer.build(Layer.provide(indexer(embeddersLayer(embedder), 8), context))
    const { index } = yield* Effect.provide(Indexer, built)
    const [small, large] = yield* Effect.forEach([50, 2049], (words) => index([note("north!!!!!!! ".repeat(words))]))
    assert.deepStrictEqual([small?.[0]?.passages, large?.[0]?.passages], [50, 2049])
    assert.deepStrictEqual(shared, [0, 2049])
  })
)

it.scoped("keeps a text that has lone surrogates, with its offsets", () =>
  Effect.gen(function* () {
    const { indexer, store } = yield* setUp
    const [outcome] = yield* indexer.index([note("a\ud800b north \udc00 𝒳")])
    const stored = yield* store.get(defaultCollection, outcome!.docId)
    assert.strictEqual(stored.content, "a\ufffdb north \ufffd 𝒳")
    assert.strictEqual(
      stored.content.slice(stored.passages[0]!.start, stored.passages[0]!.end),
      stored.passages[0]!.text
    )
  })
)

it.scoped("skips documents without text, and deletes what was stored under their names", () =>
  Effect.gen(function* () {
    const { indexer, store } = yield* setUp
    const metadata = { source: "a" }
    yield* indexer.index([note("north", { metadata })])
    const outcomes = yield* indexer.index([{ content: " \n\t " }, { content: "south" }, note("", { metadata })])
    assert.deepStrictEqual(
      outcomes.map(({ source, status }) => [source, status]),
      [
        [undefined, "skipped"],
        [undefined, "created"],
        ["a", "skipped"]
      ]
    )
    const left = yield* store.list(defaultCollection, { limit: 9 })
    assert.deepStrictEqual(
      left.map(({ docId }) => docId),
      [outcomes[1]!.docId]
    )
  })
)

it.scoped("gives each collection the configured embedder for good", () =>
  Effect.gen(function* () {
    const { indexer, store } = yield* setUp
    const name = CollectionName.make("mine")
    yield* indexer.index([note("north")], name)
    assert.deepStrictEqual((yield* store.collection(name)).embedder, compass)
  })
)

const wider = { ...compass, model: "wide compass" }

/** An indexer and a reindexer on one store; the reindexer is configured with another embedder. */
const changing = Effect.gen(function* () {
  const base = yield* setUp
  const next = yield* makeEmbedder(wider)
  const store = Layer.succeedContext(ports(base.store))
  const embedders = Embedders.layer({ insists: true, open: () => Effect.succeed(next.embedder) }).pipe(
    Layer.provide(Layer.succeed(Embedder, next.embedder))
  )
  const context = yield* Layer.build(Reindexer.Default.pipe(Layer.provide(Layer.merge(store, embedders))))
  return { ...base, next, reindexer: yield* Effect.provide(Reindexer, context) }
})

const many = Array.from({ length: 600 }, (_, index) =>
  note(`north ${index}`, { metadata: { source: `s${String(index).padStart(3, "0")}` } })
)

it.scoped("changes over to another embedder, and answers with the old one till then", () =>
  Effect.gen(function* () {
    const { indexer, next, reindexer, store } = yield* changing
    yield* indexer.index(many)
    const vector = Float32Array.of(1, 0, 0, 0)
    const request = { vector, limit: 3 }
    const before = yield* ranked(store, request)
    const seen = yield* reindexer.run(defaultCollection).pipe(
      Stream.tap(({ changed }) =>
        changed
          ? Effect.void
          : Effect.gen(function* () {
              assert.deepStrictEqual(yield* ranked(store, request), before)
              assert.deepStrictEqual((yield* store.collection(defaultCollection)).embedder, compass)
            })
      ),
      Stream.runCollect
    )
    const progress = [...seen]
    assert.isTrue(progress.at(-1)?.changed)
    assert.strictEqual(progress.filter(({ changed }) => changed).length, 1)
    assert.strictEqual(progress.at(-1)?.done, 600)
    assert.strictEqual(yield* Ref.get(next.embedded), 600)
    assert.deepStrictEqual((yield* store.collection(defaultCollection)).embedder, wider)
    assert.strictEqual((yield* ranked(store, request)).length, 3)
    // A second run has nothing to do.
    assert.isFalse([...(yield* Stream.runCollect(reindexer.run(defaultCollection)))].at(-1)?.changed)
  })
)

it.scoped("takes up a change of embedder where it broke off", () =>
  Effect.gen(function* () {
    const { indexer, next, reindexer, store } = yield* changing
    yield* indexer.index(many)
    yield* Stream.runDrain(Stream.take(reindexer.run(defaultCollection), 2))
    const first = yield* Ref.get(next.embedded)
    assert.isAbove(first, 0)
    assert.isBelow(first, 600)
    // Meanwhile a document comes, one changes, one goes.
    yield* indexer.index([
      note("east", { metadata: { source: "s000" } }),
      note("west", { metadata: { source: "new" } })
    ])
    yield* store.deleteSource(defaultCollection, "s001")
    yield* Stream.runDrain(reindexer.run(defaultCollection))
    assert.strictEqual(yield* Ref.get(next.embedded), 602)
    const stored = yield* ranked(store, { vector: Float32Array.of(0, 1, 0, 0), limit: 1000 })
    assert.strictEqual(stored.length, 600)
    assert.strictEqual(stored[0]?.document.source, "s000")
  })
)

it.scoped("finds what documents mention while the store is busy with those before them, and not while it waits", () =>
  Effect.gen(function* () {
    const { embedder } = yield* makeEmbedder()
    const memory = yield* Layer.build(layerMemory)
    const store = yield* Effect.provide(whole, memory)
    const mentioned: Array<boolean> = []
    let turns = 100
    const slow = ports({
      ...store,
      put: (name, documents, options) => {
        mentioned.push(documents.every(({ mentions }) => mentions !== undefined))
        return Effect.zipRight(Effect.repeatN(nextTurn, turns), store.put(name, documents, options))
      }
    })
    const built = Layer.provide(indexer(embeddersLayer(embedder)), [
      Layer.succeedContext(slow),
      Layer.succeed(TakesMentions, true)
    ])
    const { compare, draft, open, through } = yield* Effect.provide(Indexer, yield* Layer.build(built))
    const collection = yield* open(defaultCollection)
    const batch = (source: string) =>
      compare(defaultCollection, [draft({ content: "It was Ada Lovelace.", source, metadata: {} })])
    const index = (from: Stream.Stream<string>) =>
      Stream.runDrain(
        through(collection)(Stream.mapEffect(from, (source) => Effect.map(batch(source), (compared) => ({ compared }))))
      )
    yield* index(Stream.make("a", "b", "c"))
    assert.deepStrictEqual(mentioned.splice(0), [false, true, true])
    turns = 0
    yield* index(Stream.tap(Stream.make("d", "e"), () => Effect.repeatN(nextTurn, 100)))
    assert.deepStrictEqual(mentioned, [false, false])
  })
)

it.scoped("refuses vectors of the old embedder after the change", () =>
  Effect.gen(function* () {
    const { indexer, reindexer } = yield* changing
    yield* indexer.index([note("north")])
    const collection = yield* indexer.open(defaultCollection)
    const draft = indexer.draft({ content: "late", source: "late", metadata: {} })
    const compared = yield* indexer.compare(defaultCollection, [draft])
    yield* Stream.runDrain(reindexer.run(defaultCollection))
    const late = Stream.runDrain(indexer.through(collection)(Stream.make({ compared })))
    assert.strictEqual((yield* Effect.flip(late))._tag, "EmbedderMismatch")
  })
)
