import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { CollectionName, defaultCollection } from "../src/model/Collection.ts"
import type { Explanation } from "../src/model/SearchResult.ts"
import type { DoorRequest } from "../src/model/Query.ts"
import { Search } from "../src/Search.ts"
import { Store } from "../src/Store.ts"
import { document } from "./contracts/Store.ts"
import { compass, makeEmbedder, searchLayer } from "./fakes.ts"

const words = ["north", "east", "south", "west"]
const other = CollectionName.make("other")

const setUp = Effect.gen(function* () {
  const { embedder } = yield* makeEmbedder()
  const context = yield* Layer.build(searchLayer(embedder))
  const store = yield* Effect.provide(Store, context)
  for (const name of [defaultCollection, other]) yield* store.createCollection(name, compass)
  for (let n = 0; n < 40; n++) {
    const text = `${words[n % 4]} ${words[(n >> 2) % 4]} wind of harbour ${n} calls windVane.turn`
    const [vector] = yield* embedder.embedPassages([text])
    yield* store.put(n % 5 === 0 ? other : defaultCollection, [
      document(text, {
        source: `${words[n % 3]}/${n}.md`,
        title: n % 2 === 0 ? `Harbour of the ${words[n % 4]}` : undefined,
        metadata: { even: n % 2 === 0 },
        vectors: [Option.getOrUndefined(vector!)]
      })
    ])
  }
  return yield* Effect.provide(Search, context)
})

const sumOf = ({ keyword, vector }: Explanation): number => (vector?.contribution ?? 0) + (keyword?.contribution ?? 0)

const requests: ReadonlyArray<Omit<DoorRequest, "query">> = [
  {},
  { fusion: "rrf" },
  { fusion: "rrf", alpha: 0.2, topK: 40 },
  { alpha: 0 },
  { alpha: 1 },
  { hybrid: false },
  { filter: { even: true } },
  { filter: { even: true }, fusion: "rrf", collection: defaultCollection },
  { graph: true, topK: 20 },
  { offset: 3, topK: 4 }
]

it.scoped("explains scores by figures that add up to them, in every way of searching", () =>
  Effect.gen(function* () {
    const search = yield* setUp
    // A name as it is written, a repeated word, a misspelt one, and more words than are explained.
    const many = Array.from({ length: 40 }, (_, n) => `harbour${n} ${n}`).join(" ")
    for (const query of ["north wind", "windVane.turn north north", "nort harbuor", "的", `north ${many}`]) {
      for (const more of requests) {
        const what = `${query.slice(0, 30)} ${JSON.stringify(more)}`
        const plain = yield* search.run({ ...more, query })
        const { explain, hits } = yield* search.run({ ...more, query, explain: true })
        assert.deepStrictEqual(
          hits.map((hit) => ({ ...hit, explain: undefined })),
          plain.hits.map((hit) => ({ ...hit, explain: undefined })),
          `${what}: the same as without`
        )
        assert.isUndefined(plain.explain)
        assert.isTrue(plain.hits.every((hit) => hit.explain === undefined))
        for (const { document, explain, passage, score, vector, keyword } of hits) {
          assert.isDefined(explain, what)
          assert.closeTo(sumOf(explain!), score, 1e-9, what)
          assert.strictEqual(explain!.vector?.rank, vector?.rank, what)
          assert.strictEqual(explain!.keyword?.rank, keyword?.rank, what)
          if (vector !== undefined) assert.strictEqual(explain!.vector!.score, vector.score)
          if (explain!.keyword === undefined) continue
          const { name_bonus: bonus = 0, others = 0, score: bm25, terms } = explain!.keyword
          const sum = terms.reduce((total, term) => total + term.score, others)
          assert.closeTo(sum * (1 + bonus), bm25, 1e-6 * Math.max(1, bm25), what)
          for (const term of terms) {
            assert.isAbove(term.title + term.heading + term.text, 0, `${what}: ${term.term} in ${passage.text}`)
            if (term.title > 0) assert.include(`${document.title} ${document.source}`.toLowerCase(), term.term)
          }
        }
        if (hits.length === 0) continue
        assert.strictEqual(explain?.passages, more.collection === undefined ? 40 : 32, what)
        assert.strictEqual(explain?.filtered !== undefined, more.filter !== undefined, what)
        if (more.filter !== undefined) assert.isBelow(explain!.filtered!, explain!.passages)
        assert.isAtLeast(explain!.depth, explain!.candidates.keyword === 0 ? hits.length : 200)
        for (const us of Object.values(explain!.stages_us)) assert.isAtLeast(us ?? 0, 0)
      }
    }
    const named = yield* search.run({ query: "windVane.turn", explain: true, alpha: 0 })
    assert.isAbove(named.hits[0]!.explain!.keyword!.name_bonus!, 0)
    const near = yield* search.run({ query: "harbuor", explain: true, alpha: 0 })
    assert.isTrue(near.hits[0]!.explain!.keyword!.terms.every((term) => term.near === true))
  })
)
