import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { CollectionName } from "../../../src/model/Collection.ts"
import { whole } from "../../../src/Store.ts"
import * as Sqlite from "../../../src/Store/Sqlite.ts"
import { document, embedder } from "../../contracts/Store.ts"

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
  const rank = (graph: { readonly auto: boolean } | undefined, rest: object = {}) =>
    store.rank({
      collection,
      keyword: "Who is the singer of the song Hello Love?",
      alpha: 0,
      fusion: "rrf",
      filter: {},
      limit: 10,
      graph: graph === undefined ? undefined : { ...graph, question: "Who is the singer of the song Hello Love?" },
      ...rest
    })
  return { collection, rank, store }
})

it.layer(Sqlite.layerMemory)("search along the graph", (it) => {
  it.effect("puts what a name joins to the best from the sixth place on, and says by what way", () =>
    Effect.gen(function* () {
      const { rank } = yield* filled
      const plain = yield* rank(undefined)
      assert.isFalse(plain.some(({ document }) => document.source === "singer"))
      const led = yield* rank({ auto: false })
      assert.deepStrictEqual(
        led.slice(0, 5).map(({ document }) => document.source),
        plain.slice(0, 5).map(({ document }) => document.source)
      )
      const at = led.findIndex(({ document }) => document.source === "singer")
      assert.isAtLeast(at, 5)
      assert.deepStrictEqual(led[at]!.via?.at(-1), { entity: "Hank Snow", source: "song", chunk_index: 0 })
      assert.strictEqual(led.length, 10)
      assert.strictEqual(new Set(led.map(({ document }) => document.source)).size, 10)
      assert.isTrue(led.slice(0, 5).every(({ via }) => via === undefined))
    })
  )

  it.effect("holds to a filter, and is left out where five are wanted", () =>
    Effect.gen(function* () {
      const { rank } = yield* filled
      const filtered = yield* rank({ auto: false }, { filter: { source: "song*" } })
      assert.isFalse(filtered.some(({ document }) => document.source === "singer"))
      assert.deepStrictEqual(yield* rank({ auto: false }, { limit: 5 }), yield* rank(undefined, { limit: 5 }))
    })
  )

  it.effect("by itself only where documents name each other and the question names something", () =>
    Effect.gen(function* () {
      const { collection, rank, store } = yield* filled
      const led = yield* rank({ auto: true })
      assert.isTrue(led.some(({ via }) => via !== undefined))
      const unnamed = { graph: { auto: true, question: "who sings it" } }
      assert.isFalse((yield* rank({ auto: true }, unnamed)).some(({ via }) => via !== undefined))
      // Among many that name nobody the share of those that do is too small.
      yield* store.put(
        collection,
        Array.from({ length: 60 }, (_, n) => document(`nothing of interest, ${n}`, { source: `plain ${n}` }))
      )
      assert.isFalse((yield* rank({ auto: true })).some(({ via }) => via !== undefined))
    })
  )

  it.effect("forgets a document that is deleted", () =>
    Effect.gen(function* () {
      const { collection, rank, store } = yield* filled
      yield* store.deleteSource(collection, "singer")
      assert.isFalse((yield* rank({ auto: false })).some(({ document }) => document.source === "singer"))
    })
  )
})
