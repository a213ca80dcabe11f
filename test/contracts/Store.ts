import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { provideLive } from "effect/TestServices"
import { CollectionName, type EmbedderIdentity } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"
import type { FileChange } from "../../src/model/File.ts"
import type { Condition, Filter } from "../../src/model/Filter.ts"
import type { Passage } from "../../src/model/Passage.ts"
import type { Demands } from "../../src/model/SearchResult.ts"
import type { ListedDocument, ListPage, PreparedDocument, Pruned, PrunePosition } from "../../src/model/Stored.ts"
import { documentLanguage } from "../../src/terms/detect.ts"
import { type Stores, whole } from "../../src/Store.ts"
import { type RankedRequest, ranked } from "../ranked.ts"

export const embedder: EmbedderIdentity = {
  backend: "test",
  model: "compass",
  dimensions: 4,
  queryPrefix: "",
  passagePrefix: ""
}

const unit = (...values: ReadonlyArray<number>): Float32Array => {
  const norm = Math.hypot(...values)
  return Float32Array.from(values, (value) => value / norm)
}

const north = unit(1, 0, 0, 0)

interface Given extends Partial<Omit<PreparedDocument, "passages">> {
  readonly vectors?: ReadonlyArray<Float32Array | undefined>
}

/** The record of a file that brought no document. */
export const skipped = (path: string): FileChange => ({
  path,
  stamp: undefined,
  reader: undefined,
  settings: "s",
  outcome: "skipped",
  documents: 0,
  many: false,
  expected: undefined
})

/** A document whose passages are its content's lines. */
export const document = (content: string, given: Given = {}): PreparedDocument => {
  const { vectors = [], ...rest } = given
  let start = 0
  const lines = content.split("\n").map((text, index) => {
    const passage = { text, start, end: start + text.length, startLine: index + 1, endLine: index + 1 }
    start += text.length + 1
    return passage
  })
  return {
    derivedId: DocumentId.make(`derived:${given.source ?? content.slice(0, 50)}`),
    fingerprint: `of ${content}`,
    content,
    language: documentLanguage(lines),
    metadata: {},
    ...rest,
    passages: lines
      .filter(({ text }) => text.trim() !== "")
      .map((passage, index) => ({
        ...passage,
        heading: [],
        vector: Option.fromNullable(index in vectors ? vectors[index] : north)
      }))
  }
}

let made = 0

/** Each test works in a collection of its own. */
const fresh = Effect.gen(function* () {
  const store = yield* whole
  const { name } = yield* store.createCollection(CollectionName.make(`c${made++}`), embedder)
  const rank = (request: RankedRequest) => ranked(store, { collection: name, alpha: 0.4, ...request })
  return {
    store,
    name,
    rank,
    put: (...documents: ReadonlyArray<PreparedDocument>) => store.put(name, documents),
    sources: (request: RankedRequest) => Effect.map(rank(request), (hits) => hits.map((hit) => hit.document.source))
  }
})

/** What every Store promises. */
export const storeContract = (name: string, layer: Layer.Layer<Stores, unknown>) =>
  it.layer(layer)(`Store: ${name}`, (it) => {
    it.effect("makes, lists and drops collections", () =>
      Effect.gen(function* () {
        const { name, put, store } = yield* fresh
        yield* put(document("one\ntwo", { source: "a" }))
        assert.deepStrictEqual((yield* store.collection(name)).embedder, embedder)
        const twice = yield* Effect.flip(store.createCollection(name, embedder))
        assert.strictEqual(twice._tag, "CollectionExists")
        const names = (yield* store.collections).map((collection) => collection.name)
        assert.deepStrictEqual(names, [...names].sort())
        assert.deepStrictEqual(yield* store.dropCollection(name), { documents: 1, passages: 2 })
        assert.strictEqual((yield* Effect.flip(store.collection(name)))._tag, "CollectionNotFound")
        assert.strictEqual((yield* Effect.flip(store.dropCollection(name)))._tag, "CollectionNotFound")
        // A collection of the same name starts empty.
        yield* store.createCollection(name, embedder)
        assert.deepStrictEqual(yield* store.list(name, { limit: 10 }), [])
      })
    )

    it.effect("names itself, and keeps what its capabilities promise of deleted documents and of files", () =>
      Effect.gen(function* () {
        const { name, put, rank, store } = yield* fresh
        const { backend, capabilities, version } = yield* store.about()
        assert.include(["sqlite", "postgres", "opensearch"], backend)
        assert.match(version, /^\d+\.\d+/)
        yield* put(document("quince", { origin: "/a.md", source: "/a.md" }))
        const [hit] = yield* rank({ keyword: "quince" })
        assert.strictEqual(hit!.document.file !== undefined, capabilities.stale)
        yield* put(document("plum", { source: "b" }))
        yield* store.deleteSource(name, "b")
        assert.strictEqual(yield* provideLive(store.purge()), capabilities.purge)
        assert.strictEqual((yield* provideLive(store.compact())).complete, capabilities.purge)
      })
    )

    it.effect("knows what was embedded of documents, and of their like", () =>
      Effect.gen(function* () {
        const { name, put, store } = yield* fresh
        const east = unit(0, 1, 0, 0)
        const [first] = yield* put(
          document("one\ntwo\nthree", { source: "a", title: "A", vectors: [north, undefined, east] }),
          document("four", { source: "b" }),
          document("four", { source: "c" })
        )
        const found = yield* store.embeddings(name, { docIds: [first!.docId], fingerprints: ["of four", "of five"] })
        assert.sameDeepMembers(
          [...found],
          [
            { title: "A", heading: [], text: "one", vector: north },
            { title: "A", heading: [], text: "three", vector: east },
            { title: undefined, heading: [], text: "four", vector: north }
          ]
        )
        const byEither = yield* store.embeddings(name, {
          docIds: [first!.docId],
          fingerprints: ["of one\ntwo\nthree", "of f"]
        })
        assert.lengthOf(byEither, 2)
        assert.deepStrictEqual(yield* store.embeddings(name, { docIds: [], fingerprints: [] }), [])
        const other = CollectionName.make("never-made")
        const missing = yield* Effect.flip(store.embeddings(other, { docIds: [], fingerprints: ["of four"] }))
        assert.strictEqual(missing._tag, "CollectionNotFound")
      })
    )

    it.effect("gives a document back as it was", () =>
      Effect.gen(function* () {
        const { name, put, store } = yield* fresh
        const metadata = { lang: "en", tags: ["a", "b"], nested: { deep: [1, null] }, year: 1999 }
        const content = "\n  first\n\n\nsecond 𝒳\n \n"
        const [outcome] = yield* put(document(content, { source: "/a.md", title: "A", metadata }))
        assert.strictEqual(outcome?.status, "created")
        const stored = yield* store.get(name, outcome!.docId)
        assert.strictEqual(stored.content, content)
        assert.deepStrictEqual(stored.metadata, metadata)
        assert.strictEqual(stored.title, "A")
        assert.strictEqual(stored.source, "/a.md")
        for (const passage of stored.passages) {
          assert.strictEqual(content.slice(passage.start, passage.end), passage.text)
        }
        assert.deepStrictEqual(
          stored.passages.map((passage) => passage.ordinal),
          [0, 1]
        )
      })
    )

    it.effect.prop(
      "gives back any content, however its passages overlap",
      { content: FastCheck.string({ unit: "binary" }), cuts: FastCheck.array(FastCheck.nat(40), { maxLength: 8 }) },
      ({ content, cuts }) =>
        Effect.gen(function* () {
          const { name, put, store } = yield* fresh
          // Passages begin and end between characters, never inside a surrogate pair.
          const bounds = [0]
          for (const character of content) bounds.push(bounds.at(-1)! + character.length)
          const starts = [...new Set(cuts)].filter((start) => start < bounds.length - 1).sort((a, b) => a - b)
          const passages = starts.map((start, index) => {
            const end = Math.min(bounds.length - 1, start + 1 + ((index * 7) % 13))
            return { ...at(content, bounds[start]!, bounds[end]!), heading: [], vector: Option.none() }
          })
          const [outcome] = yield* put({ ...document("x", { source: "s" }), content, passages })
          assert.strictEqual((yield* store.get(name, outcome!.docId)).content, content)
        }),
      { fastCheck: { numRuns: 20 } }
    )

    it.effect("knows a document by doc_id, else source, else content", () =>
      Effect.gen(function* () {
        const { name, put, store } = yield* fresh
        const id = DocumentId.make("mine")
        yield* put(document("one", { docId: id, source: "s" }), document("other", { source: "t" }), document("bare"))
        const [bySource] = yield* put(document("two", { source: "s" }))
        assert.deepStrictEqual(bySource, { docId: id, status: "updated", passages: 1 })
        const [byId] = yield* put(document("three", { docId: id, source: "moved" }))
        assert.deepStrictEqual(byId, { docId: id, status: "updated", passages: 1 })
        const [byContent] = yield* put(document("bare"))
        assert.strictEqual(byContent?.status, "updated")
        const [renamed] = yield* put(document("four", { docId: DocumentId.make("new"), source: "moved" }))
        assert.deepStrictEqual(renamed, { docId: DocumentId.make("new"), status: "updated", passages: 1 })
        assert.strictEqual((yield* store.stats(name)).documents, 3)
        const sizes = (yield* store.sizes()).map(({ name, value }) => [name, value > 0])
        // A store that looks among all vectors has codes for that; few have none yet.
        const engines = (yield* store.about()).capabilities.exact_vectors
          ? [
              ["posting_bytes", true],
              ["code_bytes", false]
            ]
          : [["index_bytes", true]]
        assert.deepStrictEqual(sizes, engines)
        assert.strictEqual((yield* Effect.flip(store.get(name, id)))._tag, "DocumentNotFound")
      })
    )

    it.effect("refuses what names two documents, or one twice, and changes nothing", () =>
      Effect.gen(function* () {
        const { name, put, store } = yield* fresh
        yield* put(document("a", { docId: DocumentId.make("a"), source: "sa" }))
        yield* put(document("b", { docId: DocumentId.make("b"), source: "sb" }))
        const refused = [
          [document("x", { docId: DocumentId.make("a"), source: "sb" })],
          [document("x", { source: "n" }), document("y", { source: "n" })],
          [document("x", { docId: DocumentId.make("n") }), document("y", { docId: DocumentId.make("n") })],
          [document("x", { docId: DocumentId.make("n"), source: "sa" }), document("y", { docId: DocumentId.make("a") })]
        ]
        for (const documents of refused) {
          assert.strictEqual((yield* Effect.flip(store.put(name, documents)))._tag, "DocumentConflict")
          assert.strictEqual((yield* Effect.flip(store.lookup(name, documents)))._tag, "DocumentConflict")
        }
        assert.strictEqual((yield* store.get(name, DocumentId.make("a"))).content, "a")
        assert.deepStrictEqual(yield* store.stats(name).pipe(Effect.map((stats) => stats.documents)), 2)
      })
    )

    it.effect("replaces a document wholly in both legs", () =>
      Effect.gen(function* () {
        const { put, sources, rank, store, name } = yield* fresh
        yield* put(document("zebra one\nzebra two\nzebra three", { source: "s" }), document("giraffe", { source: "t" }))
        yield* put(document("lion", { source: "s", vectors: [unit(0, 1, 0, 0)] }))
        assert.deepStrictEqual(yield* sources({ keyword: "zebra" }), [])
        assert.deepStrictEqual(yield* sources({ keyword: "lion" }), ["s"])
        const hits = yield* rank({ vector: unit(0, 1, 0, 0) })
        assert.deepStrictEqual(
          hits.map((hit) => hit.passage.text),
          ["lion", "giraffe"]
        )
        const { documents, passages } = yield* store.stats(name)
        assert.deepStrictEqual({ documents, passages }, { documents: 2, passages: 2 })
      })
    )

    it.effect("forgets a deleted document", () =>
      Effect.gen(function* () {
        const { name, put, rank, store } = yield* fresh
        const [first] = yield* put(
          document("zebra", { source: "s", metadata: { k: 1 } }),
          document("zebra too", { source: "t" })
        )
        assert.deepStrictEqual(yield* store.deleteSource(name, "s"), { documents: 1, passages: 1 })
        assert.deepStrictEqual(yield* store.deleteSource(name, "s"), { documents: 0, passages: 0 })
        assert.deepStrictEqual(yield* store.deleteSource(name, "*"), { documents: 0, passages: 0 })
        assert.strictEqual((yield* Effect.flip(store.get(name, first!.docId)))._tag, "DocumentNotFound")
        assert.strictEqual((yield* Effect.flip(store.deleteDocument(name, first!.docId)))._tag, "DocumentNotFound")
        for (const request of [{ keyword: "zebra" }, { vector: north }, { keyword: "zebra", vector: north }]) {
          assert.deepStrictEqual(
            (yield* rank(request)).map((hit) => hit.document.source),
            ["t"]
          )
        }
        assert.deepStrictEqual(yield* rank({ vector: north, filter: { k: 1 } }), [])
      })
    )

    it.effect("deletes a document without a source by its id, which is shown and searched as its source", () =>
      Effect.gen(function* () {
        const { name, put, rank, sources, store } = yield* fresh
        const [unnamed] = yield* put(document("okapi"), document("okapi too", { source: "t" }))
        assert.deepStrictEqual(
          (yield* rank({ keyword: "okapi", filter: { source: unnamed!.docId } })).map(
            ({ document }) => document.source
          ),
          [unnamed!.docId]
        )
        assert.deepStrictEqual(yield* store.deleteSource(name, unnamed!.docId), { documents: 1, passages: 1 })
        assert.deepStrictEqual(yield* sources({ keyword: "okapi" }), ["t"])
        const [named] = yield* put(document("okapi three", { source: "u" }))
        assert.deepStrictEqual(yield* store.deleteSource(name, named!.docId), { documents: 0, passages: 0 })
      })
    )

    it.effect("ranks by cosine, exactly, ties by doc_id and ordinal", () =>
      Effect.gen(function* () {
        const { put, rank } = yield* fresh
        const angles = [3, 1, 2, 1, 0]
        yield* put(
          ...angles.map((angle, index) =>
            document(`p${index}\nq${index}`, {
              docId: DocumentId.make(`d${9 - index}`),
              vectors: [unit(Math.cos(angle), Math.sin(angle), 0, 0), undefined]
            })
          )
        )
        const hits = yield* rank({ vector: north })
        assert.deepStrictEqual(
          hits.map((hit) => hit.passage.text),
          ["p4", "p3", "p1", "p2", "p0"]
        )
        for (const hit of hits) {
          const angle = angles[Number(hit.passage.text.slice(1))]!
          assert.closeTo(hit.score, Math.cos(angle), 1e-6)
          assert.strictEqual(hit.vector?.score, hit.score)
          assert.isUndefined(hit.keyword)
        }
      })
    )

    it.effect("ranks by BM25: rarer and more frequent terms first, positive", () =>
      Effect.gen(function* () {
        const { put, rank } = yield* fresh
        yield* put(
          document("common apple", { source: "1" }),
          document("common pear", { source: "2" }),
          document("common quince quince", { source: "3" }),
          document("common fig quince", { source: "4" }),
          document("common plum", { source: "5" }),
          document("plain melon", { source: "6" }),
          document("other melon", { source: "7" })
        )
        const hits = yield* rank({ keyword: "quince common" })
        assert.deepStrictEqual(
          hits.slice(0, 2).map((hit) => hit.document.source),
          ["3", "4"]
        )
        assert.strictEqual(hits.length, 5)
        assert.isTrue(hits.every((hit) => hit.score > 0 && hit.keyword?.score === hit.score))
      })
    )

    it.effect("searches titles and headings as well as texts", () =>
      Effect.gen(function* () {
        const { put, sources } = yield* fresh
        const [plain] = document("nothing here").passages
        yield* put(document("nothing here", { source: "title", title: "Walrus" }), {
          ...document("nothing here", { source: "heading" }),
          passages: [{ ...plain!, heading: ["A", "Narwhal"] }]
        })
        assert.deepStrictEqual(yield* sources({ keyword: "walrus" }), ["title"])
        yield* put(document("nothing here", { source: "/docs/sea-cucumber.md" }))
        assert.deepStrictEqual(yield* sources({ keyword: "cucumber" }), ["/docs/sea-cucumber.md"])
        assert.deepStrictEqual(yield* sources({ keyword: "narwhals" }), ["heading"])
      })
    )

    it.effect("finds what a query demands, in documents without a title and a source too", () =>
      Effect.gen(function* () {
        const { put, rank } = yield* fresh
        yield* put(document("a grey seal sleeps"), document("a seal of grey wax", { title: "Wax" }))
        const found = (demands: Partial<Demands>) =>
          Effect.map(
            rank({ keyword: "grey seal", demands: { phrases: [], titles: [], without: [], ...demands } }),
            (hits) => hits.map(({ passage }) => passage.text)
          )
        assert.deepStrictEqual(yield* found({ phrases: ["grey seal"] }), ["a grey seal sleeps"])
        assert.deepStrictEqual(yield* found({ without: [{ text: "grey seal", in: "phrase" }] }), ["a seal of grey wax"])
        assert.deepStrictEqual(yield* found({ titles: ["wax"] }), ["a seal of grey wax"])
      })
    )

    it.effect("keeps what a passage has beside its text, and finds it by its table's header", () =>
      Effect.gen(function* () {
        const { name, put, rank, store } = yield* fresh
        const made = document("plain\nrows", { source: "a" })
        const beside = [{}, { locator: { _tag: "Page" as const, page: 3 }, tableHeader: "Flag | Meaning" }]
        const [outcome] = yield* put({
          ...made,
          passages: made.passages.map((passage, index) => ({ ...passage, ...beside[index] }))
        })
        const kept = (passage: Pick<Passage, "locator" | "tableHeader">) =>
          Object.fromEntries(
            (["locator", "tableHeader"] as const).flatMap((key) => (key in passage ? [[key, passage[key]]] : []))
          )
        assert.deepStrictEqual((yield* store.get(name, outcome!.docId)).passages.map(kept), beside)
        assert.deepStrictEqual((yield* store.exported(name, { limit: 1 })).documents[0]?.passages.map(kept), beside)
        const hits = yield* rank({ keyword: "meaning" })
        assert.deepStrictEqual(
          hits.map(({ passage }) => ({ text: passage.text, ...kept(passage) })),
          [{ text: "rows", ...beside[1] }]
        )
      })
    )

    it.effect("fuses both legs, and says where each placed a hit", () =>
      Effect.gen(function* () {
        const { put, rank } = yield* fresh
        yield* put(
          document("kiwi", { source: "both", vectors: [unit(1, 0.1, 0, 0)] }),
          document("kiwi kiwi", { source: "keyword", vectors: [undefined] }),
          document("else", { source: "vector", vectors: [north] })
        )
        for (const fusion of ["rrf", "score"] as const) {
          const hits = yield* rank({ keyword: "kiwi", vector: north, alpha: 0.5, fusion })
          assert.strictEqual(hits.length, 3)
          assert.strictEqual(hits[0]?.document.source, "both")
          assert.strictEqual(hits[0]?.vector?.rank, 2)
          assert.strictEqual(hits[0]?.keyword?.rank, 2)
          assert.isTrue(hits.every((hit) => hit.score > 0 && hit.score <= 1))
        }
      })
    )

    it.effect("gives k where k match, whatever the filter leaves out", () =>
      Effect.gen(function* () {
        const { name, put, sources, store } = yield* fresh
        // 400 nearer, better matching passages that the filter excludes.
        yield* Effect.forEach(Array.from({ length: 4 }), (_, part) =>
          store.put(
            name,
            Array.from({ length: 100 }, (_, index) =>
              document("fox fox fox", { source: `out/${part}/${index}`, metadata: { in: false } })
            )
          )
        )
        const wanted = Array.from({ length: 10 }, (_, index) => `in/${index}`)
        yield* put(
          ...wanted.map((source) =>
            document("a fox among many other words", { source, metadata: { in: true }, vectors: [unit(0.1, 1, 0, 0)] })
          )
        )
        for (const leg of [{ keyword: "fox" }, { vector: north }, { keyword: "fox", vector: north }]) {
          for (const filter of [{ in: true }, { source: "in/*" }]) {
            assert.deepStrictEqual([...(yield* sources({ ...leg, filter }))].sort(), wanted)
          }
        }
      })
    )

    it.effect("tells which metadata keys there are not, and which there are", () =>
      Effect.gen(function* () {
        const store = yield* whole
        const { put } = yield* fresh
        yield* put(document("w", { metadata: { constructor: 1, tags: ["x", "y"] } }))
        const { known, unknown } = yield* store.metadataKeys(["tags", "no such key", "constructor"])
        assert.deepStrictEqual(unknown, ["no such key"])
        assert.includeMembers([...known], ["constructor", "tags"])
        assert.deepStrictEqual(known, [...new Set(known)].sort())
        assert.deepStrictEqual(yield* store.metadataKeys(["tags"]), { unknown: [], known: [] })
      })
    )

    it.effect("knows a key by itself, whatever JSON it has, and deletes by it", () =>
      Effect.gen(function* () {
        const store = yield* whole
        const { name, put, sources } = yield* fresh
        const json: Readonly<Record<string, unknown>> = {
          text: "x",
          "empty text": "",
          number: 0,
          boolean: false,
          null: null,
          object: { name: "Ada" },
          "empty object": {},
          list: ["x"],
          "empty list": [],
          "list of objects": [{ name: "Ada" }],
          "list of nothing": [null],
          "list of lists": [["x"]],
          mixed: [null, {}, "x"]
        }
        yield* put(
          document("w", { source: "none", metadata: { other: { held: 1 } } }),
          ...Object.entries(json).map(([source, held]) => document("w", { source, metadata: { held } }))
        )
        const all = Object.keys(json).sort()
        for (const leg of [{ keyword: "w" }, { vector: north }]) {
          const found = (filter: Filter) =>
            Effect.map(sources({ ...leg, filter, limit: 50 }), (each) => [...each].sort())
          assert.deepStrictEqual(yield* found({ held: { exists: true } }), all)
          assert.deepStrictEqual(yield* found({ held: { exists: false } }), ["none"])
          assert.deepStrictEqual(yield* found({ held: "x" }), ["list", "mixed", "text"])
          assert.deepStrictEqual(yield* found({ held: "" }), ["empty text"])
          assert.deepStrictEqual(yield* found({ held: { gte: "" } }), ["empty text", "list", "mixed", "text"])
          assert.lengthOf(yield* found({ held: { not: "x" } }), all.length - 2)
        }
        const missing = CollectionName.make("missing")
        assert.strictEqual(yield* store.filtered([name, missing], { held: { exists: true } }), all.length)
        assert.strictEqual(yield* store.filtered([name], {}), all.length + 1)
        assert.strictEqual(yield* store.filtered([missing], {}), 0)
        const { unknown } = yield* store.metadataKeys(["held", "other", "absent"])
        assert.deepStrictEqual(unknown, ["absent"])
        const long = "1969-12-31T00:00:00Z"
        assert.strictEqual(yield* store.filtered([name], { indexed_at: { gte: long } }), all.length + 1)
        assert.strictEqual(yield* store.filtered([name], { indexed_at: { lt: Date.parse(long) } }), 0)
        assert.strictEqual(
          yield* store.filtered([name], { indexed_at: { exists: true, not: { lt: long } } }),
          all.length + 1
        )
        const [listed] = yield* store.list(name, { limit: 1, filter: { indexed_at: { gt: long } } })
        const time = listed!.indexedAt
        assert.isAbove(yield* store.filtered([name], { indexed_at: time }), 0)
        assert.strictEqual(yield* store.filtered([name], { indexed_at: { not: { gte: Date.parse(long) } } }), 0)
        const every = all.length + 1
        // Numbers that no stored time can be: fractions, and beyond 64 bits.
        const far: ReadonlyArray<readonly [Condition, number]> = [
          [1.5, 0],
          [[5e-324, 1e308, -0.5], 0],
          [{ not: 1e30 }, every],
          [{ gt: -1e308, lte: 1e308 }, every],
          [{ lt: -1e308 }, 0],
          [{ gte: 1e19 }, 0],
          [{ not: { gte: 1e19 } }, every]
        ]
        for (const [condition, count] of far) {
          assert.strictEqual(yield* store.filtered([name], { or: [{ indexed_at: condition }] }), count)
          assert.lengthOf(yield* store.list(name, { limit: 50, filter: { indexed_at: condition } }), count)
        }
        assert.isAbove(yield* store.filtered([name], { indexed_at: { gt: time - 0.5, lt: time + 0.5 } }), 0)
        for (const none of [
          { gte: time + 0.5, lt: time + 1 },
          { gt: time, lte: time + 0.5 }
        ]) {
          assert.strictEqual(yield* store.filtered([name], { indexed_at: none }), 0)
        }
        // One at a time, as a door does it in steps.
        assert.strictEqual((yield* store.deleteMatching(name, { held: { exists: false } }, 10)).documents, 1)
        assert.deepStrictEqual([...(yield* sources({ keyword: "w", limit: 50 }))].sort(), all)
        assert.strictEqual((yield* store.deleteMatching(name, { held: { exists: true } }, 50)).documents, all.length)
      })
    )

    it.effect("deletes what a filter matches, so many at once", () =>
      Effect.gen(function* () {
        const store = yield* whole
        const { name, put, sources } = yield* fresh
        yield* put(
          ...["a", "b", "c", "d"].map((source) => document("w", { source, metadata: { kept: source === "d" } }))
        )
        const step = store.deleteMatching(name, { kept: false }, 2)
        const steps = [yield* step, yield* step, yield* step].map(({ documents }) => documents)
        assert.deepStrictEqual(steps, [2, 1, 0])
        assert.deepStrictEqual(yield* sources({ keyword: "w" }), ["d"])
      })
    )

    it.effect("filters as SPEC says, on both legs", () =>
      Effect.gen(function* () {
        const { put, sources } = yield* fresh
        yield* put(
          document("w", { source: "docs/a.md", metadata: { lang: "en", year: 1999, tags: ["x", "y"], ok: true } }),
          document("w", { source: "docs/sub/b.md", metadata: { lang: "de", year: 2005, tags: ["y"], ok: false } }),
          document("w", { source: "docs/[id].md", metadata: { lang: "1", year: "2005", tags: [1, "2020-01-01"] } }),
          document("w", { docId: DocumentId.make("bare"), title: "T", metadata: { 'a"b.c$': 1, one: 1 } })
        )
        const cases: ReadonlyArray<readonly [Filter, ReadonlyArray<string>]> = [
          [{}, ["bare", "docs/[id].md", "docs/a.md", "docs/sub/b.md"]],
          [{ source: "docs/a.md" }, ["docs/a.md"]],
          [{ source: "docs/*" }, ["docs/[id].md", "docs/a.md", "docs/sub/b.md"]],
          [{ source: "docs/?.md" }, ["docs/a.md"]],
          [{ source: "docs/[id].md" }, ["docs/[id].md"]],
          [{ source: "docs/[i*" }, ["docs/[id].md"]],
          [{ source: "DOCS/*" }, []],
          [{ source: "bare" }, ["bare"]],
          [{ source: ["bare", "*/b.md"] }, ["bare", "docs/sub/b.md"]],
          [{ title: "T" }, ["bare"]],
          [{ doc_id: "bare" }, ["bare"]],
          [{ lang: "en" }, ["docs/a.md"]],
          [{ lang: ["en", "de"] }, ["docs/a.md", "docs/sub/b.md"]],
          [{ lang: [] }, []],
          [{ lang: 1 }, []],
          [{ ok: true }, ["docs/a.md"]],
          [{ ok: 1 }, []],
          [{ one: true }, []],
          [{ one: 1 }, ["bare"]],
          [{ tags: "y" }, ["docs/a.md", "docs/sub/b.md"]],
          [{ tags: ["x", 1] }, ["docs/[id].md", "docs/a.md"]],
          [{ year: { gte: 1999 } }, ["docs/a.md", "docs/sub/b.md"]],
          [{ year: { gt: 1999, lt: 2006 } }, ["docs/sub/b.md"]],
          [{ year: { gte: "2000" } }, ["docs/[id].md"]],
          [{ tags: { gte: "2020", lt: "2021" } }, ["docs/[id].md"]],
          [{ tags: { gt: "x", lt: "y" } }, []],
          [{ absent: "x" }, []],
          [{ absent: { gte: 0 } }, []],
          [{ 'a"b.c$': 1 }, ["bare"]],
          [{ lang: "en", year: 2005 }, []],
          [{ lang: "de", year: 2005, source: "*b.md" }, ["docs/sub/b.md"]],
          // What has no such key is not equal to anything.
          [{ lang: { not: "en" } }, ["bare", "docs/[id].md", "docs/sub/b.md"]],
          [{ lang: { not: ["en", "de"], exists: true } }, ["docs/[id].md"]],
          [{ tags: { not: "y" } }, ["bare", "docs/[id].md"]],
          [{ year: { not: { gte: 2000 } } }, ["bare", "docs/[id].md", "docs/a.md"]],
          [{ year: { gte: 1990, not: 2005 } }, ["docs/a.md"]],
          [{ source: { not: "docs/*" } }, ["bare"]],
          [{ source: { exists: false } }, ["bare"]],
          [{ title: { exists: true } }, ["bare"]],
          [{ title: { not: "T" } }, ["docs/[id].md", "docs/a.md", "docs/sub/b.md"]],
          [{ lang: { exists: false } }, ["bare"]],
          [{ absent: { exists: false } }, ["bare", "docs/[id].md", "docs/a.md", "docs/sub/b.md"]],
          [{ or: [{ lang: "en" }, { title: "T" }] }, ["bare", "docs/a.md"]],
          [{ or: [{ lang: "en" }, { lang: { not: "de" } }], source: "docs/*" }, ["docs/[id].md", "docs/a.md"]],
          [{ and: [{ or: [{ ok: true }, { ok: false }] }, { or: [{ lang: "de" }, { one: 1 }] }] }, ["docs/sub/b.md"]],
          [{ or: "x" }, []],
          [{ constructor: { exists: false } }, ["bare", "docs/[id].md", "docs/a.md", "docs/sub/b.md"]]
        ]
        for (const [filter, expected] of cases) {
          for (const leg of [{ keyword: "w" }, { vector: north }, { keyword: "w", vector: north }]) {
            assert.deepStrictEqual([...(yield* sources({ ...leg, filter }))].sort(), expected, JSON.stringify(filter))
          }
        }
      })
    )

    it.effect.prop(
      "takes any text as a query",
      {
        query: FastCheck.string({ unit: "binary" }),
        also: FastCheck.constantFrom('"', "* ^ : ( ) AND NOT NEAR", "{}-")
      },
      ({ also, query }) =>
        Effect.gen(function* () {
          const store = yield* whole
          const name = CollectionName.make("anything")
          yield* Effect.catchTag(store.createCollection(name, embedder), "CollectionExists", () => Effect.void)
          for (const keyword of [query, query + also, also + query]) {
            assert.deepStrictEqual(yield* ranked(store, { collection: name, keyword }), [])
          }
        }),
      { fastCheck: { numRuns: 30 } }
    )

    it.effect("marks what a run saw, moves lines, and prunes the rest under the paths", () =>
      Effect.gen(function* () {
        const { name, put, rank, store } = yield* fresh
        const file = (origin: string, line?: number) => document(`text of ${origin}`, { source: origin, origin, line })
        const paths = ["/a/one", "/a/two", "/a/broken/three", "/ab/four", "/a", "/b"]
        const outcomes = yield* put(...paths.map((path) => file(path, 7)), document("by hand", { source: "/a/label" }))
        const [one] = outcomes
        yield* store.touch(name, [{ docId: one!.docId, line: 12 }], 42)
        const below = (after?: string, limit = 10) =>
          Effect.map(store.filesBelow(name, "/a", { limit, after }), (files) => files.map(({ path }) => path))
        assert.deepStrictEqual(yield* below(), ["/a", "/a/broken/three", "/a/one", "/a/two"])
        assert.deepStrictEqual(yield* below(undefined, 1), ["/a"])
        assert.deepStrictEqual(yield* below("/a", 2), ["/a/broken/three", "/a/one"])
        assert.deepStrictEqual(yield* below("/a/one"), ["/a/two"])
        const [ref] = yield* store.lookup(name, [{ derivedId: one!.docId }])
        assert.strictEqual(Option.getOrThrow(ref!).seenBy, 42)
        assert.strictEqual(Option.getOrThrow(ref!).line, 12)
        const [hit] = yield* rank({ keyword: "one", filter: { source: "/a/one" } })
        assert.deepStrictEqual([hit?.passage.startLine, hit?.passage.endLine], [12, 12])
        assert.deepStrictEqual(yield* store.prune(name, ["/a"], { before: 42 }), { documents: 3, passages: 3 })
        assert.deepStrictEqual(yield* below(), ["/a/one"])
        const left = (yield* store.list(name, { limit: 10 })).map((document) => document.source)
        assert.deepStrictEqual(left, ["/a/label", "/a/one", "/ab/four", "/b"])
        assert.deepStrictEqual(yield* store.prune(name, [], { before: 43 }), { documents: 0, passages: 0 })
      })
    )

    it.effect("numbers runs in their order, and prunes what was last seen before one of them", () =>
      Effect.gen(function* () {
        const { name, store } = yield* fresh
        const file = (origin: string) => document(`text of ${origin}`, { source: origin, origin })
        const [first, second] = [yield* store.beginRun(name), yield* store.beginRun(name)]
        assert.isAbove(second, first)
        const [, seen] = yield* store.put(name, [file("/a/one"), file("/a/two")], { seenBy: first })
        yield* store.put(name, [file("/a/three")], { seenBy: second })
        yield* store.touch(name, [{ docId: seen!.docId }], second)
        // The earlier run comes to it last, and neither way takes back what the later one saw.
        yield* store.touch(name, [{ docId: seen!.docId }], first)
        yield* store.put(name, [{ ...file("/a/three"), fingerprint: "changed" }], { seenBy: first })
        assert.deepStrictEqual(yield* store.prune(name, ["/a"], { before: first }), { documents: 0, passages: 0 })
        assert.deepStrictEqual(yield* store.prune(name, ["/a"], { before: second }), { documents: 1, passages: 1 })
        const left = (yield* store.list(name, { limit: 10 })).map(({ source }) => source)
        assert.deepStrictEqual(left, ["/a/three", "/a/two"])
      })
    )

    it.effect("prunes thousands of documents in steps, each going on where the one before ended", () =>
      Effect.gen(function* () {
        const { name, store } = yield* fresh
        const run = yield* store.beginRun(name)
        const files = Array.from({ length: 2500 }, (_, n) => `/big/${n}`)
        const records = files.map((origin) => document("x", { source: origin, origin }))
        const kept = records.filter((_, n) => n % 2 === 0)
        yield* store.put(name, records)
        yield* store.touch(
          name,
          kept.map(({ derivedId }) => ({ docId: derivedId })),
          run
        )
        let deleted = 0
        let steps = 0
        for (let from: PrunePosition | undefined; ; steps++) {
          const step: Pruned = yield* store.prune(name, ["/elsewhere", "/big", "/big/7"], { before: run, from })
          deleted += step.documents
          from = step.next
          if (from === undefined) break
        }
        assert.isAbove(steps, 1)
        assert.deepStrictEqual([deleted, (yield* store.stats(name)).documents], [1250, 1250])
      })
    )

    it.effect("lists page by page, in order, filtered", () =>
      Effect.gen(function* () {
        const { name, put, store } = yield* fresh
        const sources = Array.from({ length: 25 }, (_, index) => `s${String(index).padStart(2, "0")}`)
        yield* put(...sources.map((source, index) => document("x", { source, metadata: { even: index % 2 === 0 } })))
        const listed: Array<string | undefined> = []
        for (let after: ListPage["after"]; ;) {
          const page: ReadonlyArray<ListedDocument> = yield* store.list(name, { limit: 10, after })
          if (page.length === 0) break
          listed.push(...page.map((document) => document.source))
          after = page.at(-1)
          // Somebody deletes what was listed.
          yield* store.deleteDocument(name, after!.docId)
        }
        assert.deepStrictEqual(listed, sources)
        assert.strictEqual((yield* store.list(name, { limit: 100, filter: { even: true } })).length, 12)
      })
    )

    it.effect("samples passages by their place, of this collection only", () =>
      Effect.gen(function* () {
        const { name, put, store } = yield* fresh
        assert.deepStrictEqual(yield* store.sample(name, [0, 1]), [])
        const other = yield* fresh
        for (let n = 0; n < 10; n++) {
          yield* put(document(`p${n}\nq${n}`, { docId: DocumentId.make(`d${n}`), title: `T${n}` }))
          yield* other.put(document("another's"))
        }
        yield* store.deleteDocument(name, DocumentId.make("d5"))
        const [last, first] = yield* store.sample(name, [1, 0])
        assert.deepStrictEqual(first, {
          docId: DocumentId.make("d0"),
          source: undefined,
          title: "T0",
          text: "p0"
        })
        assert.deepStrictEqual(last, {
          docId: DocumentId.make("d9"),
          source: undefined,
          title: "T9",
          text: "q9"
        })
        const every = yield* store.sample(
          name,
          Array.from({ length: 100 }, (_, n) => n / 99)
        )
        assert.deepStrictEqual(
          every.map(({ text }) => text),
          [0, 1, 2, 3, 4, 6, 7, 8, 9].flatMap((n) => [`p${n}`, `q${n}`])
        )
      })
    )

    it.effect("fails on a collection that is not there", () =>
      Effect.gen(function* () {
        const store = yield* whole
        const name = CollectionName.make("nowhere")
        const attempts: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
          store.put(name, []),
          store.lookup(name, []),
          store.get(name, DocumentId.make("x")),
          store.list(name, { limit: 1 }),
          store.deleteSource(name, "x"),
          store.deleteDocument(name, DocumentId.make("x")),
          store.prune(name, []),
          store.beginRun(name),
          store.stats(name),
          store.sample(name, [0]),
          ranked(store, { collection: name, keyword: "x", limit: 1 })
        ]
        for (const attempt of attempts) {
          assert.strictEqual((yield* Effect.flip(attempt))._tag, "CollectionNotFound")
        }
      })
    )
  })

const at = (content: string, start: number, end: number) => ({
  text: content.slice(start, end),
  start,
  end,
  startLine: 1,
  endLine: 1
})
