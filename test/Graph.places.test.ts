import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Graph } from "../src/Graph.ts"
import { Llm } from "../src/Llm.ts"
import * as Extractive from "../src/Llm/Extractive.ts"
import { CollectionName } from "../src/model/Collection.ts"
import { placeOf } from "../src/model/Graph.ts"
import { Store } from "../src/Store.ts"
import { document, embedder } from "./contracts/Store.ts"
import * as Sqlite from "../src/Store/Sqlite.ts"

const layer = Graph.Default.pipe(
  Layer.provideMerge(Layer.merge(Sqlite.layerMemory, Layer.succeed(Llm, Extractive.service)))
)

it.layer(layer)("the graph", (it) => {
  it.effect("says of a name in more passages than are read that at least so many documents have it", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const graph = yield* Graph
      const { name } = yield* store.createCollection(CollectionName.make("many"), embedder)
      const put = (from: number, to: number) =>
        store.put(
          name,
          Array.from({ length: to - from }, (_, n) =>
            document("Before Ada Lovelace nobody did.", { source: `${from + n}.txt` })
          )
        )
      const documents = Effect.map(graph.entity(name, "Ada Lovelace"), ({ at_least, documents }) => [
        documents,
        at_least
      ])
      yield* put(0, 128)
      assert.deepStrictEqual(yield* documents, [128, undefined])
      yield* put(128, 140)
      assert.deepStrictEqual(yield* documents, [129, true])
    })
  )

  it.effect("says on which line a name stands, and on which page of a file that has no lines", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const graph = yield* Graph
      const { name } = yield* store.createCollection(CollectionName.make("places"), embedder)
      const text = "It was long ago.\nNobody had heard of\nAda Lovelace then, nor of George Boole."
      const whole = (source: string, more: object) => {
        const made = document(text, { source })
        const passage = { ...made.passages[0]!, text, start: 0, end: text.length, startLine: 5, endLine: 7, ...more }
        return { ...made, passages: [passage] }
      }
      yield* store.put(name, [
        whole("a.txt", {}),
        whole("b.pdf", { startLine: 1, endLine: 1, locator: { _tag: "Page", page: 3 } }),
        // Of a page of HTML two lines of text may be one of the file.
        whole("c.html", { endLine: 5 })
      ])
      const { mentions, neighbours } = yield* graph.entity(name, "Ada Lovelace")
      assert.deepStrictEqual(
        mentions.map((mention) => mention.source + placeOf(mention)),
        ["a.txt:7", "b.pdf#page=3", "c.html:5"]
      )
      assert.deepStrictEqual(
        mentions.map(({ start_line }) => start_line),
        [5, 1, 5]
      )
      assert.deepStrictEqual(
        neighbours.map((it) => it.name + placeOf(it)),
        ["George Boole:7"]
      )
      const { steps } = yield* graph.path(name, "Ada Lovelace", "George Boole")
      assert.deepStrictEqual(steps.map(placeOf), [":7"])
      const { edges } = yield* graph.whole(name)
      assert.sameMembers(edges.map(placeOf), [":7", ":7", "#page=3", "#page=3", ":5", ":5"])
    })
  )
})
