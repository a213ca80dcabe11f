import { assert, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { CollectionName, defaultCollection } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"
import { Examiner, whole, type Whole } from "../../src/Store.ts"
import * as SqliteExaminer from "../../src/Store/SqliteExaminer.ts"
import { document, embedder } from "../contracts/Store.ts"
import { indexFile } from "./opened.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { ranked } from "../ranked.ts"

const other = CollectionName.make("other")
const next = { ...embedder, model: "next" }

/** Directions that differ from passage to passage. */
const direction = (n: number) => Float32Array.of(1 + (n % 7), 1 + (n % 11), 1 + (n % 13), n)

/** A collection of so many passages and one of forty; the last text of each has no vector. */
const fill = Effect.fnUntraced(function* (store: Whole, passages: number) {
  for (const name of [defaultCollection, other]) {
    yield* store.createCollection(name, embedder)
    const length = name === other ? 40 : passages
    const lines = Array.from({ length }, (_, n) => `line ${n} of ${name}`)
    const vectors = lines.map((_, n) => (n === length - 1 ? undefined : direction(n)))
    yield* store.put(name, [document(lines.join("\n"), { source: `${name}.txt`, title: "Lines", vectors })])
  }
})

const near = (store: Whole, limit = 10) =>
  ranked(store, {
    others: [{ collection: other, vector: direction(3) }],
    vector: direction(3),
    keyword: "line",
    alpha: 0.5,
    fusion: "score",
    limit
  })

/** A filled store, and what changes its file beside it. */
const filled = (
  passages: number,
  use: (store: Whole, exec: (sql: string) => void, filename: string) => Effect.Effect<void, unknown>
) =>
  Effect.gen(function* () {
    const filename = yield* indexFile
    const exec = (sql: string) => {
      const db = new Database(filename)
      db.exec(sql)
      db.close()
    }
    yield* Effect.flatMap(whole, (store) => Effect.zipRight(fill(store, passages), use(store, exec, filename))).pipe(
      Effect.provide(Sqlite.layer({ filename, mode: "create" }))
    )
  })

const changes: Readonly<Record<string, string>> = {
  "a deleted vector": "DELETE FROM vectors_1 WHERE passage_id = 4",
  "a zeroed vector": "UPDATE vectors_1 SET vector = zeroblob(length(vector)) WHERE passage_id = 4",
  "two swapped vectors": `UPDATE vectors_1 SET
     vector = (SELECT vector FROM vectors_1 AS v WHERE v.passage_id = 9 - vectors_1.passage_id),
     crc = (SELECT crc FROM vectors_1 AS v WHERE v.passage_id = 9 - vectors_1.passage_id)
     WHERE passage_id IN (4, 5)`
}

for (const passages of [40, 4200]) {
  for (const [what, statement] of Object.entries(changes)) {
    it.scoped(`${what} among ${passages} fails a search, also in a store that has answered before`, () =>
      filled(passages, (store, exec) =>
        Effect.gen(function* () {
          assert.lengthOf(yield* near(store), 10)
          exec(statement)
          assert.match(
            (yield* Effect.flip(near(store))).message,
            /is damaged: .*(vector of passage [45]|1 of \d+ vectors).*`clew doctor --fix`/
          )
        })
      )
    )
  }
}

for (const table of ["vectors_1", "keyword_postings"]) {
  it.scoped(`a search without the table ${table} names the doctor, not a bug`, () =>
    filled(40, (store, exec) =>
      Effect.gen(function* () {
        exec(`DROP TABLE ${table}`)
        assert.match((yield* Effect.flip(near(store))).message, /it lacks a table; run `clew doctor`/)
      })
    )
  )
}

const texts: Readonly<Record<string, string>> = {
  "a letter of a text": "UPDATE passages SET text = replace(text, 'line 3 ', 'lime 3 ') WHERE id = 4",
  "a line's number": "UPDATE passages SET start_line = start_line - 1, end_line = end_line - 1 WHERE id = 4",
  "a title": "UPDATE documents SET title = 'Limes' WHERE id = 1",
  "a source": "UPDATE documents SET source = 'else.txt' WHERE id = 1"
}

for (const [what, statement] of Object.entries(texts)) {
  it.scoped(`${what} that has changed is neither found nor shown`, () =>
    filled(40, (store, exec) =>
      Effect.gen(function* () {
        const [known] = yield* store.list(defaultCollection, { limit: 1 })
        exec(statement)
        assert.match((yield* Effect.flip(near(store))).message, /(passage 4|document .*) has changed/)
        const docId = known?.docId ?? DocumentId.make("none")
        assert.match((yield* Effect.flip(store.get(defaultCollection, docId))).message, /has changed/)
      })
    )
  )
}

for (const [what, statement] of Object.entries({ ...changes, ...texts })) {
  it.scoped(`${what} is not exported, since an import would take it for whole`, () =>
    filled(40, (store, exec) =>
      Effect.gen(function* () {
        const exported = store.exported(defaultCollection, { limit: 10 })
        assert.lengthOf((yield* exported).documents, 1)
        exec(statement)
        const { damaged = [], documents } = yield* exported
        assert.deepStrictEqual(documents, [])
        assert.match(damaged.map(({ reason }) => reason).join(), /^.*(passage 4|document) .*(changed|missing)$/)
      })
    )
  )
}

for (const [what, statement, says] of [
  [
    "a collection whose vectors have no dimensions",
    "UPDATE collections SET dimensions = 0 WHERE id = 1",
    /collection default has vectors of 0 numbers/
  ],
  [
    "a segment of more passages than any has",
    "UPDATE keyword_segments SET passages = 4294967295, terms = 4294967295, blocks = 100000000",
    /segment \d+ has 4294967295 passages, more than any has/
  ]
] as const) {
  it.scoped(`${what} is damage, which an examination names`, () =>
    filled(40, (store, exec, filename) =>
      Effect.gen(function* () {
        exec(statement)
        assert.match((yield* Effect.flip(near(store))).message, /is damaged: /)
        const { examine } = yield* Effect.provide(Examiner, SqliteExaminer.layer(filename))
        const found = (yield* examine(() => Effect.void)).flatMap(({ detail, status }) =>
          status === "fail" ? [detail] : []
        )
        assert.isTrue(
          found.some((detail) => says.test(detail)),
          found.join("\n")
        )
      })
    )
  )
}

it.scoped("documents that are in no collection fail a search that follows the graph, as damage", () =>
  filled(40, (store, exec) =>
    Effect.gen(function* () {
      exec("PRAGMA foreign_keys = OFF; UPDATE documents SET collection_id = 9")
      const graph = { auto: false, question: "line" }
      const found = ranked(store, { others: [{ collection: other }], keyword: "line", graph })
      assert.match(
        (yield* Effect.flip(found)).message,
        /is damaged: the document of passage \d+ is missing; .*clew doctor/
      )
    })
  )
)

it.scoped("a text that has no vector is no damage, nor after a change of embedder that finds others without", () =>
  filled(40, (store, _, filename) =>
    Effect.gen(function* () {
      assert.lengthOf(yield* near(store, 80), 80)
      yield* store.beginReindex(defaultCollection, next)
      const { passages, position } = yield* store.unembedded(defaultCollection, next, 100)
      yield* store.putReindexed(
        defaultCollection,
        passages.map(({ id }) => ({ id, vector: id === 4 ? Option.none() : Option.some(direction(id)) })),
        position
      )
      yield* store.finishReindex(defaultCollection, next)
      assert.lengthOf(yield* near(store, 80), 80)
      yield* store.deleteSource(defaultCollection, `${defaultCollection}.txt`)
      assert.lengthOf(yield* near(store, 80), 40)
      const db = new Database(filename, { readonly: true })
      assert.deepStrictEqual(db.prepare("SELECT count(*) FROM vectorless").pluck().get(), 1)
      db.close()
    })
  )
)

it.scoped("rows that cannot be deleted do not keep a sweep going for ever", () =>
  filled(40, (store, exec) =>
    Effect.gen(function* () {
      // As where an index names rows that the table does not have.
      exec("CREATE TRIGGER kept BEFORE DELETE ON documents BEGIN SELECT RAISE(IGNORE); END")
      yield* store.dropCollection(other)
      assert.match((yield* Effect.flip(store.compact())).message, /cannot be deleted/)
    })
  )
)
