import { assert, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import { type Whole, whole } from "../../../src/Store.ts"
import * as Sqlite from "../../../src/Store/Sqlite.ts"
import { unpack } from "../../../src/entities/mention.ts"
import { CollectionName } from "../../../src/model/Collection.ts"
import { mentioning } from "../../../src/Indexer/mentioning.ts"
import type { PreparedDocument } from "../../../src/model/Stored.ts"
import { document, embedder } from "../../contracts/Store.ts"
import { measuredAnew } from "../../contracts/measuredAnew.ts"
import { indexFile } from "../opened.ts"

const name = CollectionName.make("c")

/** Every edge, by what its document is called, from both tables. */
const edgesIn = (filename: string) => {
  const db = new Database(filename, { readonly: true })
  try {
    const edges = db
      .prepare(
        `SELECT d.source, m.ordinal, m.entity, m.relation FROM graph_mentions AS m
         LEFT JOIN passages AS p ON p.id = m.passage_id AND p.ordinal = m.ordinal LEFT JOIN documents AS d ON d.id = p.document_id
         ORDER BY 1, 2, 3, 4`
      )
      .all()
    const mentions = db
      .prepare(
        `SELECT d.source, p.ordinal, g.mentions FROM graph_passages AS g LEFT JOIN passages AS p ON p.id = g.passage_id
         LEFT JOIN documents AS d ON d.id = p.document_id ORDER BY 1, 2`
      )
      .all() as ReadonlyArray<{ readonly source: string; readonly ordinal: number; readonly mentions: Uint8Array }>
    return { edges, mentions: mentions.map((row) => ({ ...row, mentions: unpack(row.mentions) })) }
  } finally {
    db.close()
  }
}

const built = <E>(use: (store: Whole) => Effect.Effect<unknown, E>) =>
  Effect.gen(function* () {
    const filename = yield* indexFile
    const context = yield* Layer.build(Sqlite.layer({ filename, mode: "create" }))
    yield* Effect.gen(function* () {
      const store = yield* whole
      yield* store.createCollection(name, embedder)
      yield* use(store)
    }).pipe(Effect.provide(context))
    return edgesIn(filename)
  })

const titles = ["Ada Lovelace", "Analytical Engine", "Charles Babbage", "London"]
const lines = [
  "The machine was drawn by Charles Babbage in London.",
  "Nobody knew of [the engine](./s1.md) then, nor of Ada Lovelace.",
  "Call `makeEngine()` with --fast-mode, as the Analytical Engine does."
]

const edit = FastCheck.record({
  source: FastCheck.integer({ min: 0, max: 4 }).map((n) => `notes/s${n}.md`),
  title: FastCheck.option(FastCheck.constantFrom(...titles), { nil: undefined }),
  /** None: the document is deleted. */
  content: FastCheck.option(
    FastCheck.array(FastCheck.constantFrom(...lines), { minLength: 1, maxLength: 3 }).map((some) => some.join("\n")),
    { nil: undefined, freq: 3 }
  )
})

describe("the graph", () => {
  it.scoped("is after any edits what a fresh index has", () =>
    Effect.gen(function* () {
      const samples = FastCheck.sample(FastCheck.array(edit, { minLength: 1, maxLength: 12 }), { numRuns: 12, seed: 7 })
      for (const edits of samples) {
        const kept = new Map<string, PreparedDocument>()
        const edited = yield* built((store) =>
          Effect.forEach(edits, ({ content, source, title }): Effect.Effect<unknown, unknown> => {
            kept.delete(source)
            if (content === undefined) return store.deleteSource(name, source)
            const made = document(content, { source, title })
            kept.set(source, made)
            return store.put(name, [made])
          })
        )
        const fresh = yield* built((store) => store.put(name, [...kept.values()]))
        assert.deepStrictEqual(edited, fresh)
      }
    })
  )

  it.scoped("is the same whether documents bring all of their mentions, the first of them or none", () =>
    Effect.gen(function* () {
      const said = { model: "m", entities: ["machine"], relations: [] }
      const documents = titles.map((title, at) => {
        const made = document(lines.join("\n"), { source: `notes/s${at}.md`, title })
        // A model has read the first.
        return at === 0 ? { ...made, passages: made.passages.map((passage) => ({ ...passage, said })) } : made
      })
      const finding = (most: number) => {
        let left = most
        return mentioning(documents, () => left-- > 0)
      }
      const stored = (given: ReadonlyArray<PreparedDocument>) => built((store) => store.put(name, given))
      const plain = yield* stored(documents)
      for (const [most, expected] of [
        [0, 0],
        [5, 2],
        [Infinity, titles.length]
      ] as const) {
        const given = yield* finding(most)
        assert.strictEqual(given.filter(({ mentions }) => mentions !== undefined).length, expected)
        assert.deepStrictEqual(yield* stored(given), plain)
      }
    })
  )

  it.scoped("loses a document's edges and its title's with the document, and all with the collection", () =>
    Effect.gen(function* () {
      const babbage = document(lines[0]!, { source: "b.md", title: "Charles Babbage" })
      const other = document("Some words of his.", { source: "o.md", title: "Letters" })
      const left = yield* built((store) =>
        Effect.zipRight(store.put(name, [babbage, other]), store.deleteSource(name, "b.md"))
      )
      assert.deepStrictEqual(left, yield* built((store) => store.put(name, [other])))
      const dropped = yield* built((store) =>
        Effect.all([store.put(name, [babbage]), store.dropCollection(name), store.compact()])
      )
      assert.deepStrictEqual(dropped, { edges: [], mentions: [] })
    })
  )

  it.scoped("takes no answer about a passage that was deleted while a model read it", () =>
    built((store) =>
      Effect.gen(function* () {
        yield* store.put(name, [document(lines[0]!, { source: "b.md" })])
        const { passages } = yield* store.graphUnasked(name, "m", 0, 9)
        yield* store.deleteSource(name, "b.md")
        assert.strictEqual(passages.length, 1)
        assert.isFalse(yield* store.keepSaid(name, passages[0]!.id, "m", { entities: ["machine"], relations: [] }))
      })
    )
  )

  it.scoped("takes names of any number, titles of any length and cycles of links", () =>
    Effect.gen(function* () {
      const { mentions } = yield* built((store) =>
        store.put(name, [
          document("He met Ada Lovelace. ".repeat(100_000), { source: "many.md", title: "a" }),
          document("See [b](./b.md).", { source: "notes/a.md", title: "The" }),
          document("See [a](./a.md).", { source: "notes/b.md", title: "Long ".repeat(200) }),
          document(Array.from({ length: 300 }, (_, i) => `We met Name${i}ton.`).join(" "), { source: "list.md" })
        ])
      )
      const of = (source: string) => mentions.find((row) => row.source === source)!.mentions
      assert.strictEqual(of("many.md").filter(({ relation }) => relation === "mentions").length, 1)
      assert.deepStrictEqual(
        of("notes/a.md").map(({ relation }) => relation),
        ["defines", "defines", "links"]
      )
      assert.deepStrictEqual(
        of("notes/b.md").map(({ relation }) => relation),
        ["defines", "defines", "links"]
      )
      assert.strictEqual(of("list.md").length, 48)
    })
  )

  it.scoped("keeps in the index what share of the documents it joins, and measures it anew after changes", () =>
    Effect.gen(function* () {
      const filename = yield* indexFile
      const opened = <A, E>(use: (store: Whole) => Effect.Effect<A, E>) =>
        Effect.scoped(
          Effect.flatMap(Layer.build(Sqlite.layer({ filename, mode: "create" })), (context) =>
            Effect.provide(Effect.flatMap(whole, use), context)
          )
        )
      const put = (store: Whole, source: string, title: string) =>
        store.put(name, [document("He knew Ada Lovelace well.", { source, title })])
      yield* opened((store) =>
        Effect.gen(function* () {
          yield* store.createCollection(name, embedder)
          yield* put(store, "a.md", "Ada Lovelace")
          yield* put(store, "b.md", "Letters")
          assert.strictEqual(yield* store.linkage(name), 0.5)
        })
      )
      const db = new Database(filename)
      assert.deepStrictEqual(db.prepare("SELECT linkage FROM graph_linkages").pluck().all(), [0.5])
      db.exec("UPDATE graph_linkages SET linkage = 0.25")
      db.close()
      // A process that comes later takes what is kept, and does not measure.
      assert.strictEqual(yield* opened((store) => store.linkage(name)), 0.25)
      yield* opened((store) =>
        Effect.gen(function* () {
          yield* put(store, "c.md", "Diaries")
          assert.closeTo(yield* store.linkage(name), 2 / 3, 1e-9)
          yield* store.deleteSource(name, "b.md")
          assert.strictEqual(yield* store.linkage(name), 0.5)
        })
      )
    })
  )

  it.scoped("is measured anew when it is built of documents that were stored without one", () =>
    Effect.gen(function* () {
      const filename = yield* indexFile
      yield* measuredAnew((graph) => Sqlite.layer({ filename, mode: "create", graph }))
    })
  )
})
