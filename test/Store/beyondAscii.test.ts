import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { defaultCollection } from "../../src/model/Collection.ts"
import { whole } from "../../src/Store.ts"
import { beyondAscii } from "../contracts/beyondAscii.ts"
import { document, embedder } from "../contracts/Store.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { ranked } from "../ranked.ts"

it.layer(Sqlite.layerMemory)("text beyond ASCII", (it) => {
  it.effect("is found by its words", () =>
    Effect.gen(function* () {
      const store = yield* whole
      yield* store.createCollection(defaultCollection, embedder)
      yield* store.put(
        defaultCollection,
        Object.entries(beyondAscii).map(([source, { content }]) => document(content, { source }))
      )
      for (const [source, { finds }] of Object.entries(beyondAscii)) {
        for (const keyword of finds) {
          const hits = yield* ranked(store, { keyword })
          assert.deepStrictEqual(
            hits.map((hit) => hit.document.source),
            [source],
            keyword
          )
        }
      }
    })
  )
})
