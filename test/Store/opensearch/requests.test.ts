import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import { Examiner } from "../../../src/Store.ts"
import * as OpenSearchExaminer from "../../../src/Store/OpenSearchExaminer.ts"
import * as OpenSearch from "../../../src/Store/OpenSearch.ts"
import { names, passagesIndex, template } from "../../../src/Store/opensearch/mapping.ts"
import { frequency, fromBytes, stored, toBytes, vectorFields } from "../../../src/Store/opensearch/sources.ts"
import { CollectionName } from "../../../src/model/Collection.ts"
import { DocumentId } from "../../../src/model/Document.ts"
import { built } from "../opened.ts"
import { document, embedder } from "../../contracts/Store.ts"
import { type Asked, greeting, node, options } from "./node.ts"

it("names indexes by form, collection and generation, all of them under the template", () => {
  const own = names("clew")
  const made = [own.records, own.documents(3), own.passages(3, 2)]
  assert.deepStrictEqual(made, ["clew-v1-records", "clew-v1-c3-documents", "clew-v1-c3-passages-2"])
  for (const name of made) assert.isTrue(name.startsWith(own.pattern.slice(0, -1)))
})

it("maps what is searched, and nothing that documents bring with them", () => {
  const made = template("clew", { shards: 6, replicas: 2 })
  assert.deepStrictEqual(made.index_patterns, ["clew-v1-*"])
  const { mappings, settings } = made.template
  assert.strictEqual(settings.number_of_shards, 6)
  assert.strictEqual(settings.number_of_replicas, 2)
  assert.strictEqual(mappings.dynamic, false)
  assert.deepInclude(mappings.properties.terms, { analyzer: "clew_frequencies", index_options: "freqs" })
  assert.deepStrictEqual(settings.analysis.filter.clew_frequency, { type: "delimited_term_freq", delimiter: "|" })
  const { vector } = passagesIndex(384).mappings.properties
  assert.deepInclude(vector, { type: "knn_vector", dimension: 384 })
  assert.deepInclude(vector.method, { engine: "lucene", space_type: "cosinesimil" })
})

it.prop(
  "keeps a term in one piece, apart from all others, and counts it",
  {
    term: FastCheck.string({ minLength: 1, maxLength: 300, unit: "binary" }),
    count: FastCheck.integer({ min: 1, max: 1000 })
  },
  ({ count, term }) => {
    const made = stored(term)
    assert.notMatch(made, /[\s|]/u)
    assert.isBelow(made.length, 256)
    const terms = `a|1 ${made}|${count} zz|2`
    assert.strictEqual(frequency(terms, { term: made, isPrefix: false }), made === "a" ? 1 : made === "zz" ? 2 : count)
    assert.strictEqual(frequency(terms, { term: `${made}x`, isPrefix: false }), 0)
  }
)

it("counts terms that begin so together", () => {
  assert.strictEqual(frequency("所有|2 所|1 有|5", { term: "所", isPrefix: true }), 3)
})

it.prop("gives vectors back to the last bit", { values: FastCheck.float32Array() }, ({ values }) => {
  assert.deepStrictEqual(fromBytes(toBytes(values)), values)
})

it("searches by no vector without a direction", () => {
  assert.deepStrictEqual(vectorFields(Option.none()), {})
  assert.notProperty(vectorFields(Option.some(new Float32Array(4))), "vector")
  assert.deepStrictEqual(vectorFields(Option.some(Float32Array.of(0, 1))).vector, [0, 1])
})

const record = {
  id: 1,
  name: "c",
  embedder,
  created_at: 0,
  documents: "clew-v1-c1-documents",
  passages: "clew-v1-c1-passages-1",
  generation: 1
}

interface Line {
  readonly index?: { readonly _index: string; readonly if_seq_no?: number }
  readonly create?: { readonly _index: string }
  readonly delete?: { readonly _index: string; readonly _id: string }
}

/** A cluster with one collection and one document, as far as a put asks. */
const answering =
  (head: object | undefined) =>
  ({ body, path }: Asked): readonly [number, unknown] => {
    if (path === "/") return [200, greeting]
    if (path.includes("template")) return [200, { index_templates: [] }]
    if (path.includes("_msearch")) return [200, { responses: [{ _shards: { failed: 0 }, hits: { hits: [] } }] }]
    if (path.startsWith("/clew-v1-*?")) return [200, { "clew-v1-records": {} }]
    if (path.includes("c%3Ac")) return [200, { found: true, _source: { record } }]
    if (path.includes("_doc/counters")) {
      return [
        200,
        { found: true, _seq_no: 1, _primary_term: 1, _source: { collections: 1, documents: 7, passages: 40, runs: 0 } }
      ]
    }
    if (path.includes("_mget")) {
      const { docs } = JSON.parse(body) as { readonly docs: ReadonlyArray<{ readonly _id: string }> }
      return [
        200,
        {
          docs: docs.map(({ _id }) =>
            _id.startsWith("d:") && head !== undefined
              ? { found: true, _seq_no: 5, _primary_term: 2, _source: head }
              : { found: false }
          )
        }
      ]
    }
    if (path.includes("_bulk")) {
      const items = body.split("\n").flatMap((line) => {
        const action = line === "" ? {} : (JSON.parse(line) as Line)
        const [kind] = Object.keys(action)
        return kind === "index" || kind === "create" || kind === "delete" ? [{ [kind]: { status: 200 } }] : []
      })
      return [200, { items }]
    }
    return [200, {}]
  }

it.scoped(
  "stores passages first, then the head on condition of the one that was read, then removes the old passages",
  () =>
    Effect.gen(function* () {
      const old = {
        key: "k",
        gen: 3,
        passages: 2,
        own: {
          docId: "derived:s",
          source: "s",
          fingerprint: "f",
          metadata: "{}",
          tail: "",
          language: "en",
          characters: 1
        }
      }
      const { asked, url } = yield* node(answering(old))
      const store = yield* built(OpenSearch.layer(options(url)))
      yield* store.put(CollectionName.make("c"), [document("one", { source: "s" })])
      const bulks = asked.filter(({ path }) => path.includes("_bulk"))
      const lines = bulks.map(({ body }) =>
        body
          .split("\n")
          .flatMap((line) =>
            line.startsWith('{"index"') || line.startsWith('{"create"') || line.startsWith('{"delete"')
              ? [JSON.parse(line) as Line]
              : []
          )
      )
      // Passages are found by searches before the head changes.
      assert.deepInclude(lines[0]![0]!.index, { _index: record.passages })
      assert.include(bulks[0]!.path, "refresh=wait_for")
      assert.isUndefined(lines[0]![0]!.index!.if_seq_no)
      const at = lines.findIndex(([line]) => line?.create !== undefined || line?.index?.if_seq_no !== undefined)
      assert.isAbove(at, 0)
      const removed = lines.findIndex((some) => some.some((line) => line.delete?._id === "3:1"))
      assert.isAbove(removed, at)
    })
)

/** Nothing may be written to an index that is gone: the cluster would make one. */
it.scoped("writes nothing where an index of a collection, or the records of all, are gone", () =>
  Effect.gen(function* () {
    for (const index of [record.passages, "clew-v1-records"]) {
      const state = { isGone: false }
      const { asked, url } = yield* node((asked) =>
        state.isGone && asked.path.startsWith(`/${index}`)
          ? [404, { error: { type: "index_not_found_exception", reason: `no such index [${index}]` } }]
          : answering(undefined)(asked)
      )
      const store = yield* built(OpenSearch.layer(options(url)))
      state.isGone = true
      const writes: ReadonlyArray<Effect.Effect<unknown, { readonly message: string }>> = [
        store.put(CollectionName.make("c"), [document("one", { source: "s" })]),
        ...(index === record.passages ? [] : [store.createCollection(CollectionName.make("new"), embedder)])
      ]
      for (const write of writes) {
        const { message } = yield* Effect.flip(write)
        assert.include(message, `an index is gone (no such index [${index}])`)
      }
      assert.isFalse(asked.some(({ path }) => path.includes("_bulk") || path.includes("/_create/")))
    }
  })
)

it.scoped("reads the record again where an index is gone: what was dropped meanwhile is not there", () =>
  Effect.gen(function* () {
    const gone = [404, { error: { type: "index_not_found_exception", reason: `no such index [${record.documents}]` } }]
    const state = { reads: 0 }
    const { url } = yield* node((asked) => {
      if (asked.path.includes("c%3Ac") && state.reads++ > 0) return [200, { found: false }]
      if (asked.path.includes("_msearch")) return [200, { responses: [{ status: gone[0], ...(gone[1] as object) }] }]
      if (asked.path.includes("-records/_search")) return [200, { _shards: { failed: 0 }, hits: { hits: [] } }]
      return answering(undefined)(asked)
    })
    const store = yield* built(OpenSearch.layer(options(url)))
    const failed = yield* Effect.flip(store.collection(CollectionName.make("c")))
    assert.strictEqual(failed._tag, "CollectionNotFound")
  })
)

it.scoped("leaves the indexes alone of which a snapshot was restored under another prefix", () =>
  Effect.gen(function* () {
    const { asked, url } = yield* node(({ path, ...more }) =>
      path.startsWith("/copy-v1-*?")
        ? [200, { "copy-v1-records": {} }]
        : answering(undefined)({ ...more, path: path.replaceAll("copy-v1", "clew-v1") })
    )
    const store = yield* built(OpenSearch.layer(options(url, { prefix: "copy" })))
    yield* store.put(CollectionName.make("c"), [document("one", { source: "s" })])
    assert.isTrue(asked.some(({ body }) => body.includes("copy-v1-c1-passages-1")))
    assert.isFalse(asked.some(({ body, path }) => `${path} ${body}`.includes("clew-v1")))
  })
)

it.scopedLive(
  "deletes a document whole though the answer to its removal is lost, as behind a proxy that gives up",
  () =>
    Effect.gen(function* () {
      const own = { docId: "d", source: "s", fingerprint: "f", metadata: "{}", tail: "", language: "en", characters: 1 }
      const head = { key: "k", gen: 3, passages: 2, own }
      const state = { isGone: false }
      const { asked, url } = yield* node((asked) => {
        if (!asked.path.includes("_bulk") || !asked.body.includes("if_seq_no")) {
          return answering(state.isGone ? undefined : head)(asked)
        }
        if (state.isGone) return [200, { items: [{ delete: { status: 409, error: { type: "version_conflict" } } }] }]
        state.isGone = true
        return [504, {}]
      })
      const store = yield* built(OpenSearch.layer(options(url)))
      const deleted = yield* store.deleteDocument(CollectionName.make("c"), DocumentId.make("d"))
      assert.deepStrictEqual(deleted, { documents: 1, passages: 2 })
      const gone = asked.flatMap(({ body }) =>
        Array.from(body.matchAll(/"delete":\{"_index":"[^"]+","_id":"(\d:\d)"/g))
      )
      assert.deepStrictEqual(
        gone.map(([, id]) => id),
        ["3:0", "3:1"]
      )
    })
)

it.scoped("gives no number that something stored has, where the counters are lost or older", () =>
  Effect.gen(function* () {
    const older = { collections: 1, documents: 7, passages: 900, runs: 0 }
    for (const found of [undefined, older]) {
      const highest = { gen: { value: 50 }, id: { value: 600 }, run: { value: null }, seen_run: { value: 4 } }
      const { asked, url } = yield* node((asked) =>
        asked.path.includes("_doc/counters") && asked.method === "GET"
          ? [200, { found: found !== undefined, _seq_no: 1, _primary_term: 1, _source: found }]
          : asked.path.includes("_msearch")
            ? [200, { responses: [{ aggregations: highest }] }]
            : asked.path.startsWith("/clew-v1-*?")
              ? [
                  200,
                  { "clew-v1-records": {}, "clew-v1-c3-documents": {}, "clew-v1-c9-logs": {}, "clew-v1-orders": {} }
                ]
              : answering(undefined)(asked)
      )
      const store = yield* built(OpenSearch.layer(options(url)))
      yield* store.put(CollectionName.make("c"), [document("one\ntwo", { source: "s" })])
      const kept = asked.find(({ method, path }) => method === "PUT" && path.includes("counters"))
      assert.deepStrictEqual(JSON.parse(kept!.body), {
        collections: 3,
        documents: 51,
        passages: Math.max(600, found?.passages ?? 0) + 2,
        runs: 4
      })
      // Fields of other programs' indexes, of which names only begin so, have other meanings.
      const search = asked.find(({ path }) => path.includes("_msearch"))
      assert.match(search!.body, /"clew-v1-c3-documents"\],/)
    }
  })
)

it.scoped("looks again at what is stored when the counters have gone back while it runs", () =>
  Effect.gen(function* () {
    const counters = { collections: 1, documents: 100, passages: 100, runs: 0 }
    const state = { counters, highest: 5 }
    const { asked, url } = yield* node((asked) =>
      asked.path.includes("_doc/counters") && asked.method === "GET"
        ? [200, { found: true, _seq_no: 1, _primary_term: 1, _source: state.counters }]
        : asked.path.includes("_msearch")
          ? [200, { responses: [{ aggregations: { gen: { value: state.highest }, id: {}, run: {}, seen_run: {} } }] }]
          : answering(undefined)(asked)
    )
    const store = yield* built(OpenSearch.layer(options(url)))
    const given = Effect.gen(function* () {
      asked.length = 0
      yield* store.put(CollectionName.make("c"), [document("one", { source: "s" })])
      const kept = asked.find(({ method, path }) => method === "PUT" && path.includes("counters"))
      return (JSON.parse(kept!.body) as typeof counters).documents
    })
    assert.strictEqual(yield* given, 101)
    state.counters = { ...counters, documents: 7 }
    state.highest = 101
    assert.strictEqual(yield* given, 102)
  })
)

it.scoped("refuses an index whose records are gone while its documents are there", () =>
  Effect.gen(function* () {
    const { asked, url } = yield* node((asked) =>
      asked.path.startsWith("/clew-v1-*?") ? [200, { "clew-v1-c1-documents": {} }] : answering(undefined)(asked)
    )
    for (const mode of ["create", "existing", "readonly"] as const) {
      const { reason } = yield* Effect.flip(built(OpenSearch.layer(options(url, { mode }))))
      assert.include(reason, "the records of its collections are gone (clew-v1-records)", mode)
    }
    assert.isTrue(asked.every(({ method }) => method === "GET"))
    assert.isTrue(yield* OpenSearch.exists(options(url)))
  })
)

it.scoped("lets no step of a reindex wait until searches find its place", () =>
  Effect.gen(function* () {
    const to = { ...embedder, model: "other" }
    const next = { embedder: to, passages: "clew-v1-c1-passages-2", through: 0, done: 0 }
    const source = { id: 1, key: "k", gen: 1, part: { ordinal: 0 }, terms: "tide|1" }
    const { asked, url } = yield* node((asked) => {
      if (asked.path.includes("c%3Ac") && asked.method === "GET") {
        return [200, { found: true, _seq_no: 1, _primary_term: 1, _source: { record: { ...record, next } } }]
      }
      if (!asked.path.includes("_search")) return answering(undefined)(asked)
      return [200, { _shards: { failed: 0 }, hits: { hits: [{ _source: source }] } }]
    })
    const store = yield* built(OpenSearch.layer(options(url)))
    const vector = Option.some(Float32Array.of(0, 1, 0))
    yield* store.putReindexed(CollectionName.make("c"), [{ id: 1, vector }], { embedder: to, through: 0 })
    const [kept, ...more] = asked.filter(({ method }) => method === "PUT")
    assert.include(kept!.body, '"through":1')
    assert.include(kept!.path, "refresh=false")
    assert.lengthOf(more, 0)
  })
)

it.scoped("asks for the documents of any number of collections, though a path takes 4 KB", () =>
  Effect.gen(function* () {
    const hits = Array.from({ length: 200 }, (_, n) => ({
      _source: { record: { ...record, id: n + 1, name: `c${n + 1}` } }
    }))
    const found = {
      _shards: { failed: 0 },
      hits: { hits: [] },
      aggregations: { known: { buckets: [] }, origins: { buckets: [] } }
    }
    const { asked, url } = yield* node((asked) => {
      if (asked.path.length > 4096) return [400, { error: { type: "too_long_http_line_exception" } }]
      if (asked.path.includes("-records/_search")) return [200, { _shards: { failed: 0 }, hits: { hits } }]
      return asked.path.includes("_msearch") ? [200, { responses: [found] }] : answering(undefined)(asked)
    })
    const store = yield* built(OpenSearch.layer(options(url)))
    const examiner = yield* Effect.provide(Examiner, OpenSearchExaminer.layer(options(url)))
    assert.deepStrictEqual(yield* store.recent(5), [])
    assert.deepStrictEqual(yield* store.metadataKeys([]), { unknown: [], known: [] })
    assert.deepStrictEqual(yield* examiner.origins("", 5), [])
    const searches = asked.filter(({ path }) => path.includes("_msearch"))
    assert.lengthOf(searches, 3)
    for (const { body } of searches) assert.include(body, '"clew-v1-c200-documents"')
  })
)

it.scoped("doctor names a block of the whole cluster, if its user may see it", () =>
  Effect.gen(function* () {
    const settings = { persistent: { "cluster.blocks.read_only": "true" }, transient: { "cluster.blocks.x": "false" } }
    const blocksFound = (answer: readonly [number, unknown]) =>
      Effect.gen(function* () {
        const { url } = yield* node((asked) => {
          if (asked.path.includes("_cluster/settings")) return answer
          if (asked.path.includes("-records/_search")) return [200, { _shards: { failed: 0 }, hits: { hits: [] } }]
          if (asked.path.includes("_stats")) return [200, { indices: {} }]
          return asked.path === "/clew-v1-*?expand_wildcards=all"
            ? [200, { "clew-v1-records": { settings: { index: {} }, mappings: { properties: {} } } }]
            : answering(undefined)(asked)
        })
        const examiner = yield* Effect.provide(Examiner, OpenSearchExaminer.layer(options(url)))
        const all = yield* examiner.examine(() => Effect.void)
        return all.flatMap(({ detail, name, status }) => (name === "blocks" ? [`${status} ${detail}`] : []))
      })
    assert.deepStrictEqual(yield* blocksFound([200, settings]), [
      "fail these are blocked: the whole cluster (cluster.blocks.read_only)"
    ])
    const error = { type: "security_exception", reason: "no permissions for [cluster:monitor/state]" }
    assert.deepStrictEqual(yield* blocksFound([403, { error }]), [])
  })
)

it.scoped("leaves no index of a collection for which the cluster has no room", () =>
  Effect.gen(function* () {
    const full = {
      type: "validation_exception",
      reason: "this action would add [6] total shards [1000]/[1000] maximum shards open"
    }
    const { asked, url } = yield* node((asked) => {
      if (asked.path.includes("c%3Anew")) return [200, { found: false }]
      if (asked.path.includes("-records/_search")) return [200, { _shards: { failed: 0 }, hits: { hits: [] } }]
      return asked.method === "PUT" && asked.path.includes("passages")
        ? [400, { error: full }]
        : answering(undefined)(asked)
    })
    const store = yield* built(OpenSearch.layer(options(url)))
    const { message } = yield* Effect.flip(store.createCollection(CollectionName.make("new"), embedder))
    assert.include(message, "raise cluster.max_shards_per_node")
    const gone = asked.flatMap(({ method, path }) => (method === "DELETE" ? [path] : []))
    assert.deepStrictEqual(gone, ["/clew-v1-c2-documents", "/clew-v1-c2-passages-1"])
  })
)
