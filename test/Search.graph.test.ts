import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Builtin from "../src/Embedder/Builtin.ts"
import * as Embedders from "../src/Embedders.ts"
import type { DoorRequest } from "../src/model/Query.ts"
import type { Hit } from "../src/model/SearchResult.ts"
import { Search } from "../src/Search.ts"
import { searchConfig, chunkerOf } from "./fakes.ts"
import { Indexer } from "../src/Indexer.ts"
import { layerMemory } from "../src/Store/Sqlite.ts"

const note = (source: string, content: string) => ({ content, metadata: { source } })

/** Pages that link to each other, of which some say the same, and to a style sheet that answers nothing. */
const pages = [
  ...["harbour", "harbour copy", "harbour draft"].map((source) =>
    note(
      `${source}.md`,
      "# Harbour\n\nShips wait in the harbour for the tide; see [Tide](tide.md) and [styles](site.css)."
    )
  ),
  note("tide.md", "# Tide\n\nThe tide turns twice a day, as [Moon](moon.md) explains; see [styles](site.css)."),
  note("moon.md", "# Moon\n\nThe moon pulls the water up on both sides of the earth. See [styles](site.css)."),
  note("site.css", "body { margin: 0; padding: 4px }"),
  note("lantern.md", "# Lantern\n\nThe lantern is lit by [Anna Svensson](anna.md)."),
  note("anna.md", "# Anna Svensson\n\nShe was born in a small village in the mountains, far from any coast."),
  ...Array.from({ length: 14 }, (_, n) =>
    note(
      `page${n}.md`,
      `# Page ${n}\n\n${["Ships", "Boats", "Ropes", "Anchors", "Sails"][n % 5]} of kind ${n * n} wait for high water ` +
        `${"and longer ".repeat(n % 4)}in port ${String.fromCodePoint(65 + n)}${n}; see [Harbour](harbour.md), [styles](site.css).`
    )
  )
]

const setUp = Effect.gen(function* () {
  const chunker = chunkerOf(64, 0)
  const engine = Layer.merge(Indexer.Default, Layer.provide(Search.Default, searchConfig())).pipe(
    Layer.provide(Layer.mergeAll(Layer.provide(Embedders.layerSingle, Builtin.layer), chunker, layerMemory))
  )
  const context = yield* Layer.build(engine)
  yield* Effect.flatMap(Effect.provide(Indexer, context), ({ index }) => index(pages))
  const search = yield* Effect.provide(Search, context)
  return (query: string, more: Partial<DoorRequest> = {}) =>
    Effect.map(search.run({ query, topK: 10, graph: true, ...more }), ({ hits }) => hits)
})

const named = (hits: ReadonlyArray<Hit>) => hits.map(({ document }) => document.source)
const isLed = ({ via }: Hit) => via !== undefined

const questions = [
  "Why do ships wait in the harbour?",
  "Harbour and Tide",
  "What does the Moon do?",
  "high water in port",
  "Lantern"
]

it.scoped("the graph takes no place among the first five shown, and none of what is more relevant", () =>
  Effect.gen(function* () {
    const find = yield* setUp
    let led = 0
    for (const query of questions) {
      for (const more of [{}, { fusion: "rrf" as const }, { alpha: 0 }, { hybrid: false }]) {
        const plain = yield* find(query, { ...more, graph: false })
        const shown = yield* find(query, more)
        assert.deepStrictEqual(named(shown.slice(0, 5)), named(plain.slice(0, 5)), query)
        assert.isFalse(shown.slice(0, 5).some(isLed))
        assert.isAtLeast(shown.length, plain.length)
        assert.strictEqual(new Set(named(shown)).size, shown.length)
        for (const [at, hit] of shown.entries()) {
          if (!isLed(hit)) continue
          led++
          assert.isAtLeast(hit.relevance!, plain[at]?.relevance ?? 0, `${query} ${at} ${hit.document.source}`)
        }
      }
    }
    assert.isAbove(led, 0)
  })
)

it.scoped("a short list with the graph is the head of a long one, also page by page", () =>
  Effect.gen(function* () {
    const find = yield* setUp
    for (const query of questions) {
      const all = named(yield* find(query, { topK: 14 }))
      for (const topK of [6, 7, 9, 10, 12])
        assert.deepStrictEqual(named(yield* find(query, { topK })), all.slice(0, topK))
      const plain = named(yield* find(query, { graph: false, topK: 5 }))
      assert.deepStrictEqual(named(yield* find(query, { topK: 5 })), plain)
      assert.deepStrictEqual(named(yield* find(query, { topK: 4, offset: 4 })), all.slice(4, 8))
    }
  })
)
