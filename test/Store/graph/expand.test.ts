import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { CollectionName } from "../../../src/model/Collection.ts"
import { whole } from "../../../src/Store.ts"
import { document, embedder } from "../../contracts/Store.ts"
import * as Sqlite from "../../../src/Store/Sqlite.ts"
import { ranking } from "../../ranked.ts"

let made = 0

/** Ten passages rank above; the answer has no word of the question and stands a name away from the best. */
const filled = Effect.gen(function* () {
  const store = yield* whole
  const { name: collection } = yield* store.createCollection(CollectionName.make(`g${made++}`), embedder)
  yield* store.put(collection, [
    document("The song Hello Love has a singer, whose name is Hank Snow.", { source: "song", title: "Hello Love" }),
    document("He died in Tennessee.", { source: "singer", title: "Hank Snow", metadata: { kind: "person" } }),
    ...Array.from({ length: 12 }, (_, n) =>
      document(`A song has a singer, number ${n}; see Hello Love for another.`, {
        source: `song${n}`,
        title: `Song ${n}`
      })
    )
  ])
  const find = (graph: { readonly auto: boolean } | undefined, rest: object = {}) =>
    store.find({
      ...ranking({ collection, keyword: "Who is the singer of the song Hello Love?" }),
      list: { places: 10, fold: false, perDocument: 0, minRelevance: 0, question: "" },
      graph: graph === undefined ? undefined : { ...graph, question: "Who is the singer of the song Hello Love?" },
      ...rest
    })
  const rank = (...args: Parameters<typeof find>) =>
    Effect.map(find(...args), ({ hits }) => ({ hits, led: hits.filter(({ via }) => via !== undefined) }))
  return { collection, rank, store }
})

it.layer(Sqlite.layerMemory)("search along the graph", (it) => {
  it.effect("leads from the best to what a name joins to them, and says by what way", () =>
    Effect.gen(function* () {
      const { rank } = yield* filled
      const plain = yield* rank(undefined)
      assert.deepStrictEqual(plain.led, [])
      assert.isFalse(plain.hits.some(({ document }) => document.source === "singer"))
      const { hits, led } = yield* rank({ auto: false })
      assert.deepStrictEqual(hits.slice(0, 5), plain.hits.slice(0, 5))
      const found = led.find(({ document }) => document.source === "singer")
      assert.deepStrictEqual(found?.via?.at(-1), { entity: "Hank Snow", source: "song", chunk_index: 0 })
      const best = new Set(hits.slice(0, 5).map(({ document }) => document.source))
      assert.isFalse(led.some(({ document }) => best.has(document.source)))
    })
  )

  it.effect("by itself only where the best hits name documents and the question names something", () =>
    Effect.gen(function* () {
      const { collection, rank, store } = yield* filled
      const { led } = yield* rank({ auto: true })
      assert.isAbove(led.length, 0)
      const unnamed = { graph: { auto: true, question: "who sings it" } }
      assert.deepStrictEqual((yield* rank({ auto: true }, unnamed)).led, [])
      // What else is in the collection makes no difference.
      yield* store.put(collection, [
        ...Array.from({ length: 60 }, (_, n) => document(`nothing of interest, ${n}`, { source: `plain ${n}` })),
        ...Array.from({ length: 12 }, (_, n) =>
          document(`A kidney cell, number ${n}, has ABCB${n % 4} and XYZ${n % 6}.`, {
            source: `cell ${n}`,
            title: `On kidney cells, ${n}`
          })
        )
      ])
      assert.deepStrictEqual(
        (yield* rank({ auto: true })).led.map(({ document }) => document.source),
        led.map(({ document }) => document.source)
      )
      const keyword = "Which kidney cell has ABCB1?"
      const question = (auto: boolean) => ({ keyword, graph: { auto, question: keyword } })
      assert.isAbove((yield* rank({ auto: false }, question(false))).led.length, 0)
      assert.deepStrictEqual((yield* rank({ auto: true }, question(true))).led, [])
    })
  )

  it.effect("forgets a document that is deleted", () =>
    Effect.gen(function* () {
      const { collection, rank, store } = yield* filled
      yield* store.deleteSource(collection, "singer")
      const { led } = yield* rank({ auto: false })
      assert.isFalse(led.some(({ document }) => document.source === "singer"))
    })
  )
})
