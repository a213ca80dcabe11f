import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { defaultCollection } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"
import { whole } from "../../src/Store.ts"
import { tied } from "../../src/ranking/ties.ts"
import { document, embedder } from "../contracts/Store.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { ranked } from "../ranked.ts"

const candidates = (...scores: ReadonlyArray<number>) => scores.map((score, id) => ({ id, score }))

it("finds the ties that begin before the end of what is wanted", () => {
  assert.deepStrictEqual(tied([], 5), [])
  assert.deepStrictEqual(tied(candidates(3, 2, 1), 3), [])
  assert.deepStrictEqual(tied(candidates(3, 3, 2, 1, 1, 1), 6), [0, 1, 3, 4, 5])
  assert.deepStrictEqual(tied(candidates(3, 3, 2, 1, 1, 1), 4), [0, 1, 3, 4, 5])
  assert.deepStrictEqual(tied(candidates(3, 3, 2, 1, 1, 1), 3), [0, 1])
})

const name = (n: number) => `d${String(n).padStart(4, "0")}`

it.layer(Sqlite.layerMemory)("ties", (it) => {
  it.effect("are decided by doc_id and ordinal, also where more tie than a leg ranks", () =>
    Effect.gen(function* () {
      const store = yield* whole
      yield* store.createCollection(defaultCollection, embedder)
      // Stored from the last doc_id to the first, so that the order of rows is the wrong one.
      for (let n = 299; n >= 0; n -= 100) {
        const some = Array.from({ length: 100 }, (_, i) =>
          document(`same\nsame ${n - i}`, { docId: DocumentId.make(name(n - i)) })
        )
        yield* store.put(defaultCollection, some)
      }
      const rank = (legs: { readonly vector?: Float32Array; readonly keyword?: string }, limit: number) =>
        Effect.map(ranked(store, { alpha: 0.4, limit, ...legs }), (hits) =>
          hits.map((hit) => `${hit.document.docId}.${hit.passage.ordinal}`)
        )
      const north = Float32Array.of(1, 0, 0, 0)
      const all = Array.from({ length: 600 }, (_, i) => `${name(i >> 1)}.${i & 1}`)
      assert.deepStrictEqual(yield* rank({ vector: north }, 10), all.slice(0, 10))
      assert.deepStrictEqual(yield* rank({ vector: north }, 100), all.slice(0, 100))
      // The keyword leg puts d0250 first; those that only the vector leg ranks follow in its order.
      const hybrid = yield* rank({ vector: north, keyword: "250" }, 30)
      assert.deepStrictEqual(hybrid, ["d0250.1", ...all].slice(0, 30))
    })
  )
})

it.layer(Sqlite.layerMemory)("names", (it) => {
  it.effect("put a definition before its uses, and these before what has but the words", () =>
    Effect.gen(function* () {
      const store = yield* whole
      yield* store.createCollection(defaultCollection, embedder)
      for (const [source, text] of [
        ["words", "auto and eol in core, auto eol core"],
        ["use", "set core.autoEol where core and auto and eol and autoeol matter, as core.autoEol may"],
        [
          "definition",
          "core.autoEol::\n\tWhat a line ends in, of all the many ways in which a line may end, none better"
        ]
      ] as const) {
        yield* store.put(defaultCollection, [document(text, { source })])
      }
      const hits = yield* ranked(store, { keyword: "core.autoEol" })
      assert.strictEqual(hits[0]?.document.source, "definition")
      assert.deepStrictEqual(
        hits.map(({ keyword }) => keyword?.rank),
        hits.map((_, index) => index + 1)
      )
      const plain = yield* ranked(store, { keyword: "core auto eol" })
      assert.isAbove(
        plain.findIndex(({ document }) => document.source === "definition"),
        0
      )
    })
  )
})
