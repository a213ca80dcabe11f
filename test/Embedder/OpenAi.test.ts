import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as TestClock from "effect/TestClock"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { inspect } from "node:util"
import { Embedder } from "../../src/Embedder.ts"
import * as OpenAi from "../../src/Embedder/OpenAi.ts"
import { truncated } from "../../src/Embedder/remote.ts"
import { makeTurns } from "../../src/runtime/Turn.ts"
import { embedderContract } from "../contracts/Embedder.ts"
import { startOpenAi } from "../openAi.ts"
import { asleepFor, within } from "../time.ts"
import { collected } from "../spans.ts"

const make = (url: string, more: Partial<OpenAi.OpenAiOptions> = {}) =>
  Effect.flatMap(
    Effect.sync(() => makeTurns(4)),
    (turns) =>
      OpenAi.make({
        url,
        model: "embed",
        prefixes: { query: "q: ", passage: "" },
        batchSize: 8,
        turns,
        timeoutMs: 60_000,
        keyVariable: "TEST_API_KEY",
        apiKey: Option.some(Redacted.make("secret")),
        ...more
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
    faults.refuse = { status: 400, body: '{"error":{"message":"no such model"}}' }
    const { reason } = yield* Effect.flip(embedPassages(["a"]))
    assert.include(reason, "400: no such model")
    // The second request is of a text that any model takes.
    assert.strictEqual(asked.length, 6)
    faults.refuse = { status: 401, body: "" }
    assert.include((yield* Effect.flip(embedPassages(["a"]))).reason, "check TEST_API_KEY in the environment")
    faults.refuse = undefined
    for (const body of ["<html>", "{}", '{"data":[{"index":0,"embedding":["1"]}]}']) {
      faults.page = { type: "text/html", body }
      const { reason } = yield* Effect.flip(embedPassages(["a"]))
      assert.include(
        reason,
        `${url}/v1/embeddings sent something that is not a list of embeddings; check embedding.url`
      )
    }
  })
)

it.scopedLive("a text that is too long, or refused, costs itself and is named; the others have their vectors", () =>
  Effect.gen(function* () {
    const { asked, faults, url } = yield* startOpenAi()
    const { embedPassages, identity } = yield* make(url)
    yield* identity
    const texts = Array.from({ length: 8 }, (_, n) => `text ${n}`)
    texts[2] = "word ".repeat(100).trim()
    texts[5] = "a forbidden text"
    faults.mostWords = 40
    faults.refusesText = "forbidden"
    const told: Array<readonly [number, string]> = []
    const before = (yield* Metric.value(truncated)).count
    const vectors = yield* embedPassages(texts, (at, what) => Effect.sync(() => void told.push([at, what])))
    assert.deepStrictEqual(vectors.map(Option.isSome), [true, true, true, true, true, false, true, true])
    assert.deepStrictEqual(
      told.toSorted(([a], [b]) => a - b).map(([at, what]) => [at, what.split(":")[0]]),
      [
        [2, "too long for embed"],
        [5, "embed refuses it, so only keyword search finds it"]
      ]
    )
    assert.strictEqual((yield* Metric.value(truncated)).count - before, 1)
    const sent = asked.flatMap(({ body }) => body.input.filter((text: string) => text.startsWith("word")))
    assert.isBelow(sent.at(-1)!.split(" ").length, 41)
    faults.mostWords = undefined
    faults.refusesText = undefined
    assert.deepStrictEqual((yield* embedPassages(["text 7"]))[0], vectors[7])
  })
)

/** Eight texts, of which the one at place 5 is bad. */
const oneBad = Array.from({ length: 8 }, (_, n) => (n === 5 ? "a bad text" : `text ${n}`))

/** Who has a vector, and what was told of whom. */
const embedOneBad = ({ embedPassages }: typeof Embedder.Service) =>
  Effect.gen(function* () {
    const told: Array<readonly [number, string]> = []
    const vectors = yield* embedPassages(oneBad, (at, what) => Effect.sync(() => void told.push([at, what])))
    assert.deepStrictEqual(
      vectors.map(Option.isSome),
      oneBad.map((_, n) => n !== 5)
    )
    assert.deepStrictEqual(
      told.map(([at]) => at),
      [5]
    )
    return told[0]![1]
  })

it.scopedLive("a text whose vector is missing, not of numbers, or zero, costs only itself", () =>
  Effect.gen(function* () {
    const { asked, faults, url } = yield* startOpenAi()
    const embedder = yield* make(url)
    yield* embedder.identity
    for (const [value, reason] of [
      ["null", "missing, or not of finite numbers"],
      ["[null,1]", "missing, or not of finite numbers"],
      ["[NaN,-Infinity]", "missing, or not of finite numbers"],
      ["[1e999,1]", "missing, or not of finite numbers"],
      ["[1e300,1]", "missing, or not of finite numbers"],
      ["[0,0]", "zero"],
      ["[1e-300,1e-300]", "zero"]
    ] as const) {
      faults.vectorOf = { text: "bad", json: value }
      const { length } = asked
      assert.include(yield* embedOneBad(embedder), `only keyword search finds it: its vector is ${reason}`)
      assert.isAtMost(asked.length - length, 3, value)
      for (const spoils of [2, 100]) {
        faults.vectorOf = { text: "bad", json: value, spoils }
        assert.include(yield* embedOneBad(embedder), `its vector is ${reason}`)
      }
      // Alone, it is to blame only if another text has a vector.
      assert.deepStrictEqual(yield* embedder.embedPassages(["a bad text"]), [Option.none()])
      if (reason === "zero") assert.isTrue(Option.isNone(yield* embedder.embedQuery("bad")))
      else assert.deepInclude(yield* Effect.flip(embedder.embedQuery("bad")), { refused: true })
      faults.vectorOf = { text: "", json: value }
      const failure = yield* Effect.flip(embedder.embedPassages(oneBad))
      assert.include(failure.reason, `whatever the text, its vector is ${reason}`)
      assert.include((yield* Effect.flip((yield* make(url)).identity)).reason, `its vector is ${reason}`)
    }
  })
)

it.scoped("a text at which the server fails costs only itself, but not while the server fails at all", () =>
  Effect.gen(function* () {
    const { asked, faults, url } = yield* startOpenAi()
    const embedder = yield* make(url, { timeoutMs: 1_000_000 })
    yield* embedder.identity
    faults.failsText = "bad"
    assert.include(yield* within(60_000)(embedOneBad(embedder)), "500: failed to encode response")
    const { length } = asked
    faults.refuse = { status: 500, body: "it broke" }
    assert.include((yield* within(60_000)(Effect.flip(embedder.embedPassages(oneBad)))).reason, "it broke")
    // The batch and a text that any model takes, each with its retries.
    assert.strictEqual(asked.length - length, 8)
    // Nor while it answers nothing but the shortest.
    faults.refuse = undefined
    faults.failsText = "text"
    const many = Array.from({ length: 40 }, (_, n) => `text ${n}`)
    const failing = within(600_000)(Effect.flip(embedder.embedPassages(many)))
    assert.include((yield* failing).reason, "500: failed to encode response")
    // One that is back only after the retries loses no text.
    faults.failsText = undefined
    faults.refuse = { status: 502, body: "starting", times: 4 }
    assert.isTrue(Option.isSome((yield* within(60_000)(embedder.embedPassages(["a"])))[0]!))
  })
)

it.scopedLive("gives the server's own words for a failure with status 200", () =>
  Effect.gen(function* () {
    const { faults, url } = yield* startOpenAi()
    const { identity } = yield* make(url)
    for (const error of [{ message: "quota exceeded" }, "quota exceeded"]) {
      faults.page = { type: "application/json", body: JSON.stringify({ error }) }
      assert.include((yield* Effect.flip(identity)).reason, `${url}/v1/embeddings answered: quota exceeded`)
    }
  })
)

it.scopedLive("follows no redirect, which would have its texts and keys, and says where it leads", () =>
  Effect.gen(function* () {
    const { faults, url } = yield* startOpenAi()
    const other = yield* startOpenAi()
    const { identity } = yield* make(url, { headers: { "api-key": "secret" } })
    for (const status of [301, 302, 303, 307, 308]) {
      faults.redirect = { status, location: `${other.url}/v1/embeddings?token=x` }
      const { reason } = yield* Effect.flip(identity)
      assert.include(
        reason,
        `${url}/v1/embeddings answered ${status}: a redirect to ${other.url}/v1/embeddings, which is not followed; set the url to ${other.url}/v1`
      )
      assert.notInclude(reason, "token")
    }
    faults.redirect = { status: 302, location: "/login" }
    assert.include(
      (yield* Effect.flip(identity)).reason,
      `a redirect to ${url}/login, which is not followed; check the url`
    )
    assert.deepStrictEqual(other.asked, [])
  })
)

it.scopedLive("tells nobody the query of the address, which may have a signature", () =>
  Effect.gen(function* () {
    const { asked, faults, url } = yield* startOpenAi()
    const signed = `${url}/v1?sig=ab/cd-of-24-characters`
    const { spans, tracer } = yield* collected
    const { embedQuery, identity } = yield* make(signed)
    const use = Effect.withTracer(Effect.zipRight(identity, Effect.flip(embedQuery("moon"))), tracer)
    const reasons: Array<string> = []
    yield* identity
    assert.strictEqual(asked.at(-1)?.path, "/v1/embeddings?sig=ab/cd-of-24-characters")
    for (const [status, body] of [
      [403, "no such address: /v1/embeddings?sig=ab/cd-of-24-characters"],
      [200, "<html>"]
    ] as const) {
      if (status === 200) Object.assign(faults, { refuse: undefined, page: { type: "text/html", body } })
      else faults.refuse = { status, body }
      reasons.push((yield* use).reason)
    }
    const { embedQuery: lost } = yield* make("http://127.0.0.1:1/v1?sig=ab/cd-of-24-characters")
    reasons.push((yield* Effect.flip(lost("moon"))).reason)
    assert.include(reasons[0], `${url}/v1/embeddings answered 403: no such address: /v1/embeddings…`)
    assert.isAbove(spans.length, 0)
    const told = spans.map(({ attributes, status }) => [
      ...attributes,
      status._tag === "Ended" && Exit.isFailure(status.exit) && Cause.pretty(status.exit.cause)
    ])
    assert.notInclude(inspect([reasons, told], { depth: 9 }), "ab/cd")
  })
)

it.scopedLive("tries again after an answer that was cut, and says that it was", () =>
  Effect.gen(function* () {
    const { asked, faults, url } = yield* startOpenAi()
    const { embedPassages, embedQuery, identity } = yield* make(url)
    yield* identity
    faults.cutVectors = 3
    assert.isTrue(Option.isSome((yield* embedPassages(["a"]))[0]!))
    assert.strictEqual(asked.length, 5)
    const whole = '{"data":[{"index":0,"embedding":[-1.5,2]}]}'
    for (const length of [1, 8, 12, 20, 34, 36, 41, 42]) {
      faults.page = { type: "application/json", body: whole.slice(0, length) }
      assert.include(
        (yield* Effect.flip(embedQuery("a"))).reason,
        `${url}/v1/embeddings stopped in the middle of the answer`
      )
    }
    assert.strictEqual(asked.length, 5 + 2 * 8)
  })
)

it.scopedLive("sends fewer texts at once to a server that does not answer many in time", () =>
  Effect.gen(function* () {
    const { asked, faults, url } = yield* startOpenAi()
    const { embedPassages, identity } = yield* make(url, { timeoutMs: 500, batchSize: 32 })
    yield* identity
    faults.mostTexts = 4
    const texts = Array.from({ length: 64 }, (_, n) => `text ${n}`)
    const vectors = yield* embedPassages(texts)
    assert.isTrue(vectors.every(Option.isSome))
    const sizes = asked.slice(1).map(({ body }) => body.input.length)
    // Those that were under way before the first was given up, and then one of each size that is tried once more.
    assert.isAtMost(sizes.filter((size) => size > 4).length, 4)
    const { length } = asked
    yield* embedPassages(texts)
    assert.isAtMost(Math.max(...asked.slice(length).map(({ body }) => body.input.length)), 4)
    // One that answers nothing at all is given up.
    faults.silent = true
    assert.include((yield* Effect.flip(embedPassages(texts.slice(0, 8)))).reason, "no answer within 500 ms")
  })
)

it.scoped("leaves a server alone for as long as it asks", () =>
  Effect.gen(function* () {
    const { asked, faults, url } = yield* startOpenAi()
    const { embedPassages, embedQuery, identity } = yield* make(url, { batchSize: 1, queryTimeoutMs: 400 })
    yield* identity
    faults.refuse = { status: 429, body: '{"error":{"message":"Rate limit"}}', times: 1 }
    faults.retryAfter = "2"
    const work = yield* Effect.fork(embedPassages(["a", "b", "c", "d", "e", "f"]))
    yield* asleepFor(2000)
    const { length } = asked
    // Who cannot wait is told at once.
    assert.include((yield* Effect.flip(embedQuery("tides"))).reason, "asks for a pause of 2 s")
    assert.strictEqual(asked.length, length)
    yield* TestClock.adjust("2 seconds")
    assert.isTrue((yield* Fiber.join(work)).every(Option.isSome))
  })
)

it.scopedLive("asks for a width where the model takes one, and says so where it does not hold", () =>
  Effect.gen(function* () {
    const { asked, faults, url } = yield* startOpenAi()
    const narrow = yield* make(url, { dimensions: 8 })
    assert.strictEqual((yield* narrow.identity).dimensions, 8)
    assert.strictEqual(asked.at(-1)!.body.dimensions, 8)
    // Of a model that does not narrow its vectors, its own width alone holds.
    faults.refusesFields = { dimensions: "Model does not support matryoshka representation" }
    assert.strictEqual((yield* (yield* make(url, { dimensions: 16 })).identity).dimensions, 16)
    const { reason } = yield* Effect.flip((yield* make(url, { dimensions: 8 })).identity)
    assert.include(reason, "embedding.dimensions is 8, but the model gives 16 and cannot reduce them: set 16")
  })
)
