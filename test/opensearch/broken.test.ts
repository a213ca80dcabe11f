import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { CollectionName } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"
import { Examiner, type Whole, whole } from "../../src/Store.ts"
import * as OpenSearch from "../../src/Store/OpenSearch.ts"
import * as OpenSearchExaminer from "../../src/Store/OpenSearchExaminer.ts"
import { type Cluster, open } from "../../src/Store/opensearch/Cluster.ts"
import { passagesIndex } from "../../src/Store/opensearch/mapping.ts"
import { make } from "../../src/Store/opensearch/store.ts"
import { document, embedder } from "../contracts/Store.ts"
import { ask, options, removed } from "./index.ts"
import { ranked } from "../ranked.ts"

const name = CollectionName.make("c")
const docId = DocumentId.make("d")

const textsOf = (store: Whole, keyword: string) =>
  Effect.map(ranked(store, { collection: name, keyword, limit: 100 }), (hits) =>
    hits.map(({ passage }) => passage.text).sort()
  )

const index = Effect.gen(function* () {
  const given = options()
  yield* Effect.addFinalizer(() => Effect.promise(() => removed(given.prefix)))
  const store = yield* Effect.provide(whole, yield* Layer.build(OpenSearch.layer(given)))
  yield* store.createCollection(name, embedder)
  return { given, store }
})

const examined = (given: OpenSearch.IndexOptions) =>
  Effect.gen(function* () {
    const examiner = yield* Examiner
    const findings = yield* examiner.examine(() => Effect.void)
    return { examiner, bad: findings.filter(({ status }) => status !== "ok") }
  }).pipe(Effect.provide(OpenSearchExaminer.layer({ ...given, mode: "existing" })))

/** A process that is gone before its request of this number that writes is sent. */
const dying = (cluster: Cluster, before: number): Cluster => {
  let writes = 0
  return {
    ...cluster,
    bulk: (...args) =>
      Effect.suspend(() => (args[0].length > 0 && writes++ >= before ? Effect.never : cluster.bulk(...args)))
  }
}

for (const before of [0, 1, 2, 3]) {
  it.scoped(`a process that dies at step ${before} of a put leaves the old document or the new one, whole`, () =>
    Effect.gen(function* () {
      const { given, store } = yield* index
      const old = document("old one\nold two", { docId, source: "s" })
      yield* store.put(name, [old])
      const cluster = yield* open(given)
      const doomed = yield* Effect.fork(
        make(dying(cluster, before)).put(name, [document("new one\nnew two", { docId, source: "s" })])
      )
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 1500)))
      yield* Fiber.interrupt(doomed)
      yield* Effect.promise(() => ask("POST", `/${given.prefix}-*/_refresh`))
      const texts = yield* textsOf(store, "one two")
      // The head is written third: passages, the source, the head.
      const kept = before > 2 ? ["new one", "new two"] : ["old one", "old two"]
      assert.deepStrictEqual(texts, kept)
      assert.strictEqual((yield* store.get(name, docId)).content, kept.join("\n"))
      // Whoever indexes it again has nothing to mend.
      yield* store.put(name, [document("last one", { docId, source: "s" })])
      assert.deepStrictEqual(yield* textsOf(store, "one two"), ["last one"])

      yield* TestClock.adjust("1 hour")
      const { bad, examiner } = yield* examined(given)
      const isLeft = before === 1 || before === 2 || before === 3
      assert.deepStrictEqual(
        bad.map((finding) => finding.name),
        isLeft ? ["orphans"] : []
      )
      if (!isLeft) return
      yield* examiner.mend(bad.flatMap(({ cure }) => (cure === undefined ? [] : [cure])))
      assert.deepStrictEqual((yield* examined(given)).bad, [])
      assert.deepStrictEqual(yield* textsOf(store, "one two"), ["last one"])
    })
  )
}

it.scoped("a process that stood still while doctor --fix swept stores its document whole when it goes on", () =>
  Effect.gen(function* () {
    const { given, store } = yield* index
    yield* store.put(name, [document("old one", { docId, source: "s" })])
    const cluster = yield* open(given)
    const [reached, goesOn] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    let writes = 0
    const slow: Cluster = {
      ...cluster,
      // Its passages are there, its head not yet.
      bulk: (...args) =>
        Effect.suspend(() => {
          const stops = args[0].length > 0 && writes++ === 2
          const before = stops
            ? Effect.zipRight(Deferred.succeed(reached, undefined), Deferred.await(goesOn))
            : Effect.void
          return Effect.zipRight(before, cluster.bulk(...args))
        })
    }
    const put = yield* Effect.fork(make(slow).put(name, [document("new one\nnew two", { docId, source: "s" })]))
    yield* Deferred.await(reached)
    yield* TestClock.adjust("1 hour")
    const { bad, examiner } = yield* examined(given)
    assert.deepStrictEqual(
      bad.map((finding) => finding.name),
      ["orphans"]
    )
    yield* examiner.mend(bad.flatMap(({ cure }) => (cure === undefined ? [] : [cure])))
    yield* Deferred.succeed(goesOn, undefined)
    yield* Fiber.join(put)
    assert.strictEqual((yield* store.get(name, docId)).content, "new one\nnew two")
    assert.deepStrictEqual(yield* textsOf(store, "one two"), ["new one", "new two"])
  })
)

it.scopedLive("a collection that is made while doctor --fix sweeps has its indexes", () =>
  Effect.gen(function* () {
    const { given } = yield* index
    const cluster = yield* open(given)
    const [reached, goesOn] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const slow: Cluster = {
      ...cluster,
      // Its indexes are there, its record not yet.
      send: (method, path, body) => {
        const sent = cluster.send(method, path, body)
        if (!path.includes("/_create/")) return sent
        return Effect.zipRight(Deferred.succeed(reached, undefined), Effect.zipRight(Deferred.await(goesOn), sent))
      }
    }
    const made = CollectionName.make("made")
    const store = make(slow)
    const creating = yield* Effect.fork(store.createCollection(made, embedder))
    yield* Deferred.await(reached)
    const { bad, examiner } = yield* examined(given)
    assert.deepStrictEqual(bad, [])
    yield* examiner.mend([{ _tag: "Rows" }])
    yield* Deferred.succeed(goesOn, undefined)
    yield* Fiber.join(creating)
    yield* store.put(made, [document("one two", { docId })])
    assert.strictEqual((yield* store.get(made, docId)).content, "one two")
  })
)

it.scopedLive(
  "of two writers of one document the later one stays, whole, and both are told",
  () =>
    Effect.gen(function* () {
      const { given, store } = yield* index
      const other = yield* Effect.provide(whole, yield* Layer.build(Layer.fresh(OpenSearch.layer(given))))
      const version = (n: number) => document(`word${n} left\nword${n} right`, { docId, source: "s" })
      for (let round = 0; round < 5; round++) {
        const outcomes = yield* Effect.all(
          [store.put(name, [version(2 * round)]), other.put(name, [version(2 * round + 1)])],
          {
            concurrency: 2
          }
        )
        assert.deepStrictEqual(
          outcomes.map(([outcome]) => outcome!.docId),
          [docId, docId]
        )
        const { content, passages } = yield* store.get(name, docId)
        assert.lengthOf(passages, 2)
        const own = content.split(" ")[0]!
        assert.include([`word${2 * round}`, `word${2 * round + 1}`], own)
        assert.deepStrictEqual(yield* textsOf(store, "left right"), [`${own} left`, `${own} right`])
      }
    }),
  300_000
)

it.scopedLive(
  "readers see one generation of every document, while 5,000 are replaced",
  () =>
    Effect.gen(function* () {
      const { store } = yield* index
      const count = 25
      const batch = (n: number) =>
        Array.from({ length: count }, (_, at) =>
          document(`tide v${n} first\ntide v${n} second`, { docId: DocumentId.make(`d${at}`), source: `s${at}` })
        )
      yield* store.put(name, batch(0))
      const state = { done: false }
      let seen = 0
      const reader = Effect.gen(function* () {
        while (!state.done) {
          const hits = yield* ranked(store, { collection: name, keyword: "tide", limit: 100 })
          const versions = new Map<string, Set<string>>()
          for (const { document, passage } of hits) {
            const own = versions.get(document.docId) ?? new Set()
            versions.set(document.docId, own.add(passage.text.split(" ")[1]!))
          }
          assert.lengthOf(hits, 2 * count)
          assert.strictEqual(versions.size, count)
          for (const own of versions.values()) assert.strictEqual(own.size, 1)
          seen++
        }
      })
      const readers = yield* Effect.fork(Effect.all([reader, reader], { concurrency: 2 }))
      for (let n = 1; n <= 5000 / count; n++) yield* store.put(name, batch(n))
      state.done = true
      yield* Fiber.join(readers)
      assert.isAbove(seen, 20)
    }),
  900_000
)

it.scopedLive("measures the linkage while writes are blocked, though it cannot keep it", () =>
  Effect.gen(function* () {
    const { given, store } = yield* index
    yield* store.put(name, [document("here", { source: "a" })])
    for (const block of ["write", "read_only", "read_only_allow_delete"]) {
      const set = (to: true | null) =>
        Effect.promise(() => ask("PUT", `/${given.prefix}-*/_settings`, { [`index.blocks.${block}`]: to }))
      yield* set(true)
      assert.strictEqual(yield* store.linkage(name), 0, block)
      yield* set(null)
    }
  })
)

it.scopedLive(
  "names what keeps it from writing: a full disk, a block, another mapping; and an index that is gone",
  () =>
    Effect.gen(function* () {
      const { given, store } = yield* index
      yield* store.put(name, [document("here", { source: "a" })])
      const passages = `${given.prefix}-v1-c1-passages-1`
      const block = (settings: object) => Effect.promise(() => ask("PUT", `/${passages}/_settings`, settings))
      const refusal = Effect.map(
        Effect.flip(store.put(name, [document("there", { source: "b" })])),
        ({ message }) => message
      )
      yield* block({ "index.blocks.read_only_allow_delete": true })
      assert.include(yield* refusal, "a disk of the cluster is nearly full")
      assert.deepStrictEqual(
        (yield* examined(given)).bad.map((finding) => finding.name),
        ["blocks"]
      )
      assert.deepStrictEqual(yield* textsOf(store, "here"), ["here"])
      yield* block({ "index.blocks.read_only_allow_delete": null })
      yield* block({ "index.blocks.write": true })
      assert.include(yield* refusal, "remove the block index.blocks.write")
      yield* block({ "index.blocks.write": null })
      yield* store.put(name, [document("there", { source: "b" })])
      yield* block({ "index.refresh_interval": "-1" })
      assert.deepStrictEqual(
        (yield* examined(given)).bad.map((finding) => finding.name),
        ["refresh"]
      )
      yield* block({ "index.refresh_interval": "1s" })

      yield* Effect.promise(() => ask("DELETE", `/${passages}`))
      assert.include((yield* Effect.flip(textsOf(store, "here"))).message, "an index is gone")
      assert.include(
        (yield* examined(given)).bad.map((finding) => finding.name),
        "indexes"
      )
      yield* Effect.promise(() =>
        ask("PUT", `/${passages}`, { mappings: { properties: { gen: { type: "date" }, terms: { type: "integer" } } } })
      )
      assert.include(yield* refusal, "another mapping than Clew gave it")
      assert.include(
        (yield* examined(given)).bad.map((finding) => finding.name),
        "mapping"
      )
    })
)

it.scopedLive("an index that was restored under another prefix is another index, which may be dropped", () =>
  Effect.gen(function* () {
    const { given, store } = yield* index
    yield* store.put(name, [document("tide", { source: "a" })])
    const copied = { ...given, prefix: `${given.prefix}-copy` }
    yield* Effect.addFinalizer(() => Effect.promise(() => removed(copied.prefix)))
    yield* Effect.promise(async () => {
      await ask("PUT", `/${given.prefix}-v1-*/_settings`, { "index.blocks.write": true })
      for (const part of ["records", "c1-documents", "c1-passages-1"]) {
        await ask("PUT", `/${given.prefix}-v1-${part}/_clone/${copied.prefix}-v1-${part}`, {
          settings: { "index.blocks.write": null }
        })
      }
      await ask("PUT", `/${given.prefix}-v1-*/_settings`, { "index.blocks.write": null })
    })
    const copy = yield* Effect.provide(whole, yield* Layer.build(Layer.fresh(OpenSearch.layer(copied))))
    yield* copy.put(name, [document("moon", { source: "b" })])
    assert.deepStrictEqual(yield* textsOf(copy, "tide moon"), ["moon", "tide"])
    yield* copy.dropCollection(name)
    assert.deepStrictEqual(yield* textsOf(store, "tide moon"), ["tide"])
    assert.deepStrictEqual((yield* examined(given)).bad, [])
  })
)

it.scoped("indexes of others whose names only begin as Clew's are not read, examined or deleted", () =>
  Effect.gen(function* () {
    const { given } = yield* index
    const own = `/${given.prefix}-v1`
    const others = [`${own}-orders`, `${own}-c1-passages-1-before`]
    yield* Effect.promise(async () => {
      const settings = { number_of_replicas: 0 }
      await ask("PUT", others[0]!, { settings, mappings: { properties: { id: { type: "keyword" } } } })
      await ask("PUT", `${own}-c1-passages-1/_settings`, { "index.blocks.write": true })
      await ask("POST", `${own}-c1-passages-1/_clone${others[1]!}`, { settings: { "index.number_of_replicas": 0 } })
      await ask("PUT", `${own}-c1-passages-1/_settings`, { "index.blocks.write": null })
    })
    const store = yield* Effect.provide(whole, yield* Layer.build(Layer.fresh(OpenSearch.layer(given))))
    yield* store.put(name, [document("one two", { docId })])
    assert.deepStrictEqual(yield* textsOf(store, "one"), ["one two"])
    const { bad, examiner } = yield* examined(given)
    assert.deepStrictEqual(bad, [])
    yield* examiner.mend([{ _tag: "Rows" }])
    const there = yield* Effect.promise(() => ask("GET", `${others.join(",").replaceAll(",/", ",")}`))
    assert.lengthOf(Object.keys(there), 2)
  })
)

it.scoped("doctor names an index of passages that lacks a column, as one of an older Clew", () =>
  Effect.gen(function* () {
    const { given } = yield* index
    const passages = `${given.prefix}-v1-c1-passages-1`
    const { of: _, ...properties } = passagesIndex(embedder.dimensions).mappings.properties
    yield* Effect.promise(async () => {
      await ask("DELETE", `/${passages}`)
      await ask("PUT", `/${passages}`, { settings: { "index.knn": true }, mappings: { properties } })
    })
    const { bad } = yield* examined(given)
    assert.deepStrictEqual(
      bad.map((finding) => finding.detail),
      [`${passages} has other fields than Clew made`]
    )
  })
)
