import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, it } from "@effect/vitest"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { make } from "../../src/Reranker/Onnx.ts"
import { reranked } from "../../src/Search/reranked.ts"
import type { Hit } from "../../src/model/SearchResult.ts"
import { withRuntime, writeTiny } from "../onnx/tiny.ts"

/** By token: north counts 8 and east 4; all others, the query's among them, nothing. */
const rows = [[0], [8], [4], [0], [0], [0], [0]]

const opened = Effect.fnUntraced(function* ({
  budgetMs = 10_000,
  ...tiny
}: Parameters<typeof writeTiny>[0] & { readonly budgetMs?: number } = {}) {
  yield* withRuntime
  const folder = yield* writeTiny({ rows, logits: true, ...tiny })
  return { folder, ...(yield* make({ folder, threads: 1, top: 20, budgetMs })) }
}, Effect.provide(NodeFileSystem.layer))

it.scopedLive("scores each text with the query, in their order", () =>
  Effect.gen(function* () {
    const { rerank } = yield* opened()
    // The mean over [CLS] south [SEP] text [SEP].
    const [a, b, c] = yield* rerank("south", ["east", "north", "south south"])
    assert.closeTo(a!, 4 / 5, 1e-6)
    assert.closeTo(b!, 8 / 5, 1e-6)
    assert.strictEqual(c, 0)
    assert.deepStrictEqual(yield* rerank("south", []), [])
  })
)

it.scopedLive("cuts a text that does not fit beside the query at its end", () =>
  Effect.gen(function* () {
    const { rerank } = yield* opened({ window: 6 })
    const [cut, fitting] = yield* rerank("south", [`north east ${"south ".repeat(50)}`, "north east"])
    assert.strictEqual(cut, fitting)
  })
)

it.scopedLive("takes the second logit of two, less the first", () =>
  Effect.gen(function* () {
    const { rerank } = yield* opened({ rows: rows.map(([value]) => [1, value!]) })
    assert.closeTo((yield* rerank("south", ["north"]))[0]!, 8 / 5 - 1, 1e-6)
  })
)

/** A clock by which each look at it takes 100 ms. */
const slow = Effect.map(Effect.clock, (clock): Clock.Clock => {
  let now = 0
  return Object.create(clock, { currentTimeMillis: { value: Effect.sync(() => (now += 100)) } }) as Clock.Clock
})

it.scopedLive("reads as many of the best as its budget allows, and the answer says how many", () =>
  Effect.gen(function* () {
    const reranker = yield* opened({ budgetMs: 250 })
    yield* reranker.rerank("south", ["north"])
    const texts = ["south", "east", "north", "north north"]
    const hits = texts.map(
      (text, at) => ({ score: 10 - at, document: {}, passage: { text, heading: [] } }) as unknown as Hit
    )
    const found = yield* Effect.withClock(reranked(reranker, "south", hits), yield* slow)
    assert.deepStrictEqual(
      found.hits.map(({ passage }) => passage.text),
      ["north", "east", "south", "north north"]
    )
    assert.strictEqual(found.hits.at(-1)!.score, 0)
    assert.strictEqual(found.missing, "reranker read the best 3 of 4 passages within 250 ms (rerank.budget_ms)")
    const least = yield* Effect.withClock(reranked({ ...(yield* opened({ budgetMs: 1 })) }, "south", hits), yield* slow)
    assert.match(least.missing!, /read the best 1 of 4/)
    assert.isUndefined((yield* reranked(yield* opened(), "south", hits)).missing)
  })
)

it.scopedLive("refuses a model that embeds, and searches go on without it", () =>
  Effect.gen(function* () {
    const { folder, rerank } = yield* opened({ rows: rows.map(([value]) => [value!, 0, 0]), logits: false })
    const { reason } = yield* Effect.flip(rerank("south", ["north"]))
    assert.match(reason.replaceAll(folder, "M"), /^M\/onnx\/model.onnx gives a tensor of .*: it does not score a query/)
    const { missing } = yield* reranked({ name: "onnx", top: 20, rerank }, "south", [])
    assert.match(missing ?? "", /^reranker unavailable: /)
  })
)
