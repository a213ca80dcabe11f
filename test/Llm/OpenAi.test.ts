import { assert, it } from "@effect/vitest"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import type { Llm } from "../../src/Llm.ts"
import * as OpenAi from "../../src/Llm/OpenAi.ts"
import { reachable } from "../../src/Llm/reachable.ts"
import { eventually } from "../ollama.ts"
import { startOpenAi } from "../openAi.ts"
import { asleepFor } from "../time.ts"

const about = (url: string, more: Partial<Parameters<typeof OpenAi.make>[0]> = {}) =>
  OpenAi.make({
    url,
    model: "local",
    temperature: 0.2,
    maxTokens: 100,
    timeoutMs: 60_000,
    keyVariable: "TEST_API_KEY",
    apiKey: Option.some(Redacted.make("secret")),
    ...more
  }).pipe(Effect.provide(FetchHttpClient.layer))
const make = (url: string, timeoutMs = 60_000, key?: string) =>
  about(url, {
    contextTokens: 2048,
    timeoutMs,
    apiKey: Option.map(Option.fromNullable(key), (it) => Redacted.make(it))
  })

const question = { query: "What?", system: "Cite.", prompt: "Answer what.", hits: [] }
const fragmentsOf = (llm: Llm["Type"]) => Stream.unwrap(Effect.map(llm.answer(question), ({ fragments }) => fragments))
const collect = (llm: Llm["Type"]) => Effect.map(Stream.runCollect(fragmentsOf(llm)), (all) => [...all])
const reasonOf = (llm: Llm["Type"]) => Effect.map(Effect.flip(collect(llm)), ({ reason }) => reason)

it.scopedLive("streams the fragments in order, with the key, from a url with or without /v1", () =>
  Effect.gen(function* () {
    const answer = Array.from({ length: 60 }, (_, n) => `${n}é\n`)
    const { asked, faults, url } = yield* startOpenAi(answer)
    assert.deepStrictEqual(yield* collect(yield* make(url, 60_000, "secret")), answer)
    assert.strictEqual(asked[0]!.authorization, "Bearer secret")
    assert.deepInclude(asked[0]!.body, { model: "local", stream: true, max_tokens: 100, temperature: 0.2 })
    faults.withoutDone = true
    assert.deepStrictEqual(yield* collect(yield* make(`${url}/v1/`)), answer)
    assert.isUndefined(asked[1]!.authorization)
  })
)

it.scopedLive("gives the server's own words when it refuses", () =>
  Effect.gen(function* () {
    const { faults, url } = yield* startOpenAi()
    const llm = yield* make(url)
    faults.refuse = { status: 401, body: JSON.stringify({ error: { message: "Incorrect API key", code: "x" } }) }
    const refused = yield* reasonOf(llm)
    assert.include(refused, `${url}/v1/chat/completions answered 401: Incorrect API key`)
    assert.include(refused, "set TEST_API_KEY in the environment")
    assert.include(yield* reasonOf(yield* make(url, 60_000, "wrong")), "check TEST_API_KEY in the environment")
    faults.refuse = { status: 401, body: JSON.stringify({ error: { message: "sesame is no key" } }) }
    assert.include(yield* reasonOf(yield* make(url, 60_000, "sesame")), "401: … is no key")
    faults.refuse = { status: 404, body: JSON.stringify({ error: "no such model" }) }
    assert.include(
      yield* reasonOf(llm),
      `${url}/v1/chat/completions answered 404: no such model; check the url and the model's name`
    )
    faults.refuse = { status: 500, body: "out of memory" }
    assert.include(yield* reasonOf(llm), "500: out of memory")
  })
)

it.scopedLive("says so when the answer is no stream", () =>
  Effect.gen(function* () {
    const { faults, url } = yield* startOpenAi()
    const llm = yield* make(url)
    const whole = JSON.stringify({ choices: [{ message: { role: "assistant", content: "Hello" } }] })
    for (const page of [
      { type: "text/html; charset=utf-8", body: "<html>welcome</html>" },
      { type: "application/json", body: whole }
    ]) {
      faults.page = page
      const reason = yield* reasonOf(llm)
      assert.include(reason, `${url}/v1/chat/completions sent ${page.type.split(";")[0]} instead of a stream of events`)
      assert.include(reason, "llm.url")
    }
    faults.page = { type: "application/json", body: '{"error":{"message":"quota exceeded"}}' }
    assert.include(yield* reasonOf(llm), `${url}/v1/chat/completions answered: quota exceeded`)
  })
)

it.scopedLive("its check follows no redirect, which would have the headers", () =>
  Effect.gen(function* () {
    const { faults, url } = yield* startOpenAi()
    const other = yield* startOpenAi()
    faults.redirect = { status: 302, location: `${other.url}/v1/models` }
    const { detail } = yield* reachable({
      backend: "openai",
      url,
      model: "local",
      apiKey: Option.none(),
      headers: { "api-key": "secret" }
    })
    assert.include(detail, `answered 302: a redirect to ${other.url}/v1/models`)
    assert.deepStrictEqual(other.asked, [])
  })
)

it.scopedLive("never takes an answer that was broken off for a whole one", () =>
  Effect.gen(function* () {
    const { faults, url } = yield* startOpenAi(["one", "two", "three"])
    const llm = yield* make(url)
    const broken = [
      { fault: { cutAfter: 2 }, says: "failed in the middle" },
      { fault: { endAfter: 2 }, says: "ended the stream before the answer was complete" },
      { fault: { dataAt: { fragment: 2, data: "<html>" } }, says: "something that is not an answer: <html>" },
      { fault: { dataAt: { fragment: 2, data: '{"error":{"message":"out of memory"}}' } }, says: "out of memory" },
      { fault: { dataAt: { fragment: 2, data: '{"message":"overloaded"}\nevent: error' } }, says: "overloaded" },
      { fault: { dataAt: { fragment: 2, data: "x".repeat(11 * 1024 * 1024) } }, says: "an event of more than 10 MB" },
      {
        fault: { dataAt: { fragment: 2, data: "{}" }, finishReason: "content_filter" as const },
        says: "content filter ended the answer"
      }
    ]
    for (const { fault, says } of broken) {
      Object.assign(faults, { cutAfter: undefined, endAfter: undefined, dataAt: undefined }, fault)
      const seen: Array<string> = []
      const failed = Stream.runForEach(fragmentsOf(llm), (text) => Effect.sync(() => seen.push(text)))
      const { reason } = yield* Effect.flip(failed)
      assert.include(reason, says)
      // Of what arrived before a connection broke, `fetch` gives what was read by then.
      assert.deepStrictEqual(seen, ["one", "two"].slice(0, fault.cutAfter === undefined ? 2 : seen.length), says)
    }
  })
)

it.scopedLive("takes null for what a server leaves out, and a character in two fragments for one", () =>
  Effect.gen(function* () {
    const [first, second] = "🐝".split("")
    const { faults, url } = yield* startOpenAi([`one ${first}`, `${second} two`, "left out"])
    faults.dataAt = {
      fragment: 2,
      data: '{"choices":[{"delta":null}],"error":null,"usage":{"prompt_tokens":null}}\n\ndata: {"choices":null}'
    }
    assert.deepStrictEqual(yield* collect(yield* make(url)), ["one ", "🐝 two"])
    // A refusal is what a model answers.
    faults.dataAt = { fragment: 2, data: '{"choices":[{"delta":{"content":null,"refusal":"I refuse."}}]}' }
    assert.deepStrictEqual(yield* collect(yield* make(url)), ["one ", "🐝 two", "I refuse."])
  })
)

it.scopedLive("says whether the answer was cut at llm.max_tokens, and takes none for no answer", () =>
  Effect.gen(function* () {
    for (const withoutDone of [false, true]) {
      const { faults, url } = yield* startOpenAi(["one", "two"])
      faults.withoutDone = withoutDone
      const llm = yield* make(url)
      const isCut = Effect.gen(function* () {
        const { fragments, isCut } = yield* llm.answer(question)
        yield* Stream.runDrain(fragments)
        return yield* isCut
      })
      assert.isFalse(yield* isCut)
      faults.finishReason = "length"
      assert.isTrue(yield* isCut)
    }
    const { faults, url } = yield* startOpenAi([])
    faults.finishReason = "length"
    assert.match(yield* reasonOf(yield* make(url)), /100 tokens.*raise llm\.max_tokens/)
    faults.finishReason = "stop"
    assert.include(yield* reasonOf(yield* make(url)), "without an answer")
  })
)

it.scopedLive("gives up on silence, and closes the connection when nobody listens any more", () =>
  Effect.gen(function* () {
    const { asked, faults, state, url } = yield* startOpenAi(["a", "b"])
    faults.silent = true
    assert.include(yield* reasonOf(yield* make(url, 50)), "sent nothing for 50 ms")
    yield* eventually("the connection is closed", () => state.closed === 1)

    for (const fault of [{ silent: true }, { silent: false, stopAt: 1 }]) {
      Object.assign(faults, fault)
      const { closed } = state
      const { length } = asked
      let begun = 0
      const fragments = fragmentsOf(yield* make(url))
      const fiber = yield* Effect.fork(Stream.runForEach(fragments, () => Effect.sync(() => begun++)))
      yield* eventually("it was asked", () => asked.length === length + 1)
      if (!fault.silent) yield* eventually("it says something", () => begun > 0)
      yield* Fiber.interrupt(fiber)
      yield* eventually("the connection is closed", () => state.closed === closed + 1)
    }
  })
)

it.scopedLive("says so when nobody answers there", () =>
  Effect.gen(function* () {
    const { url } = yield* Effect.scoped(startOpenAi())
    const reason = yield* reasonOf(yield* make(url))
    assert.include(reason, `no answer from ${url}`)
    assert.include(reason, "ECONNREFUSED")
  })
)

it.scopedLive("takes its address as it is given, and sends the headers and what the configuration says", () =>
  Effect.gen(function* () {
    const { asked, url } = yield* startOpenAi()
    const addresses = [
      ["", "/v1/chat/completions"],
      ["/", "/v1/chat/completions"],
      ["/v1", "/v1/chat/completions"],
      ["/v1/", "/v1/chat/completions"],
      ["/api", "/api/chat/completions"],
      ["/openai/v3beta/", "/openai/v3beta/chat/completions"],
      [
        "/openai/deployments/gpt?api-version=2024-10-21",
        "/openai/deployments/gpt/chat/completions?api-version=2024-10-21"
      ]
    ] as const
    for (const [given, path] of addresses) {
      const llm = yield* about(`${url}${given}`, { headers: { "api-key": "hidden", Authorization: "Basic x" } })
      yield* collect(llm)
      assert.strictEqual(asked.at(-1)!.path, path)
      assert.deepInclude(asked.at(-1)!.headers, { "api-key": "hidden", authorization: "Basic x" })
    }
    yield* collect(yield* about(url, { seed: 7, stop: ["END"], systemPrompt: "Answer in French." }))
    const { body } = asked.at(-1)!
    assert.deepInclude(body, { seed: 7, stop: ["END"], stream_options: { include_usage: true } })
    assert.deepStrictEqual(body.messages[0], { role: "system", content: "Cite.\n\nAnswer in French." })
  })
)

it.scopedLive("asks otherwise where a server refuses a field, and keeps to that", () =>
  Effect.gen(function* () {
    const { asked, faults, url } = yield* startOpenAi(["Hello"])
    faults.refusesFields = {
      max_tokens: "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
      temperature: "Unsupported value: 'temperature' does not support 0.2 with this model.",
      stream_options: "Unrecognized request argument supplied: stream_options"
    }
    faults.refusesSystem = true
    const llm = yield* about(url)
    assert.deepStrictEqual(yield* collect(llm), ["Hello"])
    assert.strictEqual(asked.length, 5)
    assert.deepStrictEqual(asked.at(-1)!.body, {
      model: "local",
      messages: [{ role: "user", content: "Cite.\n\nAnswer what." }],
      max_completion_tokens: 100,
      stream: true
    })
    assert.deepStrictEqual(yield* collect(llm), ["Hello"])
    assert.strictEqual(asked.length, 6)
    // Who asks for a temperature is told that there is none.
    faults.refusesFields = { temperature: "'temperature' is not supported" }
    faults.refusesSystem = false
    const other = yield* about(url)
    const { fragments } = yield* other.answer({ ...question, temperature: 1 })
    assert.include((yield* Effect.flip(Stream.runDrain(fragments))).reason, "'temperature' is not supported")
  })
)

it.scoped("waits as long as a server asks, and no longer than anybody would", () =>
  Effect.gen(function* () {
    const { asked, faults, url } = yield* startOpenAi(["Hello"])
    faults.refuse = { status: 429, body: '{"error":{"message":"Rate limit"}}', times: 1 }
    faults.retryAfter = "2"
    const answer = yield* Effect.fork(collect(yield* about(url)))
    yield* asleepFor(2000)
    assert.strictEqual(asked.length, 1)
    yield* TestClock.adjust("2 seconds")
    assert.deepStrictEqual(yield* Fiber.join(answer), ["Hello"])
    assert.strictEqual(asked.length, 2)
    faults.refuse = { status: 503, body: '{"error":{"message":"Overloaded"}}' }
    faults.retryAfter = "3600"
    const reason = yield* reasonOf(yield* about(url))
    assert.include(reason, "503: Overloaded")
    assert.match(reason, /asks for a pause of 3600 s; ask again later/)
    assert.strictEqual(asked.length, 3)
    // One that always asks for a little is busy, and not silent.
    faults.retryAfter = "2"
    const busy = yield* Effect.fork(Effect.flip(collect(yield* about(url, { timeoutMs: 3000 }))))
    yield* asleepFor(2000)
    yield* TestClock.adjust("2 seconds")
    yield* asleepFor(1000)
    yield* TestClock.adjust("1 seconds")
    const error = yield* Fiber.join(busy)
    assert.include(error.reason, "503: Overloaded")
    assert.isUndefined(error.silent)
  })
)

it.scopedLive("knows what the server counted, and does not wait for one that counts nothing", () =>
  Effect.gen(function* () {
    const { faults, url } = yield* startOpenAi(["Hello"])
    const llm = yield* about(url)
    const used = Effect.gen(function* () {
      const { fragments, usage } = yield* llm.answer(question)
      yield* Stream.runDrain(fragments)
      return yield* usage
    })
    const { answerTokens, isPromptCut, promptTokens } = yield* used
    assert.deepStrictEqual([answerTokens, isPromptCut], [1, false])
    assert.isAbove(promptTokens!, 16)
    faults.staysOpen = true
    assert.deepStrictEqual(yield* used, { isPromptCut: false })
  })
)
