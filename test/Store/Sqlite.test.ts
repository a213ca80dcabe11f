import { assert, it } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { defaultCollection } from "../../src/model/Collection.ts"
import { Store, whole } from "../../src/Store.ts"
import * as Threaded from "../../src/Store/SqliteThreaded.ts"
import { document, embedder, storeContract } from "../contracts/Store.ts"
import { readingContract } from "../contracts/reading.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { ranked } from "../ranked.ts"
import { opened } from "./opened.ts"

storeContract("Sqlite in memory", Sqlite.layerMemory)
readingContract("Sqlite in memory", Sqlite.layerMemory)

const inFolder = (layer: typeof Sqlite.layer) =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const folder = yield* files.makeTempDirectoryScoped()
      return layer({ filename: `${folder}/new/folders/index.db`, mode: "create" })
    })
  ).pipe(Layer.provide(NodeFileSystem.layer))

storeContract(
  "Sqlite, written in a thread and read in others",
  inFolder((options) => Threaded.layerPooled({ ...options, readers: 2 }))
)

it.layer(NodeFileSystem.layer)("Sqlite files", (it) => {
  const temporary = Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    return { files, filename: `${yield* files.makeTempDirectoryScoped()}/index.db` }
  })
  const open = (filename: string, mode: "create" | "existing" | "readonly" = "create") =>
    Effect.provide(Sqlite.layer({ filename, mode }))
  const refusal = (filename: string, mode?: "create" | "existing" | "readonly") =>
    Effect.map(Effect.flip(open(filename, mode)(Store)), (error) => error.message)

  it.scoped("is readable by its owner only", () =>
    Effect.gen(function* () {
      const { filename, files } = yield* temporary
      yield* open(filename)(Effect.flatMap(whole, (store) => store.createCollection(defaultCollection, embedder)))
      assert.strictEqual((yield* files.stat(filename)).mode & 0o777, 0o600)
    })
  )

  it.scoped("leaves a file that is not ours as it is", () =>
    Effect.gen(function* () {
      const { filename, files } = yield* temporary
      const foreign = new Database(filename)
      foreign.exec("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
      foreign.close()
      const text = filename.replace("index.db", "notes.txt")
      yield* files.writeFileString(text, "not a database, but longer than a header ".repeat(10))
      const short = filename.replace("index.db", "short")
      yield* files.writeFileString(short, "hello")
      for (const file of [filename, text, short]) {
        const before = yield* files.readFile(file)
        for (const mode of ["create", "existing", "readonly"] as const) {
          assert.match(yield* refusal(file, mode), /is not a Clew index and was left untouched/)
        }
        assert.deepStrictEqual(yield* files.readFile(file), before)
        assert.isFalse(yield* files.exists(`${file}-wal`))
      }
    })
  )

  it.scoped("leaves the file of a newer version as it is", () =>
    Effect.gen(function* () {
      const { filename, files } = yield* temporary
      yield* open(filename)(Store)
      const newer = new Database(filename)
      newer.pragma("user_version = 99")
      newer.pragma("wal_checkpoint(TRUNCATE)")
      newer.close()
      const before = yield* files.readFile(filename)
      assert.match(yield* refusal(filename), /newer Clew \(schema 99, this one knows \d+\)/)
      assert.deepStrictEqual(yield* files.readFile(filename), before)
    })
  )

  it.scoped("says what is wrong with a path", () =>
    Effect.gen(function* () {
      const { filename, files } = yield* temporary
      assert.match(
        yield* refusal(filename, "existing"),
        /There is no index at .* yet; create one with `clew index PATH`/
      )
      assert.isFalse(yield* files.exists(filename))
      yield* files.makeDirectory(filename)
      assert.match(yield* refusal(filename), /it is a directory/)
      assert.match(yield* refusal(`${filename}/../nofolder.db/index.db`, "readonly"), /There is no index/)
      yield* files.writeFileString(filename.replace("index.db", "file"), "x")
      assert.match(yield* refusal(filename.replace("index.db", "file/index.db")), /part of its path is a file/)
    })
  )

  it.scoped("is not written to when opened read-only", () =>
    Effect.gen(function* () {
      const { filename } = yield* temporary
      yield* open(filename)(
        Effect.flatMap(whole, (store) =>
          Effect.zipRight(
            store.createCollection(defaultCollection, embedder),
            store.put(defaultCollection, [document("kept", { source: "s" })])
          )
        )
      )
      const error = yield* open(
        filename,
        "readonly"
      )(Effect.flatMap(whole, (store) => Effect.flip(store.deleteSource(defaultCollection, "s"))))
      assert.match(error.message, /is read-only/)
      const found = yield* open(
        filename,
        "readonly"
      )(Effect.flatMap(whole, (store) => ranked(store, { keyword: "kept", limit: 1 })))
      assert.strictEqual(found.length, 1)
    })
  )

  it.scoped("lets a reader read while another connection writes, old or new but never a mix", () =>
    Effect.gen(function* () {
      const { filename } = yield* temporary
      const { store } = yield* opened(filename)
      yield* store.createCollection(defaultCollection, embedder)
      const version = (n: number) =>
        document(Array.from({ length: 20 }, () => `v${n} word`).join("\n"), { source: "s" })
      yield* store.put(defaultCollection, [version(0)])
      const writing = yield* Effect.fork(
        Effect.forEach(
          Array.from({ length: 40 }, (_, n) => n + 1),
          (n) => Effect.zipRight(store.put(defaultCollection, [version(n)]), Effect.yieldNow())
        )
      )
      const { store: other } = yield* opened(filename)
      for (let round = 0; round < 60; round++) {
        const hits = yield* ranked(other, { keyword: "word", limit: 100 })
        assert.strictEqual(hits.length, 20)
        assert.strictEqual(new Set(hits.map((hit) => hit.passage.text)).size, 1)
        yield* Effect.yieldNow()
      }
      yield* Fiber.join(writing)
    })
  )
})
