import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { defaultCollection } from "../../src/model/Collection.ts"
import { whole } from "../../src/Store.ts"
import { document, embedder } from "../contracts/Store.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { ranked, ranking } from "../ranked.ts"

it.layer(Sqlite.layerMemory)("words that match nothing", (it) => {
  it.effect("are looked up by what is spelled like them, and weigh less than words that match", () =>
    Effect.gen(function* () {
      const store = yield* whole
      yield* store.createCollection(defaultCollection, embedder)
      const texts = [
        "The configuration of a server",
        "Configured by nobody",
        "They receive letters",
        "Write to a socket",
        "A rocket flies"
      ]
      for (const text of texts) yield* store.put(defaultCollection, [document(text, { source: text })])
      const near = (keyword: string) =>
        Effect.map(store.find(ranking({ keyword, spelling: true })), (found) =>
          found.near.map(({ term, word }) => [word, term])
        )
      assert.deepStrictEqual(yield* near("configuraton recieve soket server"), [
        ["configuraton", "configur"],
        ["recieve", "receiv"],
        ["soket", "socket"]
      ])
      // The first letter is kept, short words and words that match are let be.
      assert.deepStrictEqual(yield* near("docket sever tha socket by"), [["sever", "server"]])
      assert.deepStrictEqual(yield* near("zebra flamingo"), [])

      assert.deepStrictEqual(yield* ranked(store, { keyword: "recieve" }), [])
      const found = yield* ranked(store, { keyword: "recieve rocket", spelling: true })
      assert.deepStrictEqual(
        found.map(({ document }) => document.source),
        ["A rocket flies", "They receive letters"]
      )
    })
  )
})
