import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { CollectionName } from "../../src/model/Collection.ts"
import { type Stores, type Whole, whole } from "../../src/Store.ts"
import { document, embedder } from "./Store.ts"

const name = CollectionName.make("c")

/** An index that is opened without a graph and then with one measures the graph that is built of its documents. */
export const measuredAnew = (index: (graph: boolean) => Layer.Layer<Stores, unknown>) => {
  const opened = <A, E>(graph: boolean, use: (store: Whole) => Effect.Effect<A, E>) =>
    Effect.scoped(
      Effect.flatMap(Layer.build(index(graph)), (context) => Effect.provide(Effect.flatMap(whole, use), context))
    )
  const documents = Array.from({ length: 200 }, (_, at) =>
    document("He knew Ada Lovelace well.", { source: `${at}.md`, title: at === 0 ? "Ada Lovelace" : `Letters ${at}` })
  )
  return Effect.gen(function* () {
    yield* opened(false, (store) =>
      Effect.gen(function* () {
        yield* store.createCollection(name, embedder)
        yield* store.put(name, documents)
        assert.strictEqual(yield* store.linkage(name), 0)
      })
    )
    const linkage = yield* opened(true, (store) =>
      Effect.zipRight(store.extendGraph(name, 0, 500), store.linkage(name))
    )
    assert.strictEqual(linkage, 199 / 200)
  })
}
