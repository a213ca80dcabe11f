import { assert, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import { Examiner } from "../../../src/Store.ts"
import * as SqliteExaminer from "../../../src/Store/SqliteExaminer.ts"
import { hashOf, unpack } from "../../../src/entities/mention.ts"
import { CollectionName } from "../../../src/model/Collection.ts"
import { document, embedder } from "../../contracts/Store.ts"
import { indexFile, opened } from "../opened.ts"

const name = CollectionName.make("c")

/** Documents of 65 passages each with four edges a passage: six of them are a large batch, but a small part of 65. */
const bulk = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) =>
    document(
      Array.from(
        { length: 65 },
        (_, line) => `In London, Ada Lovelace and Charles Babbage met Name${(from + at) * 65 + line}ton.`
      ).join("\n"),
      { source: `bulk/${from + at}.md`, title: `Bulk Number${from + at}` }
    )
  )

/** How many edges each table has, how many of them no passage has, and how many of the passages' are in neither. */
const edgesIn = (filename: string) => {
  const db = new Database(filename, { readonly: true })
  try {
    const keysOf = (table: string) =>
      (db.prepare(`SELECT entity, passage_id FROM ${table}`).raw().all() as Array<Array<number>>).map((row) =>
        row.join(" ")
      )
    const packed = db.prepare("SELECT passage_id, mentions FROM graph_passages").all() as ReadonlyArray<{
      readonly passage_id: number
      readonly mentions: Uint8Array
    }>
    const wanted = packed.flatMap((row) => unpack(row.mentions).map(({ entity }) => `${entity} ${row.passage_id}`))
    const [settled, recent] = [keysOf("graph_mentions"), keysOf("graph_recent")]
    const [all, found] = [new Set(wanted), new Set([...settled, ...recent])]
    return {
      settled: settled.length,
      recent: recent.length,
      missing: wanted.filter((key) => !found.has(key)).length,
      others: [...settled, ...recent].filter((key) => !all.has(key)).length
    }
  } finally {
    db.close()
  }
}

const right = { missing: 0, others: 0 }

it.scoped("edges of a batch in a large collection are kept apart, found at once, moved to the others and deleted", () =>
  Effect.gen(function* () {
    const filename = yield* indexFile
    const { store } = yield* opened(filename)
    yield* store.createCollection(name, embedder)
    yield* store.put(name, bulk(0, 65))
    assert.strictEqual(edgesIn(filename).recent, 0)
    yield* store.put(name, bulk(65, 4))
    const before = edgesIn(filename)
    assert.isAbove(before.recent, 1024)
    assert.deepInclude(before, right)

    const unique = hashOf("name4300ton")
    const found = yield* store.graphEntities(name, [unique, hashOf("ada lovelace")])
    assert.deepStrictEqual(found.get(unique)?.places.length, 1)
    const suggested = yield* store.suggest([name], "name4300", 5)
    assert.deepStrictEqual(
      suggested.map(({ text }) => text),
      ["Name4300ton"]
    )
    const findings = yield* Effect.flatMap(Examiner, ({ examine }) => examine(() => Effect.void)).pipe(
      Effect.provide(SqliteExaminer.layer(filename))
    )
    assert.deepStrictEqual(
      findings.filter(({ status }) => status !== "ok"),
      []
    )

    yield* store.deleteSource(name, "bulk/66.md")
    yield* store.put(name, [document("Nothing but Charles Babbage.", { source: "bulk/67.md" })])
    const fewer = edgesIn(filename)
    assert.deepInclude(fewer, right)
    assert.approximately(fewer.recent, before.recent / 2, 10)
    assert.strictEqual((yield* store.graphEntities(name, [unique])).size, 0)
    for (let from = 69; from < 97; from += 4) yield* store.put(name, bulk(from, 4))
    const moved = edgesIn(filename)
    assert.deepInclude(moved, right)
    assert.isAbove(moved.settled, before.settled + 3000)
    assert.isBelow(moved.recent, moved.settled / 4)
    yield* store.put(name, bulk(97, 4))
    yield* store.dropCollection(name)
    yield* store.compact()
    assert.deepStrictEqual(edgesIn(filename), { settled: 0, recent: 0, ...right })
  })
)
