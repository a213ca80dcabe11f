import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import { Embedder } from "../../src/Embedder.ts"
import { prefixesOf } from "../../src/Embedder/prefixes.ts"
import * as Ollama from "../../src/Embedder/Ollama.ts"
import { truncated } from "../../src/Embedder/remote.ts"
import { makeTurns } from "../../src/runtime/Turn.ts"
import { embedderContract } from "../contracts/Embedder.ts"
import { eventually, startOllama } from "../ollama.ts"
import { within } from "../time.ts"

const make = (url: string, more: Partial<Ollama.OllamaOptions> & { readonly concurrency?: number } = {}) =>
  Effect.flatMap(
    Effect.sync(() => makeTurns(more.concurrency ?? 4)),
    (turns) =>
      Ollama.make({
        url,
        model: "all-minilm",
        prefixes: { query: "", passage: "" },
        batchSize: 8,
        turns,
        timeoutMs: 60_000,
        ...more
      })
  )

embedderContract(
  "Ollama",
  Layer.scoped(
    Embedder,
    Effect.flatMap(startOllama(), ({ url }) => make(url))
  )
)

const reasonOf = <A>(effect: Effect.Effect<A, { readonly reason: string }>) =>
  Effect.map(Effect.flip(effect), ({ reason }) => reason)

it.scopedLive("sends batches, never more at once than it may, whoever calls", () =>
  Effect.gen(function* () {
    const { asked, faults, state, url } = yield* startOllama()
    const { embedPassages, embedQuery, identity } = yield* make(url, { concurrency: 16, batchSize: 3 })
    assert.strictEqual((yield* identity).dimensions, 32)
    const texts = Array.from({ length: 100 }, (_, n) => `text ${n}`)
    let release = () => {}
    faults.until = new Promise((resolve) => (release = resolve))
    const work = yield* Effect.fork(Effect.all([embedPassages(texts), embedPassages(texts)], { concurrency: 2 }))
    yield* eventually("passages take all places but one", () => state.inFlight === 15)
    const queries = yield* Effect.fork(Effect.forEach(["a", "b"], embedQuery, { concurrency: 2 }))
    yield* eventually("a query takes the last", () => state.inFlight === 16)
    release()
    yield* Fiber.join(work)
    yield* Fiber.join(queries)
    assert.strictEqual(state.mostInFlight, 16)
    assert.strictEqual(Math.max(...asked.map(({ body }) => body.input.length)), 3)
    assert.strictEqual(asked.length, 1 + 2 * 34 + 2)
  })
)

it.scopedLive("puts the prefixes before queries and passages", () =>
  Effect.gen(function* () {
    const { asked, url } = yield* startOllama()
    const prefixes = prefixesOf("nomic-embed-text:v1.5", {})
    const { embedPassages, embedQuery, identity } = yield* make(url, { prefixes, dimensions: 8 })
    assert.deepInclude(yield* identity, {
      backend: "ollama",
      model: "all-minilm",
      dimensions: 8,
      queryPrefix: "search_query: ",
      passagePrefix: "search_document: "
    })
    yield* embedQuery("tides")
    yield* embedPassages(["the moon"])
    assert.deepStrictEqual(asked.at(-2)!.body.input, ["search_query: tides"])
    assert.deepStrictEqual(asked.at(-1)!.body.input, ["search_document: the moon"])
    assert.strictEqual(asked.at(-1)!.body.dimensions, 8)
  })
)

it("knows the prefixes of the models' cards, and that a setting wins", () => {
  assert.deepStrictEqual(prefixesOf("all-minilm", {}), { query: "", passage: "" })
  assert.strictEqual(prefixesOf("mxbai-embed-large", {}).passage, "")
  assert.include(prefixesOf("mxbai-embed-large", {}).query, "Represent this sentence")
  assert.strictEqual(prefixesOf("intfloat/e5-base-v2", {}).passage, "passage: ")
  assert.strictEqual(prefixesOf("snowflake-arctic-embed2", {}).query, "query: ")
  assert.deepStrictEqual(prefixesOf("nomic-embed-text", { queryPrefix: "" }), {
    query: "",
    passage: "search_document: "
  })
})

it.scopedLive("tries again what may succeed later, and only that", () =>
  Effect.gen(function* () {
    const { asked, faults, url } = yield* startOllama()
    const { embedPassages, identity } = yield* make(url)
    yield* identity
    const attempts = (fault: typeof faults.refuse) =>
      Effect.gen(function* () {
        const { length } = asked
        faults.refuse = fault
        const exit = yield* Effect.exit(embedPassages(["a"]))
        return [exit._tag, asked.length - length] as const
      })
    assert.deepStrictEqual(yield* attempts({ status: 503, error: "server busy", times: 2 }), ["Success", 3])
    assert.deepStrictEqual(yield* attempts({ status: 429, error: "too many", times: 1 }), ["Success", 2])
    assert.deepStrictEqual(yield* attempts({ status: 400, error: "invalid input type" }), ["Failure", 2])
    assert.deepStrictEqual(yield* attempts({ status: 404, error: "model not found" }), ["Failure", 1])
    assert.deepStrictEqual(yield* attempts({ status: 500, error: "this model does not support embeddings" }), [
      "Failure",
      1
    ])
    // As often again of a text that any model takes.
    assert.deepStrictEqual(yield* attempts({ status: 500, error: "it broke" }), ["Failure", 8])
  })
)

it.scoped("waits for a server that loads its model where passages are to be stored, and not long for a question", () =>
  Effect.gen(function* () {
    const { faults, url } = yield* startOllama()
    const { embedPassages, embedQuery, identity, patient } = yield* make(url, { timeoutMs: 1e9 })
    const waited = <A, E>(effect: Effect.Effect<A, E>) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(Effect.exit(effect))
        while ((yield* Fiber.poll(fiber))._tag === "None") {
          // Only pauses pass, and none once it is taken, so that nothing after that seems to take long.
          const next = Math.min(...(yield* TestClock.sleeps()))
          if (faults.refuse!.times! >= 0 && next < 1e9) yield* TestClock.setTime(next)
          yield* Effect.promise(() => new Promise((done) => setTimeout(done, 5)))
        }
        return (yield* Fiber.join(fiber))._tag
      })
    faults.refuse = { status: 503, error: "Loading model", times: 5 }
    assert.strictEqual(yield* waited(identity), "Failure")
    assert.strictEqual(yield* waited(embedQuery("tides")), "Failure")
    faults.refuse = { status: 503, error: "Loading model", times: 5 }
    assert.strictEqual(yield* waited(embedPassages(["the moon"])), "Success")
    assert.strictEqual((yield* patient!).dimensions, 32)
  })
)

it.scopedLive("cuts what is too long for the model, only that, and counts it", () =>
  Effect.gen(function* () {
    const { asked, url } = yield* startOllama()
    const { embedPassages, identity } = yield* make(url)
    yield* identity
    const before = (yield* Metric.value(truncated)).count
    const long = "word ".repeat(100).trim()
    const vectors = yield* embedPassages(["short one", long, "another"])
    assert.isTrue(vectors.every(Option.isSome))
    assert.strictEqual((yield* Metric.value(truncated)).count - before, 1)
    assert.deepStrictEqual(
      asked.filter(({ body }) => body.truncate).map(({ body }) => body.input),
      [[long]]
    )
  })
)

it.scoped("a query does not wait long for an Ollama that is gone, and finds it again when it is back", () =>
  Effect.gen(function* () {
    const ollama = yield* startOllama()
    yield* ollama.stop
    const { embedQuery } = yield* make(ollama.url)
    const reasons = yield* Effect.all(
      Array.from({ length: 20 }, () => reasonOf(embedQuery("tides"))),
      { concurrency: "unbounded" }
    ).pipe(within(1500))
    for (const reason of reasons) assert.include(reason, "`ollama serve`")
    yield* ollama.start
    assert.isTrue(Option.isSome(yield* within(1500)(embedQuery("tides"))))
    yield* ollama.stop
    assert.include(yield* within(1500)(reasonOf(embedQuery("tides"))), "`ollama serve`")
    yield* ollama.start
    assert.isTrue(Option.isSome(yield* within(1500)(embedQuery("tides"))))
  })
)

it.scoped("says so when there is no answer in time, and when another model answers under the name", () =>
  Effect.gen(function* () {
    const { faults, state, url } = yield* startOllama()
    const { embedQuery } = yield* make(url, { timeoutMs: 200 })
    yield* embedQuery("tides")
    faults.dimensions = 7
    assert.include(yield* reasonOf(embedQuery("tides")), "7 dimensions, but 32 before")
    faults.silent = true
    const unanswered = yield* Effect.fork(reasonOf(embedQuery("tides")))
    yield* eventually("it was asked", () => state.inFlight === 1)
    yield* TestClock.adjust("200 millis")
    assert.include(yield* Fiber.join(unanswered), "within 200 ms")
    yield* eventually("the connection is closed", () => state.closed === 1)
    const missing = yield* make(url, { model: "absent" })
    faults.silent = false
    assert.include(yield* reasonOf(missing.embedQuery("tides")), "`ollama pull absent`")
  })
)

it.scopedLive("a query waits less long than passages, and leaves one request behind for the model to load by", () =>
  Effect.gen(function* () {
    const { faults, state, url } = yield* startOllama()
    const { embedPassages, embedQuery, identity } = yield* make(url, { timeoutMs: 60_000, queryTimeoutMs: 150 })
    yield* identity
    faults.slowMs = 600
    assert.isTrue(Option.isSome((yield* embedPassages(["the moon"]))[0]!))
    for (let at = 0; at < 3; at++) {
      assert.include(yield* reasonOf(embedQuery("tides")), "no answer to a query within 150 ms")
      if (at === 0) faults.silent = true
    }
    yield* eventually("the later ones are gone", () => state.closed === 2)
    yield* eventually("the first one is answered", () => state.inFlight === 0)
    faults.silent = false
    delete faults.slowMs
    assert.isTrue(Option.isSome(yield* embedQuery("tides")))
    // One who goes away takes the request along.
    faults.silent = true
    const fiber = yield* Effect.fork(embedQuery("tides"))
    yield* eventually("it was asked", () => state.inFlight === 1)
    yield* Fiber.interrupt(fiber)
    yield* eventually("the connection is closed", () => state.closed === 3)
  })
)

it.scopedLive("takes no answer that is none for vectors, and asks for it once", () =>
  Effect.gen(function* () {
    const { asked, faults, url } = yield* startOllama()
    for (const says of [
      "{}",
      '{"embeddings":"x"}',
      '{"embeddings":[[]]}',
      '{"embeddings":[["1"]]}',
      "[1]",
      "null",
      "<html>"
    ]) {
      const reason =
        says === "<html>"
          ? "something that is not JSON"
          : `something that is not a list of embeddings: ${says.slice(0, 13)}`
      const { embedPassages, embedQuery, identity } = yield* make(url)
      faults.says = says
      const { length } = asked
      assert.include(yield* reasonOf(identity), reason)
      assert.strictEqual(asked.length - length, 1, says)
      faults.says = undefined
      yield* identity
      faults.says = says
      assert.include(yield* reasonOf(embedQuery("tides")), reason)
      assert.include(yield* reasonOf(embedPassages(["a", "b"])), reason)
      faults.says = undefined
    }
  })
)

it.scoped("a text without a vector, or at which Ollama fails, costs only itself", () =>
  Effect.gen(function* () {
    const { faults, url } = yield* startOllama()
    const { embedPassages, identity } = yield* make(url, { timeoutMs: 1_000_000 })
    yield* identity
    const told: Array<readonly [number, string]> = []
    const embed = (texts: ReadonlyArray<string>) =>
      embedPassages(texts, (at, what) => Effect.sync(() => void told.push([at, what]))).pipe(
        within(60_000),
        Effect.map((vectors) => vectors.map(Option.isSome))
      )
    faults.failsText = "b"
    assert.deepStrictEqual(yield* embed(["a", "b", "c"]), [true, false, true])
    faults.vectors = { a: "null", b: "[1e999]" }
    assert.deepStrictEqual(yield* embed(["a", "b", "c"]), [false, false, true])
    assert.deepStrictEqual(
      told.map(([at]) => at),
      [1, 0, 1]
    )
    assert.include(told[0]![1], "500: failed to encode response")
    assert.include(told[1]![1], "its vector is missing, or not of finite numbers")
  })
)

it.scopedLive("follows no redirect, which would have its texts and headers, and says where it leads", () =>
  Effect.gen(function* () {
    const { faults, url } = yield* startOllama()
    const other = yield* startOllama()
    faults.redirect = other.url
    assert.include(
      yield* reasonOf((yield* make(url)).identity),
      `Ollama answered 307: a redirect to ${other.url}/api/embed, which is not followed; set the url to ${other.url}`
    )
    assert.deepStrictEqual(other.asked, [])
  })
)

it.scopedLive("tries again after an answer that was cut, and says that it was", () =>
  Effect.gen(function* () {
    const { asked, faults, url } = yield* startOllama()
    const { embedQuery, identity } = yield* make(url)
    yield* identity
    faults.says = '{"embeddings":[[1,2'
    assert.include(yield* reasonOf(embedQuery("a")), `Ollama at ${url} stopped in the middle of the answer`)
    assert.strictEqual(asked.length, 3)
  })
)

it.scopedLive("a caller that goes away takes its request along, but not the answer others wait for", () =>
  Effect.gen(function* () {
    const { faults, state, url } = yield* startOllama()
    faults.slowMs = 300
    const { embedPassages, identity } = yield* make(url)
    const first = yield* Effect.fork(identity)
    yield* eventually("it was asked", () => state.inFlight === 1)
    const second = yield* Effect.fork(identity)
    yield* Effect.yieldNow()
    yield* Fiber.interrupt(first)
    assert.strictEqual((yield* Fiber.join(second)).dimensions, 32)
    faults.slowMs = 60_000
    const work = yield* Effect.fork(embedPassages(["a"]))
    yield* eventually("it was asked", () => state.inFlight === 1)
    yield* Fiber.interrupt(work)
    yield* eventually("the connection is closed", () => state.closed === 1)
  })
)

it.scopedLive("sends how long the model stays, the headers, and the width, which has to hold", () =>
  Effect.gen(function* () {
    const { asked, faults, url } = yield* startOllama()
    const { identity } = yield* make(url, { keepAlive: "30m", headers: { "X-Team": "sea" }, dimensions: 16 })
    assert.strictEqual((yield* identity).dimensions, 16)
    const { body, headers } = asked.at(-1)!
    assert.deepInclude(body, { keep_alive: "30m", dimensions: 16 })
    assert.strictEqual(headers["x-team"], "sea")
    // As an Ollama that does not know the field.
    faults.dimensions = 32
    const other = yield* make(url, { dimensions: 16 })
    assert.include(yield* reasonOf(other.identity), "embedding.dimensions is 16, but the model gives 32")
  })
)

it.scopedLive("does not take a server that tells no digest for one that failed to tell it", () =>
  Effect.gen(function* () {
    const { faults, state, url } = yield* startOllama()
    faults.listStatus = 500
    assert.include(yield* reasonOf((yield* make(url)).identity), "500")
    faults.listStatus = 404
    assert.notProperty(yield* (yield* make(url)).identity, "digest")
    faults.listStatus = undefined
    const known = yield* make(url)
    assert.strictEqual((yield* known.identity).digest, state.digest)
  })
)
