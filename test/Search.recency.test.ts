import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { defaultCollection } from "../src/model/Collection.ts"
import { Search } from "../src/Search.ts"
import { Store } from "../src/Store.ts"
import { document } from "./contracts/Store.ts"
import { compass, embeddersLayer, makeEmbedder, searchConfig } from "./fakes.ts"
import { layerMemory } from "../src/Store/Sqlite.ts"

const now = Date.UTC(2026, 0, 1)

/** The same text, with dates in every shape, and in none. */
const dates: Readonly<Record<string, unknown>> = {
  "old.md": "2025-01-01",
  "seconds.md": (now - 60 * 86_400_000) / 1000,
  "milliseconds.md": now - 30 * 86_400_000,
  "yesterday.md": "2025-12-31T00:00:00Z",
  "future.md": "2027-01-01",
  "words.md": "the day before",
  "undated.md": undefined
}

const setUp = Effect.gen(function* () {
  const { embedder } = yield* makeEmbedder()
  const store = yield* Store
  yield* TestClock.setTime(now)
  yield* store.createCollection(defaultCollection, compass)
  for (const [source, date] of Object.entries(dates)) {
    const text = `north wind of ${source}`
    const [vector] = yield* embedder.embedPassages([text])
    yield* store.put(defaultCollection, [
      document(text, {
        source,
        metadata: date === undefined ? {} : { "the date": date },
        vectors: [Option.getOrUndefined(vector!)]
      })
    ])
  }
  return (recency: { readonly key: string; readonly halfLifeDays: number } | undefined) =>
    Effect.provide(
      Search,
      Search.Default.pipe(
        Layer.provide(
          Layer.merge(
            embeddersLayer(embedder),
            searchConfig({ topK: 10, ...(recency === undefined ? {} : { recency }) })
          )
        )
      )
    )
})

it.effect("fades with age what has a date, and leaves the rest as it is, by figures that add up", () =>
  Effect.gen(function* () {
    const searching = yield* setUp
    const search = yield* searching({ key: "the date", halfLifeDays: 30 })
    const plain = yield* searching(undefined)
    for (const request of [{}, { fusion: "rrf" as const }, { alpha: 0 }, { hybrid: false }, { graph: true }]) {
      const query = "north wind"
      const before = new Map(
        (yield* plain.run({ ...request, query })).hits.map(({ document, score }) => [document.source, score])
      )
      const { hits } = yield* search.run({ ...request, query, explain: true })
      assert.deepStrictEqual(
        (yield* search.run({ ...request, query })).hits.map(({ score }) => score),
        hits.map(({ score }) => score)
      )
      assert.deepStrictEqual(
        hits.toSorted((a, b) => b.score - a.score),
        [...hits]
      )
      for (const { document, explain, score } of hits) {
        const { keyword, recency, vector } = explain!
        const own = before.get(document.source)!
        const age = { "old.md": 365, "seconds.md": 60, "milliseconds.md": 30, "yesterday.md": 1, "future.md": 0 }[
          document.source
        ]
        assert.strictEqual(recency?.age_days, age, document.source)
        assert.closeTo(score, own * 0.5 ** ((age ?? 0) / 30), 1e-9, document.source)
        const sum = (keyword?.contribution ?? 0) + (vector?.contribution ?? 0) + (recency?.contribution ?? 0)
        assert.closeTo(sum, score, 1e-9)
      }
      assert.strictEqual(hits.at(-1)!.document.source, "old.md")
    }
    const other = yield* searching({ key: "date", halfLifeDays: 30 })
    const query = "north wind"
    assert.deepStrictEqual((yield* other.run({ query })).hits, (yield* plain.run({ query })).hits)
  }).pipe(Effect.provide(layerMemory))
)
