import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { QueryReport } from "../../../src/cli/query.ts"
import { startRerank } from "../../rerank.ts"
import { library } from "./files.ts"
import { Sandbox } from "./sandbox.ts"

it.scopedLive("clew query has its best passages read again, and goes on without where nobody answers", () =>
  Effect.gen(function* () {
    const { asked, faults, url } = yield* startRerank
    const box = yield* Effect.acquireRelease(
      Effect.sync(() => new Sandbox(library)),
      (box) => Effect.sync(() => box.remove())
    )
    const env = { CLEW_RERANK_BACKEND: "openai", CLEW_RERANK_URL: url, CLEW_RERANK_TOP: "3" }
    const query = (args: ReadonlyArray<string>, given: Readonly<Record<string, string>> = env) =>
      Effect.promise(() => box.json(QueryReport, ["query", ...args], { env: given }))
    assert.strictEqual((yield* Effect.promise(() => box.run(["index", "docs"], { env }))).code, 0)
    assert.isEmpty(asked)

    const before = yield* query(["crust of the glacier"], {})
    assert.isEmpty(asked)
    const { degraded, explain, results } = yield* query(["crust of the glacier", "--explain"])
    assert.isUndefined(degraded)
    assert.lengthOf(asked, 1)
    assert.lengthOf(asked[0]!.body.documents, 3)
    assert.strictEqual(asked[0]!.body.query, "crust of the glacier")
    assert.sameMembers(
      results.map(({ text }) => text),
      before.results.map(({ text }) => text)
    )
    const scores = results.map(({ score }) => score)
    assert.deepStrictEqual(
      scores,
      scores.toSorted((a, b) => b - a)
    )
    assert.isNumber(explain?.stages_us.rerank)
    for (const { explain: how, score } of results.slice(0, 3)) {
      const { rank, score: own } = how!.rerank!
      assert.strictEqual(before.results[rank - 1]?.score, own)
      assert.strictEqual(score % 1, -0.5)
    }
    assert.notProperty(results[3]!.explain!, "rerank")

    // The graph is asked for by name: it has the last word.
    yield* query(["crust of the glacier", "--graph", "true"])
    assert.lengthOf(asked, 1)

    const doctor = () => Effect.promise(() => box.run(["doctor"], { env }))
    assert.match((yield* doctor()).stdout, /^ok +reranker: http:.* ranks passages$/m)
    faults.status = { status: 503, body: "loading" }
    const ill = yield* doctor()
    assert.match(ill.stdout, /^fail reranker: .*answered 503: loading/m)
    assert.strictEqual(ill.code, 1)
    assert.notInclude((yield* Effect.promise(() => box.run(["doctor"]))).stdout, "reranker")
    const without = yield* query(["crust of the glacier"])
    assert.match(without.degraded ?? "", /^reranker unavailable: .*answered 503: loading/)
    assert.deepStrictEqual(without.results, before.results)
    const told = yield* Effect.promise(() => box.run(["query", "tide", "--no-hybrid"], { env }))
    assert.match(told.stderr, /^clew: reranker unavailable/m)
  })
)
