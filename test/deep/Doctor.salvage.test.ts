import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, it } from "@effect/vitest"
import * as FileSystem from "@effect/platform/FileSystem"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { type CollectionSummary, defaultCollection } from "../../src/model/Collection.ts"
import { whole } from "../../src/Store.ts"
import { document } from "../contracts/Store.ts"
import { many, run, wrong } from "../examined.ts"
import { compass, makeEmbedder, words } from "../fakes.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { ranked } from "../ranked.ts"

/** What is known of a document's file; times are beyond 2^53. */
const ofFile = `(SELECT json_array(CAST(modified_ns AS TEXT), CAST(changed_ns AS TEXT), CAST(inode AS TEXT))
  FROM files AS f WHERE f.path = d.origin)`

/** Each document as it is stored, by its name, with what else is asked of it. */
const documentsIn = (filename: string, also = "NULL"): ReadonlyMap<string, string> => {
  const db = new Database(filename, { readonly: true })
  try {
    const rows = db
      .prepare(
        `SELECT coalesce(source, doc_id) AS name, d.doc_id, d.metadata, d.fingerprint, d.crc, d.tail,
                (SELECT json_group_array(json_array(p.id, p.text, p.lead, p.heading)) FROM passages AS p WHERE p.document_id = d.id) AS passages,
                ${also} AS also
         FROM documents AS d`
      )
      .all() as Array<{ readonly name: string }>
    return new Map(rows.map((row) => [row.name, JSON.stringify(row)]))
  } finally {
    db.close()
  }
}

const rootOf = (filename: string, table: string): number => {
  const db = new Database(filename, { readonly: true })
  try {
    return db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").pluck().get(table) as number
  } finally {
    db.close()
  }
}

/** Takes a table's first page away. */
const zeroRoot = (file: string, bytes: Buffer, table: string): void => {
  const size = bytes.readUInt16BE(16)
  const root = rootOf(file, table)
  writeFileSync(file, Buffer.from(bytes).fill(0, (root - 1) * size, root * size))
}

/** An index of two collections whose tables have many pages: eighty documents, every second one of a file. */
const library = Effect.gen(function* () {
  const files = yield* FileSystem.FileSystem
  const folder = yield* files.makeTempDirectoryScoped()
  const filename = `${folder}/index.db`
  yield* Effect.gen(function* () {
    const { embedder } = yield* makeEmbedder()
    const store = yield* whole
    for (const name of [defaultCollection, many]) yield* store.createCollection(name, compass)
    const pathOf = (source: string) => (Number(source.slice(4)) % 2 === 0 ? `/gone/${source}.md` : undefined)
    const made = yield* Effect.forEach(Array.from({ length: 80 }).keys(), (n) => {
      const lines = Array.from({ length: 4 }, (_, at) => `${words[(n + at) % 4]} of chapter ${n}. `.repeat(12))
      const source = `note${String(n).padStart(2, "0")}`
      const origin = pathOf(source)
      return Effect.map(embedder.embedPassages(lines), (vectors) => ({
        ...document(lines.join("\n"), { source, vectors: vectors.map(Option.getOrUndefined) }),
        ...(origin === undefined ? {} : { origin })
      }))
    })
    const stamp = {
      size: 1,
      modified: "1795907275720177651",
      changed: "1795907275720177653",
      inode: "9007199254740993"
    }
    const known = { stamp, reader: "md 1", settings: "s", outcome: "indexed", documents: 1 } as const
    for (const [collection, given] of [
      [defaultCollection, made.slice(0, 60)],
      [many, made.slice(60)]
    ] as const) {
      const seenBy = yield* store.beginRun(collection, [{ path: "/gone", include: [], exclude: [] }])
      const files = given.flatMap(({ origin: path }) =>
        path === undefined ? [] : [{ ...known, path, many: false, expected: undefined }]
      )
      yield* store.put(collection, given, { seenBy, files })
    }
  }).pipe(Effect.provide(Sqlite.layer({ filename, mode: "create" })))
  return { folder, filename, bytes: readFileSync(filename) }
})

const isLong = process.env["CLEW_LONG_TESTS"] === "1"

it.layer(NodeFileSystem.layer)("salvage", (it) => {
  it.scoped(
    "loses no document where one bit of the list of tables, or of the file's length in its header, has flipped",
    () =>
      Effect.gen(function* () {
        const { bytes, filename, folder } = yield* library
        const before = documentsIn(filename, ofFile)
        const file = `${folder}/damaged.db`
        const within = (text: string, at: number) => bytes.indexOf(text) + at
        const damages: ReadonlyArray<readonly [name: string, at: number, bit: number]> = [
          ["an index that cannot be parsed", within("CREATE UNIQUE INDEX documents_source", 13), 8],
          ["another name of a table", within("CREATE TABLE documents", 16), 1],
          ["a table that cannot be parsed", within("CREATE TABLE passages", 7), 8],
          ["another column", within("CREATE TABLE documents", "CREATE TABLE documents (\n  id".length), 1],
          ["fewer pages", 30, 1 << Math.floor(Math.log2(bytes[30]!))],
          ["more pages", 29, 1]
        ]
        for (const [name, at, bit] of damages) {
          for (const left of readdirSync(folder)) if (left.startsWith("damaged")) rmSync(`${folder}/${left}`)
          const damaged = Buffer.from(bytes)
          damaged[at]! ^= bit
          writeFileSync(file, damaged)
          assert.deepStrictEqual(wrong(yield* run(file, { fix: true })), [], name)
          const left = documentsIn(file, ofFile)
          assert.strictEqual(left.size, before.size, name)
          for (const [document, stored] of before) assert.strictEqual(left.get(document), stored, name)
        }
      })
  )

  it.scoped(
    "takes over what can be read where pages are gone, whichever they are, and names what is lost",
    () =>
      Effect.gen(function* () {
        const { bytes, filename, folder } = yield* library
        const before = documentsIn(filename)
        const size = bytes.readUInt16BE(16)
        const pages = bytes.length / size
        const file = `${folder}/damaged.db`
        const damages: Array<readonly [name: string, damaged: Buffer]> = []
        // The first page is SQLite's own header: without it nothing says what the file is.
        for (let page = 2; page <= pages; page += isLong ? 1 : 17) {
          const damaged = Buffer.from(bytes)
          damaged.fill(page % 2 === 0 ? 0 : 0xa5, (page - 1) * size, page * size)
          damages.push([`page ${page}`, damaged])
        }
        for (const kept of isLong ? [0.2, 0.5, 0.8, 0.99] : [0.8]) {
          damages.push([`cut to ${kept}`, bytes.subarray(0, Math.floor(kept * bytes.length))])
        }
        let [salvaged, mild] = [0, 0]
        for (const [name, damaged] of damages) {
          for (const left of readdirSync(folder)) if (left.startsWith("damaged")) rmSync(`${folder}/${left}`)
          writeFileSync(file, damaged)
          const found = wrong(yield* run(file))
          if (found.length === 0) continue
          const report = yield* run(file, { fix: true })
          assert.deepStrictEqual(wrong(report), [], name)
          const text = report.fixed.join("\n")
          const left = documentsIn(file)
          for (const [document, stored] of left) assert.strictEqual(stored, before.get(document), name)
          const missing = before.size - left.size
          if (/could be read and are in a new file/.test(text)) {
            salvaged++
            if (missing < 8) mild++
            assert.deepStrictEqual(readFileSync(report.copy!), damaged, name)
            const said = new RegExp(`^${missing} documents are lost|^its content is unknown`, "m")
            if (missing > 0) assert.match(text, said, name)
            if (left.size > 0) assert.notMatch(text, /its content is unknown/, name)
          } else {
            assert.strictEqual(missing, 0, name)
          }
          // It is an index that answers, where anything is left in it.
          if (left.size === 0) continue
          yield* Effect.provide(
            Effect.gen(function* () {
              const store = yield* whole
              const [{ name: collection }] = (yield* store.collections) as [CollectionSummary]
              const vector = Float32Array.of(1, 0.1, 0, 0)
              yield* ranked(store, { collection, keyword: "north chapter", vector, alpha: 0.5, limit: 5 })
            }),
            Sqlite.layer({ filename: file, mode: "readonly" })
          )
        }
        assert.isAbove(salvaged, damages.length / 4)
        // A page has few documents.
        assert.isAbove(mild, salvaged / 2)
        assert.deepStrictEqual(
          readdirSync(folder).filter((name) => /partial|-wal|-shm|-journal/.test(name)),
          []
        )
      }),
    isLong ? 1_800_000 : 120_000
  )

  it.scoped("loses only the documents of a lost page, whose files are read again", () =>
    Effect.gen(function* () {
      const { bytes, filename: file } = yield* library
      const before = documentsIn(file)
      const size = bytes.readUInt16BE(16)
      const damaged = Buffer.from(bytes)
      const at = bytes.indexOf("west of chapter 41.")
      damaged.fill(0, at - (at % size), at - (at % size) + size)
      writeFileSync(file, damaged)
      const report = yield* run(file, { fix: true })
      assert.deepStrictEqual(wrong(report), [])
      const left = documentsIn(file)
      assert.isAbove(left.size, 0)
      assert.isBelow(left.size, before.size)
      const lost = [...before.keys()].filter((name) => !left.has(name))
      assert.include(lost, "note41")
      assert.isBelow(lost.length, 8)
      const said = report.fixed.find((line) => line.includes("are lost"))
      for (const name of lost) assert.include(said, name)
      const db = new Database(file, { readonly: true })
      assert.sameMembers(
        db.prepare("SELECT path FROM files WHERE outcome = 'unfinished' AND size IS NULL").pluck().all(),
        lost.filter((name) => Number(name.slice(4)) % 2 === 0).map((name) => `/gone/${name}.md`)
      )
      db.close()
      assert.isTrue(existsSync(report.copy!))
    })
  )

  it.scoped("loses no document where the table of collections is gone", () =>
    Effect.gen(function* () {
      const { bytes, filename: file } = yield* library
      const before = documentsIn(file)
      zeroRoot(file, bytes, "collections")
      const report = yield* run(file, { fix: true })
      assert.deepStrictEqual(wrong(report), [])
      assert.match(report.fixed.join("\n"), /collection was lost are in a new one: recovered-1, recovered-2$/m)
      assert.deepStrictEqual(documentsIn(file), before)
    })
  )

  it.scoped("names the lost by their index where their table is gone", () =>
    Effect.gen(function* () {
      const { bytes, filename: file } = yield* library
      zeroRoot(file, bytes, "documents")
      const report = yield* run(file, { fix: true })
      assert.deepStrictEqual(wrong(report), [])
      assert.match(report.fixed.join("\n"), /^80 documents are lost: note00, .*, note79; the next `clew index`/m)
    })
  )
})
