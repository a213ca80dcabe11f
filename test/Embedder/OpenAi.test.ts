import { assert, it } from "@effect/vitest"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Embedder } from "../../src/Embedder.ts"
import * as OpenAi from "../../src/Embedder/OpenAi.ts"
import { makeTurns } from "../../src/runtime/Turn.ts"
import { embedderContract } from "../contracts/Embedder.ts"
import { startOpenAi } from "../openAi.ts"

const make = (url: string) =>
  Effect.flatMap(
    Effect.sync(() => makeTurns(4)),
    (turns) =>
      OpenAi.make({
        url,
        model: "embed",
        prefixes: { query: "q: ", passage: "" },
        batchSize: 8,
        turns,
        timeoutMs: 5000,
        keyVariable: "TEST_API_KEY",
        apiKey: Option.some(Redacted.make("secret"))
      })
  ).pipe(Effect.provide(FetchHttpClient.layer))

embedderContract(
  "OpenAI-compatible",
  Layer.scoped(
    Embedder,
    Effect.flatMap(startOpenAi(), ({ url }) => make(url))
  )
)

it.scopedLive("sends the key, the model and the prefix, and puts answers in order by their index", () =>
  Effect.gen(function* () {
    const { asked, url } = yield* startOpenAi()
    const { embedPassages, embedQuery, identity } = yield* make(url)
    assert.deepInclude(yield* identity, { backend: "openai", model: "embed", dimensions: 16, queryPrefix: "q: " })
    yield* embedQuery("tides")
    assert.strictEqual(asked.at(-1)!.authorization, "Bearer secret")
    assert.deepInclude(asked.at(-1)!.body, { model: "embed", input: ["q: tides"], encoding_format: "float" })
    const [moon] = yield* embedPassages(["moon"])
    const both = yield* embedPassages(["sun and stars", "moon"])
    assert.deepStrictEqual(both[1], moon)
  })
)

it.scopedLive("tries again what may succeed later, and gives the server's own words", () =>
  Effect.gen(function* () {
    const { asked, faults, url } = yield* startOpenAi()
    const { embedPassages, identity } = yield* make(url)
    yield* identity
    faults.refuse = { status: 503, body: '{"error":{"message":"Loading model"}}', times: 2 }
    assert.isTrue(Option.isSome((yield* embedPassages(["a"]))[0]!))
    assert.strictEqual(asked.length, 4)
    faults.refuse = { status: 400, body: '{"error":{"message":"input is too large"}}' }
    const { reason } = yield* Effect.flip(embedPassages(["a"]))
    assert.include(reason, "400: input is too large")
    assert.strictEqual(asked.length, 5)
    faults.refuse = { status: 401, body: "" }
    assert.include((yield* Effect.flip(embedPassages(["a"]))).reason, "check TEST_API_KEY in the environment")
    faults.refuse = undefined
    for (const body of ["<html>", "{}", '{"data":[{"index":0,"embedding":[null]}]}']) {
      faults.page = { type: "text/html", body }
      const { reason } = yield* Effect.flip(embedPassages(["a"]))
      assert.include(reason, `${url}/v1/embeddings sent what is no list of embeddings; check embedding.url`)
    }
  })
)
