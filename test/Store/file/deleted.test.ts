import { assert, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { defaultCollection } from "../../../src/model/Collection.ts"
import { temporaryFolder } from "../../folder.ts"
import { opened as open } from "../opened.ts"
import { document, embedder } from "../../contracts/Store.ts"
import { ranked } from "../../ranked.ts"

/** Vectors whose bytes are found by a search through the file. */
const vectorOf = (seed: number) => Float32Array.from({ length: 4 }, (_, index) => Math.sin(seed * 4 + index + 1) / 2)

const bytesOf = (vector: Float32Array) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)

/** Which of the words and vectors stand anywhere in the files of a folder. */
const foundIn = (folder: string, wanted: ReadonlyArray<readonly [string, Buffer]>) =>
  fs.readdirSync(folder).flatMap((name) => {
    const bytes = fs.readFileSync(path.join(folder, name))
    return wanted.filter(([, searched]) => bytes.includes(searched)).map(([what]) => `${what} in ${name}`)
  })

it.scoped("leaves no byte of deleted documents after compacting, and gives their room back", () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const filename = path.join(folder, "index.db")
    const { close, store } = yield* open(filename)
    yield* store.createCollection(defaultCollection, embedder)
    const all = Array.from({ length: 4200 }, (_, seed) => seed)
    const isSecret = (seed: number) => seed % 100 === 7
    const text = (seed: number) =>
      isSecret(seed) ? `hush whisper${seed}quokka of numbat ${seed}` : `open words of ${seed} about rivers`
    for (let from = 0; from < all.length; from += 400) {
      yield* store.put(
        defaultCollection,
        all.slice(from, from + 400).map((seed) =>
          document(text(seed), {
            source: isSecret(seed) ? `hidden-source-${seed}` : `s${seed}`,
            title: isSecret(seed) ? `Veiled${seed}` : "Open",
            metadata: isSecret(seed) ? { key: `covert${seed}` } : {},
            vectors: [vectorOf(seed)]
          })
        )
      )
    }
    const secrets = all.filter(isSecret)
    const wanted = [
      ...["quokka", "numbat", "hidden-source", "Veiled", "veiled", "covert"].map(
        (word) => [word, Buffer.from(word)] as const
      ),
      ...secrets.map((seed) => [`vector ${seed}`, bytesOf(vectorOf(seed))] as const)
    ]
    assert.isNotEmpty(foundIn(folder, wanted))
    for (const seed of secrets) yield* store.deleteSource(defaultCollection, `hidden-source-${seed}`)
    const { after, before, complete } = yield* store.compact()
    assert.isTrue(complete)
    assert.isBelow(after, before)
    // While it is open, and with it the WAL.
    assert.deepStrictEqual(foundIn(folder, wanted), [])
    const hits = yield* ranked(store, { keyword: "rivers 4121", vector: vectorOf(4121), alpha: 0.5, limit: 3 })
    assert.strictEqual(hits[0]?.document.source, "s4121")
    yield* close
    assert.deepStrictEqual(fs.readdirSync(folder), ["index.db"])
    assert.deepStrictEqual(foundIn(folder, wanted), [])
    const db = new Database(filename)
    assert.deepStrictEqual(db.pragma("integrity_check"), [{ integrity_check: "ok" }])
    assert.deepStrictEqual(db.pragma("freelist_count"), [{ freelist_count: 0 }])
    assert.strictEqual(db.prepare("SELECT count(*) FROM keyword_tombstones").pluck().get(), 0)
    assert.deepStrictEqual(db.prepare("SELECT count(*) AS segments, sum(dead) AS dead FROM keyword_segments").get(), {
      segments: 1,
      dead: 0
    })
    db.close()
  })
)

it.scoped("compacts twice, and an index of nothing", () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const { store } = yield* open(path.join(folder, "index.db"))
    yield* store.compact()
    yield* store.createCollection(defaultCollection, embedder)
    yield* store.put(defaultCollection, [document("gone", { source: "s" })])
    yield* store.deleteSource(defaultCollection, "s")
    yield* store.compact()
    const { after, before } = yield* store.compact()
    assert.strictEqual(after, before)
    yield* store.put(defaultCollection, [document("back", { source: "s" })])
    assert.strictEqual((yield* store.list(defaultCollection, { limit: 9 })).length, 1)
  })
)
