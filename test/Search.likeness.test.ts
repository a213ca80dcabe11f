import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Builtin from "../src/Embedder/Builtin.ts"
import * as Embedders from "../src/Embedders.ts"
import { Indexer } from "../src/Indexer.ts"
import type { DoorRequest } from "../src/model/Query.ts"
import { Search } from "../src/Search.ts"
import { layerMemory } from "../src/Store/Sqlite.ts"
import { searchConfig, chunkerOf } from "./fakes.ts"

const about = (source: string, content: string) => ({ content, metadata: { source } })

const pages = [
  about("repair.md", "A mechanic mends the engine of a broken automobile in the garage."),
  about("race.md", "The car race was long; cars of every colour drove round the town and nobody stopped."),
  about("bread.md", "A baker leaves dough to rise before the oven is hot."),
  ...Array.from({ length: 30 }, (_, n) => about(`${n}.md`, `Note ${n}: cars, ${n} of them, and the town of ${n * n}.`))
]

const setUp = Effect.fnUntraced(function* (documents = pages) {
  const chunker = chunkerOf(64, 0)
  const engine = Layer.merge(Indexer.Default, Layer.provide(Search.Default, searchConfig())).pipe(
    Layer.provide(Layer.mergeAll(Layer.provide(Embedders.layerSingle, Builtin.layer), chunker, layerMemory))
  )
  const context = yield* Layer.build(engine)
  yield* Effect.flatMap(Effect.provide(Indexer, context), ({ index }) => index(documents))
  const search = yield* Effect.provide(Search, context)
  return (query: string, more: Partial<DoorRequest> = {}) =>
    Effect.map(search.run({ query, topK: 30, explain: true, ...more }), ({ hits }) => hits)
})

it.scoped("a passage with other words for all of a question's comes before those with one of its words", () =>
  Effect.gen(function* () {
    const find = yield* setUp()
    const hits = yield* find("who repairs cars?")
    assert.strictEqual(hits[0]?.document.source, "repair.md")
    const [most = 0, ...others] = hits.map(({ explain }) => explain?.likeness?.score ?? 0)
    assert.isAbove(most, Math.max(...others))
  })
)

it.scoped("its parts add up; a short list is the head of a long one; ranks and single legs are as they were", () =>
  Effect.gen(function* () {
    const find = yield* setUp()
    for (const query of ["who repairs cars?", "dough in the oven", "xyzzy plugh", "cars"]) {
      const hits = yield* find(query)
      for (const [at, { explain, score }] of hits.entries()) {
        const parts = [explain?.vector, explain?.keyword, explain?.likeness].map((part) => part?.contribution ?? 0)
        assert.closeTo(
          parts.reduce((sum, part) => sum + part, 0),
          score,
          1e-9,
          query
        )
        assert.isAtMost(score, at === 0 ? 1 : hits[at - 1]!.score, query)
        assert.strictEqual(explain?.likeness !== undefined, at < 20, query)
      }
      for (const topK of [1, 5, 19, 25]) {
        assert.deepStrictEqual(yield* find(query, { topK }), hits.slice(0, topK), query)
      }
      for (const more of [{ fusion: "rrf" as const }, { alpha: 0 }, { hybrid: false }]) {
        assert.isTrue((yield* find(query, more)).every(({ explain }) => explain?.likeness === undefined))
      }
    }
  })
)

it.scoped("what says the same as a better one, or is one too many of its document, stays behind all others", () =>
  Effect.gen(function* () {
    const text = (n: number) =>
      `The moon and the sun pull the sea. Spring tides come at new moon and at full moon, when both pull along one line; ` +
      `neap tides come at the quarters, and harbours print tables of them, as number ${n} of this year's almanac says.`
    const find = yield* setUp([
      about("tides.md", text(1)),
      about("tides.html", text(1)),
      about("bread.md", "A baker leaves dough to rise before the moon is up."),
      about("oven.md", "An oven of the baker's is hot."),
      about(
        "long.md",
        Array.from({ length: 6 }, (_, n) => `# Part ${n}\n\nThe tides of part ${n}: ${"ab ".repeat(9)}`).join("\n\n")
      )
    ])
    const query = "when do spring tides come at full moon?"
    const sources = (hits: Effect.Effect.Success<ReturnType<typeof find>>) =>
      hits.map(({ document }) => document.source)
    const [first, second] = yield* find(query, { topK: 2 })
    assert.sameMembers([first?.document.source, first?.similar?.[0]?.document.source], ["tides.md", "tides.html"])
    assert.notInclude(["tides.md", "tides.html"], second?.document.source)
    const all = sources(yield* find(query, { perDocument: 1 }))
    assert.strictEqual(new Set(all.slice(0, 4)).size, 4)
    assert.match(all[0]!, /tides/)
    assert.strictEqual(all.slice(0, 4).filter((source) => source!.startsWith("tides")).length, 1)
  })
)
