import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { make } from "../../src/Reranker/OpenAi.ts"
import { startRerank } from "../rerank.ts"

const at = (url: string, more: Partial<Parameters<typeof make>[0]> = {}) =>
  make({
    url,
    apiKey: Option.some(Redacted.make("sesame")),
    keyVariable: "CLEW_RERANK_API_KEY",
    top: 20,
    timeoutMs: 10_000,
    ...more
  }).pipe(Effect.provide(FetchHttpClient.layer))

const texts = ["bread", "the spring tide is high", "a tide"]

it.scopedLive("gives a score for each text in their order, by the documented protocol", () =>
  Effect.gen(function* () {
    const { asked, url } = yield* startRerank
    const { rerank } = yield* at(url, { model: "bge" })
    assert.deepStrictEqual(yield* rerank("spring tide", texts), [-3.5, -1.5, -2.5])
    assert.deepStrictEqual(asked, [
      { body: { model: "bge", query: "spring tide", documents: texts, top_n: 3 }, authorization: "Bearer sesame" }
    ])
    assert.deepStrictEqual(yield* rerank("spring tide", []), [])
    const { rerank: plain } = yield* at(`${url}/v1/`)
    yield* plain("tide", ["x"])
    assert.notProperty(asked.at(-1)!.body, "model")
    assert.lengthOf(asked, 2)
  })
)

it.scopedLive("says what is wrong with an answer", () =>
  Effect.gen(function* () {
    const { faults, url } = yield* startRerank
    const reason = Effect.gen(function* () {
      const { rerank } = yield* at(url)
      return (yield* Effect.flip(rerank("tide", texts))).reason
    })
    const one = { index: 0, relevance_score: 1 }
    for (const [body, message] of [
      ["<html>", /did not send a ranking; check rerank\.url/],
      ['{"error":"quota exceeded"}', /\/v1\/rerank answered: quota exceeded$/],
      ['{"results":[{"ind', /\/v1\/rerank stopped in the middle of the answer/],
      [JSON.stringify([one]), /did not send a ranking/],
      [JSON.stringify({ results: [{ index: 0, relevance_score: null }] }), /did not send a ranking/],
      [JSON.stringify({ results: [one] }), /did not rank each of the 3 passages once/],
      [JSON.stringify({ results: [one, one, one] }), /did not rank each/],
      [JSON.stringify({ results: [one, { ...one, index: 1 }, { ...one, index: 3 }] }), /did not rank each/]
    ] as const) {
      faults.body = body
      assert.match(yield* reason, message)
    }
    faults.body = undefined
    faults.status = { status: 401, body: '{"error":{"message":"no key"}}' }
    assert.match(yield* reason, /answered 401: no key; check CLEW_RERANK_API_KEY/)
    faults.status = undefined
    faults.silent = true
    const { rerank } = yield* at(url, { timeoutMs: 50 })
    assert.match((yield* Effect.flip(rerank("tide", texts))).reason, /no answer from .* within 50 ms/)
  })
)

it.scopedLive("leaves a server alone that has failed, for longer each time, and takes it up again", () =>
  Effect.gen(function* () {
    const { asked, faults, url } = yield* startRerank
    let now = 1_000_000
    const clock: Clock.Clock = Object.assign(Object.create(Clock.make()), {
      unsafeCurrentTimeMillis: () => now,
      currentTimeMillis: Effect.sync(() => now)
    })
    yield* Effect.gen(function* () {
      const { rerank } = yield* at(url)
      const failure = Effect.map(Effect.flip(rerank("tide", texts)), ({ reason }) => reason)
      faults.status = { status: 500, body: "broken" }
      assert.match(yield* failure, /answered 500: broken$/)
      assert.match(yield* failure, /answered 500: broken; the next retry is in 1 s/)
      assert.lengthOf(asked, 1)
      // Ten at once have failed once.
      const other = yield* at(url)
      yield* Effect.forEach(Array(10), () => Effect.flip(other.rerank("tide", texts)), { concurrency: "unbounded" })
      assert.match((yield* Effect.flip(other.rerank("tide", texts))).reason, /the next retry is in 1 s/)
      assert.lengthOf(asked.splice(1), 10)
      now += 1000
      assert.match(yield* failure, /broken$/)
      now += 1000
      assert.match(yield* failure, /the next retry is in 1 s/)
      assert.lengthOf(asked, 2)
      faults.status = { status: 429, body: "busy", retryAfter: "60" }
      now += 1000
      yield* failure
      now += 59_000
      assert.match(yield* failure, /the next retry is in 1 s/)
      assert.lengthOf(asked, 3)
      faults.status = undefined
      now += 1000
      assert.lengthOf(yield* rerank("tide", texts), 3)
      assert.lengthOf(yield* rerank("tide", texts), 3)
      assert.lengthOf(asked, 5)
    }).pipe(Effect.withClock(clock))
  })
)
