import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import OpenAI, { APIError } from "openai"
import * as Ollama from "../../src/Llm/Ollama.ts"
import { startOllama } from "../ollama.ts"
import { ask, type Given, start } from "./server.ts"

const documents = Array.from({ length: 8 }, (_, n) => ({
  content: `The maze has turning ${n}, and a thread leads out of it.`,
  metadata: { source: `docs/m${n}.md` }
}))

const question = { role: "user" as const, content: "where is the thread in the maze" }

const filled = (given: Given = {}) =>
  Effect.gen(function* () {
    const server = yield* start(given)
    yield* ask(server.port, "POST", "/index", { body: { documents }, ...authorized(given.apiKey) })
    const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: given.apiKey ?? "none", maxRetries: 0 })
    return { ...server, client }
  })

const authorized = (key: string | undefined) =>
  key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } }

const ollamaAt = (url: string, more: Partial<Ollama.OllamaOptions> = {}) =>
  Ollama.make({ url, model: "small", temperature: 0.2, maxTokens: 64, contextTokens: 4096, timeoutMs: 5000, ...more })

const failing = (call: () => PromiseLike<unknown>) =>
  Effect.promise(async () => {
    try {
      await call()
    } catch (error) {
      if (error instanceof APIError) return error
      throw error
    }
    throw new Error("it did not fail")
  })

it.scopedLive("answers the official client from the passages, and annotates them", () =>
  Effect.gen(function* () {
    const { client } = yield* filled()
    const extra = { top_k: 3 }
    const whole = yield* Effect.promise(() =>
      client.chat.completions.create({ model: "clew", messages: [question], ...extra })
    )
    assert.strictEqual(whole.object, "chat.completion")
    assert.strictEqual(whole.model, "clew")
    assert.strictEqual(whole.choices[0]!.finish_reason, "stop")
    const { annotations, content } = whole.choices[0]!.message as any
    assert.include(content, "[1]")
    assert.lengthOf(annotations, 3)
    assert.deepInclude(annotations[0], { type: "file_citation", index: 1, start_line: 1, end_line: 1 })
    assert.match(annotations[0].source, /^docs\/m\d\.md$/)
    assert.include(content, annotations[0].text)

    const stream = yield* Effect.promise(() =>
      client.chat.completions.create({ model: "clew", messages: [question], stream: true, ...extra })
    )
    const chunks = yield* Effect.promise(async () => {
      const all: Array<any> = []
      for await (const chunk of stream) all.push(chunk)
      return all
    })
    assert.strictEqual(chunks.map(({ choices }) => choices[0].delta.content ?? "").join(""), content)
    assert.deepStrictEqual(chunks[0].choices[0].delta.annotations, annotations)
    assert.strictEqual(chunks.at(-1).choices[0].finish_reason, "stop")
    assert.strictEqual(new Set(chunks.map(({ id }) => id)).size, 1)
  })
)

it.scopedLive("asks the last of the user's, and keeps what was said before", () =>
  Effect.gen(function* () {
    const ollama = yield* startOllama(["A thread", " leads out [1]."])
    const { client } = yield* filled({ llm: ollamaAt(ollama.url) })
    const before = [
      { role: "system" as const, content: "Speak like a pirate." },
      { role: "user" as const, content: "is there a maze" },
      { role: "assistant" as const, content: "There is." }
    ]
    const parts = { role: "user" as const, content: [{ type: "text" as const, text: question.content }] }
    const whole = yield* Effect.promise(() =>
      client.chat.completions.create({ model: "small", messages: [...before, parts], temperature: 1 })
    )
    assert.strictEqual(whole.choices[0]!.message.content, "A thread leads out [1].")
    assert.strictEqual(whole.model, "small")
    const { messages, options } = ollama.asked[0]!.body
    // One message of the system's: what to do with the passages, and then the caller's own.
    assert.deepStrictEqual(messages.slice(1, 3), before.slice(1))
    assert.match(messages[0].content, /^Answer the question from the numbered passages[^]*\n\nSpeak like a pirate\.$/)
    assert.include(messages[3].content, `Question: ${question.content}`)
    assert.strictEqual(options.temperature, 1)
    const models = yield* Effect.promise(() => client.models.list())
    assert.deepStrictEqual(
      models.data.map(({ id }) => id),
      ["clew", "small"]
    )
  })
)

it.scopedLive("lets what was said before have half of the window, the newest first", () =>
  Effect.gen(function* () {
    const ollama = yield* startOllama(["Out [1]."])
    const { client } = yield* filled({ llm: ollamaAt(ollama.url, { contextTokens: 1024, maxTokens: 256 }) })
    const old = { role: "user" as const, content: "an old word ".repeat(400) }
    const recent = { role: "assistant" as const, content: "There is." }
    const system = { role: "system" as const, content: "Be brief." }
    yield* Effect.promise(() =>
      client.chat.completions.create({ model: "clew", messages: [system, old, recent, question] })
    )
    const [told, ...said] = ollama.asked[0]!.body.messages
    assert.isTrue(told.content.endsWith(`\n\n${system.content}`))
    assert.deepStrictEqual(said.slice(0, -1), [recent])
  })
)

it.scopedLive("fails as OpenAI does", () =>
  Effect.gen(function* () {
    const apiKey = "secret"
    const { client, url } = yield* filled({ apiKey })
    const create = (body: object, its = client) =>
      failing(() => its.chat.completions.create({ model: "clew", messages: [question], ...body } as never))
    const stranger = new OpenAI({ baseURL: `${url}/v1`, apiKey: "wrong", maxRetries: 0 })
    const cases = [
      [yield* create({}, stranger), 401, "invalid_api_key", null],
      [yield* failing(() => stranger.models.list()), 401, "invalid_api_key", null],
      [yield* create({ model: "gpt-9" }), 404, "model_not_found", null],
      [yield* create({ collection: "nope" }), 404, "collection_not_found", null],
      [yield* create({ messages: [] }), 400, "invalid_request", "messages"],
      [yield* create({ messages: [{ role: "system", content: "x" }] }), 400, "invalid_request", "messages"],
      [yield* create({ messages: [{ role: "user", content: " " }] }), 400, "invalid_request", "messages.0.content"],
      [yield* create({ n: 2 }), 400, "invalid_request", "n"],
      [yield* create({ temperature: 3 }), 400, "invalid_request", "temperature"]
    ] as const
    for (const [error, status, code, param] of cases) {
      assert.strictEqual(error.status, status, code)
      assert.strictEqual(error.code, code)
      assert.strictEqual(error.param ?? null, param, code)
      assert.isNotEmpty(error.message)
    }
  })
)

it.scopedLive("a model that fails is an error, whole and streamed", () =>
  Effect.gen(function* () {
    const ollama = yield* startOllama(["A", " thread"])
    const { client } = yield* filled({ llm: ollamaAt(ollama.url) })
    ollama.faults.errorAfter = { fragments: 1, error: "the runner died" }
    const whole = yield* failing(() => client.chat.completions.create({ model: "clew", messages: [question] }))
    assert.strictEqual(whole.status, 503)
    assert.strictEqual(whole.code, "llm_unavailable")
    const streamed = yield* failing(async () => {
      const stream = await client.chat.completions.create({ model: "clew", messages: [question], stream: true })
      for await (const chunk of stream) assert.isDefined(chunk)
    })
    assert.include(JSON.stringify(streamed.error ?? streamed.message), "the runner died")
  })
)

it.scopedLive("asks no model where nothing was found", () =>
  Effect.gen(function* () {
    const ollama = yield* startOllama()
    const { client, port } = yield* filled({ llm: ollamaAt(ollama.url) })
    const filter = { source: "nowhere" }
    const whole = yield* Effect.promise(() =>
      client.chat.completions.create({ model: "clew", messages: [question], filter } as never)
    )
    assert.include((whole as any).choices[0].message.content, "no passage was found")
    const { text } = yield* ask(port, "POST", "/ask", { body: { query: question.content, filter } })
    assert.include(text, "no passage was found")
    assert.isEmpty(ollama.asked)
  })
)
