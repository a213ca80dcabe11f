import * as Effect from "effect/Effect"
import { CollectionName, defaultCollection } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"
import type { Whole } from "../../src/Store.ts"
import { document, embedder } from "../contracts/Store.ts"
import { ranked, ranking } from "../ranked.ts"

type Service = Whole

const other = CollectionName.make("other")
const id = (n: number) => DocumentId.make(`d${n}`)

/** A word of one document alone; of letters, since digits would be told from them. */
const rare = (n: number) => `qz${n.toString(8).replace(/\d/g, (digit) => "bcdfghjk"[Number(digit)]!)}`

const file = (n: number) =>
  document(`passage ${n} of many, and ${rare(n)}`, {
    docId: id(n),
    source: `/all/${n % 100}/${n}.txt`,
    origin: `/all/${n % 100}/${n}.txt`,
    title: `T${n}`,
    metadata: { year: n }
  })

/** Stores documents in two collections, the second with a quarter of them. */
export const fill = Effect.fnUntraced(function* (store: Service, documents: number) {
  for (const name of [defaultCollection, other]) {
    yield* store.createCollection(name, embedder)
    const count = name === other ? documents / 4 : documents
    for (let from = 0; from < count; from += 1000) {
      yield* store.put(
        name,
        Array.from({ length: Math.min(1000, count - from) }, (_, n) => file(from + n))
      )
    }
  }
})

const ref = (n: number) => ({ derivedId: id(n), docId: id(n) })
const next = { ...embedder, model: "next" }

/** Every operation of the port that a door asks for again and again; `n` is different each time. */
export const operations: Readonly<Record<string, (store: Service, n: number) => Effect.Effect<unknown, unknown>>> = {
  collections: (store) => store.collections,
  stats: (store) => store.stats(),
  beginRun: (store) => store.beginRun(defaultCollection),
  lookup: (store, n) => store.lookup(defaultCollection, [ref(n), ref(n + 40)]),
  get: (store, n) => store.get(defaultCollection, id(n)),
  touch: (store, n) =>
    store.touch(
      defaultCollection,
      Array.from({ length: 64 }, (_, at) => ({ docId: id(n + at), line: n })),
      n
    ),
  knownFiles: (store, n) => store.knownFiles(defaultCollection, [`/all/${n % 100}/${n}.txt`, "/none"]),
  filesBelow: (store) => store.filesBelow(defaultCollection, "/all/50", { limit: 10, after: "/all/50/1" }),
  documentsOf: (store, n) => store.documentsOf(defaultCollection, `/all/${n % 100}/${n}.txt`, { limit: 10 }),
  roots: (store) => store.roots(defaultCollection),
  "first page": (store) => store.list(defaultCollection, { limit: 10 }),
  "page after": (store, n) =>
    store.list(defaultCollection, { limit: 10, after: { docId: id(n), source: `/all/${n % 100}/${n}.txt` } }),
  "page of a title": (store, n) => store.list(defaultCollection, { limit: 10, filter: { title: `T${n}` } }),
  "page of a source": (store, n) =>
    store.list(defaultCollection, { limit: 10, filter: { source: `/all/${n % 100}/${n}.txt` } }),
  "page of a time": (store, n) =>
    store.list(defaultCollection, { limit: 10, filter: { indexed_at: { gte: 1_900_000_000_000 + n } } }),
  "filtered by time": (store, n) =>
    store.filtered([defaultCollection, other], { indexed_at: { gte: 1_900_000_000_000 + n } }),
  filtered: (store, n) => store.filtered([defaultCollection, other], { source: `/all/${n % 100}/${n}.txt`, year: n }),
  exported: (store) => store.exported(defaultCollection, { limit: 10, from: { isBare: false, after: 100 } }),
  "exported without passages": (store) =>
    store.exported(defaultCollection, { limit: 10, from: { isBare: true, after: 0 } }),
  keepLinkage: (store) => store.keepLinkage(defaultCollection, 0.1),
  sample: (store) => store.sample(defaultCollection, [0, 0.5, 1]),
  "put a new one": (store, n) => store.put(defaultCollection, [file(1_000_000 + n)]),
  "put an old one": (store, n) => store.put(defaultCollection, [{ ...file(n), fingerprint: "changed" }]),
  deleteDocument: (store, n) => store.deleteDocument(defaultCollection, id(n + 200)),
  deleteSource: (store, n) => store.deleteSource(defaultCollection, `/all/${(n + 300) % 100}/${n + 300}.txt`),
  "prune many paths": (store, n) =>
    store.prune(
      defaultCollection,
      Array.from({ length: 600 }, (_, at) => `/gone/${n}/${at}`)
    ),
  "delete a folder": (store, n) => store.prune(defaultCollection, [`/gone/${n}`]),
  beginReindex: (store) => store.beginReindex(defaultCollection, next),
  unembedded: (store) => store.unembedded(defaultCollection, next, 10),
  "rank by vector under a title": (store, n) =>
    ranked(store, { vector: Float32Array.of(1, 0, 0, 0), filter: { title: `T${n}` }, limit: 5 }),
  "rank by vector under a value": (store, n) =>
    ranked(store, { vector: Float32Array.of(1, 0, 0, 0), filter: { year: n }, limit: 5 }),
  "page by size": (store) => store.list(defaultCollection, { limit: 10, by: "passages" }),
  "page after by size": (store, n) =>
    store.list(defaultCollection, { limit: 10, by: "passages", falling: true, from: [1, 2000 - n] }),
  "page after by time": (store, n) => store.list(defaultCollection, { limit: 10, by: "indexed_at", from: [0, n] }),
  "page by time of a title": (store, n) =>
    store.list(defaultCollection, { limit: 10, by: "indexed_at", filter: { title: `T${n}` } }),
  passages: (store, n) => store.passages(defaultCollection, id(n), { offset: 0, limit: 10 }),
  suggest: (store, n) => store.suggest([defaultCollection, other], `T${n % 10}`, 8)
}

/** Counts by facets, which reads of each document once what it is counted by. */
const counted = (store: Service) =>
  store.find({
    ...ranking({ others: [{ collection: other }], keyword: "passage" }),
    facets: ["folder", "format", "indexed", "collection", "year", "none"]
  })

/** Statements that read everything, or as much as one asks for, because that is what they are asked for. */
export const readsAll: ReadonlyArray<readonly [pattern: RegExp, why: string]> = [
  [/sum\(length\(/, "the sizes of everything, for the benchmark"],
  [
    /^WITH found \(id\) AS \(SELECT d.id FROM documents AS d [^?$]*WHERE d.collection_id = (?:\?|\$1)\)/,
    "which documents are left after some were deleted, once for the facets of that state"
  ]
]

/** Does each operation once. */
export const exercise = Effect.fnUntraced(function* (store: Service) {
  yield* Effect.orDie(counted(store))
  for (const [at, operation] of Object.values(operations).entries()) yield* Effect.orDie(operation(store, 100 + at))
  // Documents have come and gone.
  yield* Effect.orDie(counted(store))
})
