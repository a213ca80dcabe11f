import { assert, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import { defaultCollection } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"
import type { Shown } from "../../src/ranking/Snapshot.ts"
import { Kept } from "../../src/runtime/Kept.ts"
import { whole } from "../../src/Store.ts"
import { layer } from "../../src/Store/Sqlite.ts"
import { shownKept } from "../../src/Store/sql/snapshot.ts"
import { document, embedder } from "../contracts/Store.ts"
import { indexFile } from "./opened.ts"
import { ranked } from "../ranked.ts"

const shownOf = (text: string) =>
  ({ collection: 1, language: "en", hit: { passage: { text }, document: {} } }) as unknown as Shown

describe("what searches show of passages", () => {
  it.scoped("is read again once anybody has written, by this connection or another", () =>
    Effect.gen(function* () {
      const filename = yield* indexFile
      yield* Effect.gen(function* () {
        const store = yield* whole
        const put = (content: string) =>
          store.put(defaultCollection, [document(content, { docId: DocumentId.make("z"), source: "z" })])
        const shown = Effect.map(ranked(store, { keyword: "zebra" }), ([hit]) => [
          hit?.document.title,
          hit?.passage.text
        ])
        yield* store.createCollection(defaultCollection, embedder)
        yield* put("zebra one")
        assert.deepStrictEqual(yield* shown, [undefined, "zebra one"])
        assert.deepStrictEqual(yield* shown, [undefined, "zebra one"])
        yield* put("zebra two")
        assert.deepStrictEqual(yield* shown, [undefined, "zebra two"])
        const other = new Database(filename)
        other.prepare("UPDATE documents SET title = 'stripes', head_crc = NULL").run()
        other.close()
        assert.deepStrictEqual(yield* shown, ["stripes", "zebra two"])
      }).pipe(Effect.provide(layer({ filename, mode: "create" })))
    })
  )

  it("is kept of the latest alone", () => {
    const kept = new Kept<number, Shown>(shownKept.most, shownKept.sizeOf)
    const text = "x".repeat(100_000)
    for (let passage = 0; passage < 100; passage++) kept.add(passage, shownOf(text))
    assert.isUndefined(kept.get(0))
    assert.isDefined(kept.get(99))
    assert.isDefined(kept.get(60))
  })
})
