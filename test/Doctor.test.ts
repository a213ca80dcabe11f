import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import { assert, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { Doctor } from "../src/Doctor.ts"
import { CollectionName, defaultCollection } from "../src/model/Collection.ts"
import { Store } from "../src/Store.ts"
import * as Sqlite from "../src/Store/Sqlite.ts"
import * as SqliteExaminer from "../src/Store/SqliteExaminer.ts"
import { document } from "./contracts/Store.ts"
import { compass, embeddersLayer, makeEmbedder, words } from "./fakes.ts"

const many = CollectionName.make("many")

/** A small index with postings, tombstones, metadata, codes and centroids. */
const build = (filename: string) =>
  Effect.gen(function* () {
    const { embedder } = yield* makeEmbedder()
    const store = yield* Store
    const prepared = (content: string, source: string) =>
      Effect.map(embedder.embedPassages(content.split("\n")), (vectors) =>
        document(content, {
          source,
          title: `About ${source}`,
          metadata: { year: 2000 + source.length, tags: ["a", "b"], nested: { x: 1 } },
          vectors: vectors.map(Option.getOrUndefined)
        })
      )
    for (const name of [defaultCollection, many]) yield* store.createCollection(name, compass)
    for (let n = 0; n < 8; n++) {
      const lines = Array.from({ length: 5 }, (_, line) => `${words[(n + line) % 4]} of château ${n} at ${line}`)
      yield* store.put(defaultCollection, [yield* prepared(lines.join("\n"), `note${n}`)])
    }
    yield* store.deleteSource(defaultCollection, "note3")
    const lines = Array.from({ length: 4200 }, (_, n) => `${words[n % 4]} ${words[(n >> 2) % 4]} ${n % 97}`)
    yield* store.put(many, [yield* prepared(lines.join("\n"), "many")])
  }).pipe(Effect.provide(Sqlite.layer({ filename, mode: "create" })))

const doctor = (filename: string) =>
  Effect.gen(function* () {
    const { embedder } = yield* makeEmbedder()
    return Doctor.Default.pipe(Layer.provide(Layer.merge(SqliteExaminer.layer(filename), embeddersLayer(embedder))))
  }).pipe(Layer.unwrapEffect)

const run = (filename: string, options: { readonly deep?: boolean; readonly fix?: boolean } = {}) =>
  Effect.flatMap(Doctor, (it) => it.run({ deep: false, fix: false, ...options })).pipe(Effect.provide(doctor(filename)))

const wrong = (report: { readonly checks: ReadonlyArray<{ readonly name: string; readonly status: string }> }) =>
  report.checks.filter(({ status }) => status !== "ok")

/** What docs/doctor.md says cannot be told: when something was, where a line stands, names that are drawn at random. */
const untold: Readonly<Record<string, ReadonlyArray<string>>> = {
  documents: ["indexed_at", "line", "seen_by", "seen_run", "fingerprint"],
  collections: ["created_at", "changes", "backend", "model", "query_prefix", "passage_prefix", "name"],
  keyword_segments: ["stamp", "version", "through", "inputs", "format", "terms_version", "state"],
  code_sets: ["sequence", "format", "seed"],
  code_epochs: ["rows"],
  sqlite_sequence: ["seq"],
  clew_migrations: ["created_at", "name", "migration_id"],
  file_mark: ["before", "now"],
  run_numbers: ["last"]
}

/** Everything that is stored, but for what cannot be told. */
const contents = (filename: string): string => {
  const db = new Database(filename, { readonly: true })
  try {
    const tables = db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
      .pluck()
      .all() as Array<string>
    return tables
      .map((table) => {
        const rows = db.prepare(`SELECT * FROM ${table} NOT INDEXED`).all() as Array<Record<string, unknown>>
        for (const row of rows) {
          for (const column of untold[table] ?? []) delete row[column]
          for (const [column, value] of Object.entries(row)) {
            if (Buffer.isBuffer(value)) row[column] = value.toString("base64")
          }
        }
        return JSON.stringify([table, rows])
      })
      .join("\n")
  } finally {
    db.close()
  }
}

/** Numbers from 0 to 1 that a seed decides (mulberry32). */
const random = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

const temporary = Effect.gen(function* () {
  const files = yield* FileSystem.FileSystem
  const folder = yield* files.makeTempDirectoryScoped()
  yield* build(`${folder}/index.db`)
  return { folder, bytes: readFileSync(`${folder}/index.db`) }
})

it.layer(NodeFileSystem.layer)("doctor", (it) => {
  it.scoped("finds nothing wrong with an index in order, nor writes to it", () =>
    Effect.gen(function* () {
      const { bytes, folder } = yield* temporary
      const report = yield* run(`${folder}/index.db`, { deep: true, fix: true })
      assert.deepStrictEqual(wrong(report), [])
      assert.includeMembers(
        report.checks.map(({ name }) => name),
        ["schema", "pages", "references", "sequences", "documents", "postings", "codes", "vectors", "embedder"]
      )
      assert.deepStrictEqual(readFileSync(`${folder}/index.db`), bytes)
    })
  )

  it.scoped(
    "finds every changed byte, but those that change nothing",
    () =>
      Effect.gen(function* () {
        const { bytes, folder } = yield* temporary
        const whole = contents(`${folder}/index.db`)
        const file = `${folder}/flipped.db`
        const missed: Array<string> = []
        for (let seed = 0; seed < 200; seed++) {
          const next = random(seed)
          const at = Math.floor(next() * bytes.length)
          const changed = Buffer.from(bytes)
          changed[at] = changed[at]! ^ (1 << Math.floor(next() * 8))
          for (const name of [file, `${file}-wal`, `${file}-shm`, `${file}-journal`]) rmSync(name, { force: true })
          writeFileSync(file, changed)
          const report = yield* run(file)
          if (wrong(report).length === 0 && contents(file) !== whole) {
            missed.push(`seed ${seed}: byte ${at}`)
          }
        }
        assert.deepStrictEqual(missed, [])
      }),
    300_000
  )

  /** What happens to rows, and what of it cannot be mended from what is there. */
  const damages: ReadonlyArray<readonly [name: string, sql: string, left?: string]> = [
    ["a posting block gone", "DELETE FROM keyword_postings WHERE id % 1048576 = 1"],
    ["a posting block changed", "UPDATE keyword_postings SET data = zeroblob(length(data)) WHERE id % 1048576 = 1"],
    [
      "varints without an end",
      "UPDATE keyword_postings SET data = x'8080808080808080', crc = NULL WHERE id % 1048576 = 1"
    ],
    ["heads gone", "DELETE FROM keyword_postings WHERE id % 1048576 = 0"],
    [
      "heads of another length",
      "UPDATE keyword_postings SET data = substr(data, 1, 3), crc = NULL WHERE id % 1048576 = 0"
    ],
    [
      "a segment gone",
      "DELETE FROM keyword_segments WHERE id = (SELECT min(id) FROM keyword_segments WHERE state = 0)"
    ],
    ["a segment miscounted", "UPDATE keyword_segments SET terms = terms + 1"],
    ["tombstones gone", "DELETE FROM keyword_tombstones"],
    ["a code block gone", "DELETE FROM code_blocks WHERE version = (SELECT max(version) FROM code_blocks)"],
    ["codes changed", "UPDATE code_blocks SET body = zeroblob(length(body))"],
    ["codes that no checksum knows changed", "UPDATE code_blocks SET body = zeroblob(length(body)), crc = NULL"],
    ["a centroid changed", "UPDATE code_epochs SET centroid = zeroblob(length(centroid))"],
    ["counters wrong", "UPDATE collections SET passages = passages + 1, documents = documents - 1"],
    [
      "every seventh vector gone",
      "DELETE FROM vectors_1 WHERE passage_id % 7 = 0; DELETE FROM vectors_2 WHERE passage_id % 7 = 0"
    ],
    ["a vector changed", "UPDATE vectors_1 SET vector = zeroblob(length(vector)) WHERE passage_id = 7"],
    ["a vector of another length", "UPDATE vectors_1 SET vector = zeroblob(12) WHERE passage_id = 7"],
    ["metadata of filters gone", "DELETE FROM metadata_values WHERE document_id % 2 = 0"],
    ["the next number taken", "UPDATE sqlite_sequence SET seq = 1 WHERE name IN ('passages', 'documents')"],
    ["orphans", "PRAGMA foreign_keys = OFF; INSERT INTO metadata_values VALUES ('k', 's', 'v', 9999)"],
    ["a passage gone", "DELETE FROM passages WHERE id = 7", "texts"],
    ["a text changed", "UPDATE passages SET text = replace(text, 'château', 'chateau') WHERE id = 7", "texts"],
    ["a heading that is no JSON", "UPDATE passages SET heading = '[' WHERE id = 7", "texts"],
    ["metadata that are no JSON", "UPDATE documents SET metadata = '{' WHERE id = 2", "texts"],
    ["a span beyond its text", "UPDATE passages SET start = start + 1 WHERE id = 7", "texts"]
  ]

  it.scoped(
    "finds and mends what happens to rows, and no search answers from it without a word",
    () =>
      Effect.gen(function* () {
        const { bytes, folder } = yield* temporary
        const ask = (filename: string) =>
          Effect.flatMap(Store, (store) =>
            Effect.forEach([defaultCollection, many], (collection) =>
              store.rank({
                collection,
                keyword: "north château",
                vector: Float32Array.of(1, 0.1, 0, 0),
                alpha: 0.5,
                fusion: "rrf",
                filter: {},
                limit: 20
              })
            )
          ).pipe(
            Effect.provide(
              Sqlite.layer({ filename, mode: "readonly", vectors: { oversample: 4, exact: false, exactBelow: 100 } })
            )
          )
        const expected = yield* ask(`${folder}/index.db`)
        for (const [index, [name, sql, left]] of damages.entries()) {
          const filename = `${folder}/damaged${index}.db`
          writeFileSync(filename, bytes)
          const db = new Database(filename)
          db.exec(sql)
          db.close()
          // Typed, with the way out; anything else would be a defect.
          const before = yield* Effect.either(ask(filename))
          if (Either.isLeft(before)) assert.match(before.left.message, /clew doctor/, name)
          const found = yield* run(filename)
          assert.isAbove(wrong(found).length, 0, name)
          const fixed = yield* run(filename, { fix: true })
          assert.deepStrictEqual(
            wrong(fixed).map((check) => check.name),
            left === undefined ? [] : [left],
            `${name}: ${JSON.stringify(wrong(fixed))}`
          )
          assert.isTrue(existsSync(fixed.copy!), name)
          const after = yield* ask(filename)
          if (left === undefined) assert.deepStrictEqual(after, expected, name)
          assert.strictEqual(
            (yield* Effect.provide(
              Effect.flatMap(Store, (store) => store.stats()),
              Sqlite.layer({ filename, mode: "readonly" })
            )).documents,
            8,
            name
          )
        }
      }),
    300_000
  )
})
