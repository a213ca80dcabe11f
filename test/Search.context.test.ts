import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { defaultCollection } from "../src/model/Collection.ts"
import { Search } from "../src/Search.ts"
import { Store } from "../src/Store.ts"
import { document } from "./contracts/Store.ts"
import { compass, embeddersLayer, makeEmbedder, searchConfig } from "./fakes.ts"
import { layerMemory } from "../src/Store/Sqlite.ts"

const config = (context: boolean) => searchConfig({ context, fold: false, graph: false })

/** Two passages that say the same, one amid others about the question; and sixty documents of two passages. */
const setUp = Effect.gen(function* () {
  // Of static vectors, since neighbours say nothing more where a model reads a passage as a whole.
  const identity = { ...compass, backend: "builtin" }
  const { embedder } = yield* makeEmbedder(identity)
  const store = yield* Store
  yield* store.createCollection(defaultCollection, identity)
  const put = (source: string, lines: ReadonlyArray<string>) =>
    Effect.flatMap(embedder.embedPassages(lines), (vectors) =>
      store.put(defaultCollection, [
        document(lines.join("\n"), {
          source,
          vectors: vectors.map((vector) => (vector._tag === "Some" ? vector.value : undefined))
        })
      ])
    )
  yield* put("a-elsewhere.md", ["west west", "north wind", "west west"])
  yield* put("b-about.md", ["north north", "north wind", "wind north"])
  for (let n = 0; n < 60; n++) yield* put(`c-${n}.md`, [`east ${n}`, n % 2 === 0 ? "wind east" : "south"])
  const searching = (context: boolean) =>
    Effect.provide(Search, Search.Default.pipe(Layer.provide(Layer.merge(embeddersLayer(embedder), config(context)))))
  return { plain: yield* searching(false), search: yield* searching(true) }
})

const shown = (hits: ReadonlyArray<{ document: { source: string }; passage: { ordinal: number } }>) =>
  hits.map(({ document, passage }) => `${document.source}:${passage.ordinal}`)

it.effect("counts the passages before and after one for it, where scores are fused", () =>
  Effect.gen(function* () {
    const { plain, search } = yield* setUp
    const query = "north wind"
    const first = (hits: Parameters<typeof shown>[0]) => shown(hits).filter((place) => /^(a|b)-.*:1$/.test(place))
    assert.deepStrictEqual(first((yield* plain.run({ query, topK: 100 })).hits), ["a-elsewhere.md:1", "b-about.md:1"])
    const { explain, hits } = yield* search.run({ query, topK: 100, explain: true })
    assert.deepStrictEqual(first(hits), ["b-about.md:1", "a-elsewhere.md:1"])
    assert.isDefined(explain?.stages_us.context)
    const about = hits.find(({ document, passage }) => document.source === "b-about.md" && passage.ordinal === 1)!
    const { keyword, vector } = about.explain!
    assert.isAbove(vector!.beside!, 0.7)
    assert.isAbove(keyword!.beside!, 0)

    for (const hit of hits) {
      const parts = (hit.explain!.vector?.contribution ?? 0) + (hit.explain!.keyword?.contribution ?? 0)
      assert.closeTo(parts, hit.score, 1e-9)
    }
    const scores = hits.map(({ score }) => score)
    assert.deepStrictEqual(
      scores.toSorted((a, b) => b - a),
      scores
    )
    const few = yield* search.run({ query, topK: 3 })
    assert.deepStrictEqual(shown(few.hits), shown(hits).slice(0, 3), "a short list is the head of a long one")

    for (const request of [{ fusion: "rrf" as const }, { alpha: 0 }, { hybrid: false }]) {
      assert.deepStrictEqual(
        (yield* search.run({ ...request, query })).hits,
        (yield* plain.run({ ...request, query })).hits,
        "ranks, and one leg alone, stay as they are"
      )
    }
  }).pipe(Effect.provide(layerMemory))
)
