import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { EventSource } from "eventsource"
import { createParser, type EventSourceMessage } from "eventsource-parser"
import OpenAI, { APIError } from "openai"
import * as Http from "node:http"
import { eventually, startOllama } from "../ollama.ts"
import { event, eventStream } from "../../src/http/events.ts"
import { type Llm, LlmUnavailable } from "../../src/Llm.ts"
import * as Ollama from "../../src/Llm/Ollama.ts"
import { ask, type Given, start } from "./server.ts"

const documents = Array.from({ length: 8 }, (_, n) => ({
  content: `The maze has turning ${n}, and a thread leads out of it.`,
  metadata: { source: `docs/m${n}.md` }
}))

const filled = (given: Given = {}) => start({ ...given, documents })

const saying = (fragments: Stream.Stream<string, LlmUnavailable>, isCut = false, room?: number): Llm["Type"] => ({
  identity: () => Effect.succeed({ backend: "ollama", model: "fake" }),
  window: () =>
    Effect.succeed(
      room === undefined ? undefined : { contextTokens: room, room, countTokens: (text: string) => text.length / 4 }
    ),
  answer: () =>
    Effect.succeed({
      llm: { backend: "ollama", model: "fake" },
      fragments,
      isCut: Effect.succeed(isCut),
      usage: Effect.succeed({ isPromptCut: isCut })
    })
})

/** As `eventsource-parser` reads the stream, with its comments. */
const read = (text: string) => {
  const events: Array<EventSourceMessage> = []
  const comments: Array<string> = []
  const errors: Array<Error> = []
  const parser = createParser({
    onEvent: (event) => events.push(event),
    onComment: (comment) => comments.push(comment),
    onError: (error) => errors.push(error)
  })
  parser.feed(text)
  assert.isEmpty(errors)
  return { events, comments, names: events.map(({ event }) => event) }
}

const asked = (port: number, body: object) =>
  Effect.map(ask(port, "POST", "/ask", { body: { query: "where is the thread in the maze", ...body } }), (answer) => ({
    ...answer,
    ...read(answer.text)
  }))

const ollamaAt = (url: string, more: Partial<Ollama.OllamaOptions> = {}) =>
  Ollama.make({ url, model: "small", temperature: 0.2, maxTokens: 64, contextTokens: 4096, timeoutMs: 60_000, ...more })

it.scopedLive("gives the model what was asked and answered before", () =>
  Effect.gen(function* () {
    const ollama = yield* startOllama(["Out [1]."])
    const { port } = yield* filled({ llm: ollamaAt(ollama.url) })
    const history = [
      { role: "user", content: "what is in the maze" },
      { role: "assistant", content: "A thread [1]." }
    ]
    const { names } = yield* asked(port, { top_k: 1, history })
    assert.deepStrictEqual(names, ["source", "token", "done"])
    assert.deepStrictEqual(ollama.asked[0]!.body.messages.slice(1, 3), history)
    const refused = yield* asked(port, { history: [{ role: "system", content: "Obey." }] })
    assert.strictEqual(refused.status, 400)
    assert.strictEqual(refused.json.errors[0].path, "history[0].role")
  })
)

it.scopedLive("says where a mark stands in the stream, which has no carriage returns", () =>
  Effect.gen(function* () {
    const { port } = yield* filled({ llm: saying(Stream.make("Lines\r", "\n\r\n", "A thread [1].")) })
    const { events } = yield* asked(port, { top_k: 1, verify: true })
    const text = events.flatMap(({ data, event }) => (event === "token" ? [data] : [])).join("")
    const [{ end, start }] = JSON.parse(events.find(({ event }) => event === "citations")!.data).citations
    assert.strictEqual(text, "Lines\n\nA thread [1].")
    assert.strictEqual(text.slice(start, end), "[1]")
  })
)

it.scopedLive("sends all sources, then the tokens, then done", () =>
  Effect.gen(function* () {
    const ollama = yield* startOllama(["A thread", " leads out\n", "\n of it", " [1].", "  two  "])
    const { port } = yield* filled({ llm: ollamaAt(ollama.url) })
    const { comments, events, headers, names, status } = yield* asked(port, { top_k: 3 })
    assert.strictEqual(status, 200)
    assert.strictEqual(headers["content-type"], "text/event-stream")
    assert.include(headers["cache-control"], "no-cache")
    assert.strictEqual(headers["x-accel-buffering"], "no")
    assert.lengthOf(comments, 1)
    assert.deepStrictEqual(names, [...Array(3).fill("source"), ...Array(5).fill("token"), "done"])
    const query = yield* ask(port, "POST", "/query", {
      body: { query: "where is the thread in the maze", top_k: 3, hybrid: true }
    })
    assert.deepStrictEqual(
      events.slice(0, 3).map(({ data }) => JSON.parse(data)),
      query.json.results.map(({ indexed_at, metadata, score, text }: any, at: number) => ({
        index: at + 1,
        source: metadata.source,
        score,
        text,
        doc_id: metadata.doc_id,
        chunk_index: metadata.chunk_index,
        start_line: metadata.start_line,
        end_line: metadata.end_line,
        indexed_at
      }))
    )
    assert.deepStrictEqual(
      events.slice(3, -1).map(({ data }) => data),
      ["A thread", " leads out\n", "\n of it", " [1].", "  two  "]
    )
    assert.strictEqual(events.at(-1)!.data, "{}")
    const { text: metrics } = yield* ask(port, "GET", "/metrics")
    for (const name of [
      "answers_total",
      "tokens_total",
      "answer_duration_seconds_count",
      "first_token_seconds_count"
    ]) {
      const line = metrics
        .split("\n")
        .find((line) => line.startsWith(`clew_llm_${name}{`) && line.includes('model="small"'))
      assert.isDefined(line, name)
      assert.isAbove(Number(line!.split(" ").at(-1)), 0, line)
    }
    const [system, { content: prompt }] = ollama.asked[0]!.body.messages
    assert.match(system.content, /^Answer the question from the numbered passages/)
    assert.include(prompt, "\n\n[1] (score:")
    assert.include(prompt, "Question: where is the thread in the maze")
  })
)

it.scopedLive("is read by an EventSource, the way browsers do it", () =>
  Effect.gen(function* () {
    const ollama = yield* startOllama(["A thread", " leads out\n", "\n of it", " [1]."])
    const { url } = yield* filled({ llm: ollamaAt(ollama.url) })
    const heard = yield* Effect.async<ReadonlyArray<readonly [name: string, data: string]>>((resume) => {
      const events: Array<readonly [string, string]> = []
      const source = new EventSource(`${url}/ask`, {
        fetch: (address, init) =>
          fetch(address, {
            ...init,
            method: "POST",
            headers: { ...init.headers, "content-type": "application/json" },
            body: JSON.stringify({ query: "where is the thread in the maze", top_k: 2 })
          })
      })
      for (const name of ["source", "token", "done"]) {
        source.addEventListener(name, ({ data }) => {
          events.push([name, data])
          if (name === "done") {
            source.close()
            resume(Effect.succeed(events))
          }
        })
      }
    })
    assert.deepStrictEqual(
      heard.map(([name]) => name),
      ["source", "source", "token", "token", "token", "token", "done"]
    )
    const said = heard.filter(([name]) => name === "token").map(([, data]) => data)
    assert.strictEqual(said.join(""), "A thread leads out\n\n of it [1].")
  })
)

it.scopedLive("a request chooses the model and the temperature, and no address", () =>
  Effect.gen(function* () {
    const ollama = yield* startOllama()
    const { port } = yield* filled({ llm: ollamaAt(ollama.url) })
    yield* asked(port, { model: "small:latest", temperature: 2 })
    assert.deepInclude(ollama.asked[0]!.body, { model: "small:latest" })
    assert.strictEqual(ollama.asked[0]!.body.options.temperature, 2)
    const wrong = [
      [{ url: "http://elsewhere" }, "url"],
      [{ temperature: 2.1 }, "temperature"],
      [{ temperature: "hot" }, "temperature"],
      [{ model: "" }, "model"],
      [{ top_k: 0 }, "top_k"],
      [{ verify: "yes" }, "verify"]
    ] as const
    for (const [body, field] of wrong) {
      const { json, status } = yield* ask(port, "POST", "/ask", { body: { query: "x", ...body } })
      assert.strictEqual(status, 400, field)
      assert.strictEqual(json.errors[0].path, field)
    }
    assert.strictEqual((yield* ask(port, "POST", "/ask", { body: {} })).status, 400)
    assert.strictEqual((yield* ask(port, "GET", "/ask")).status, 405)
    assert.strictEqual((yield* ask(port, "POST", "/ask", { body: { query: "x", collection: "nope" } })).status, 404)
  })
)

it.scopedLive("says how the passages were found, beside the contract's events", () =>
  Effect.gen(function* () {
    const faults: NonNullable<Given["faults"]> = {}
    const llm = saying(Stream.succeed("The maze has turning 3 [1]."), false, 200)
    const { port } = yield* filled({ faults, llm })
    const whole = yield* asked(port, { top_k: 1 })
    assert.strictEqual(whole.headers["x-clew-mode"], "hybrid")
    assert.match(String(whole.headers["x-clew-llm"]), /^ollama /)
    assert.isUndefined(whole.headers["x-clew-degraded"])
    assert.isUndefined(whole.headers["x-clew-omitted"])
    assert.deepStrictEqual(whole.comments, ["clew"])
    assert.strictEqual((yield* asked(port, { hybrid: false })).headers["x-clew-mode"], "vector")

    faults.embedder = "Ollama\nist aus — /home/me/models/nomic"
    const { comments, events, headers, names } = yield* asked(port, { top_k: 8, verify: true })
    assert.strictEqual(headers["x-clew-mode"], "keyword")
    assert.strictEqual(headers["x-clew-degraded"], "embedder unavailable: Ollama ist aus ? nomic")
    const omitted = 8 - names.filter((name) => name === "source").length
    assert.isAbove(omitted, 0)
    assert.strictEqual(headers["x-clew-omitted"], String(omitted))
    assert.include(comments, "keyword search only: embedder unavailable: Ollama ist aus — nomic")
    assert.include(comments, `${omitted} more found that do not fit into llm.context_tokens`)
    assert.deepInclude(JSON.parse(events.at(-2)!.data), {
      mode: "keyword",
      degraded: "embedder unavailable: Ollama\nist aus — nomic",
      omitted
    })
    assert.deepStrictEqual([...new Set(names)], ["source", "token", "citations", "done"])
  })
)

it.scopedLive("a failing model ends the stream with one error that says what to do", () =>
  Effect.gen(function* () {
    const ollama = yield* startOllama(["one", "two", "three"])
    const { port } = yield* filled({ llm: ollamaAt(ollama.url, { timeoutMs: 2000 }) })
    const sources = Array(2).fill("source")
    const tell = (body: object) =>
      Effect.map(asked(port, { top_k: 2, verify: true, ...body }), ({ events, names }) => ({
        names,
        message: JSON.parse(events.at(-1)!.data).message as string
      }))

    const missing = yield* tell({ model: "absent" })
    assert.deepStrictEqual(missing.names, [...sources, "error"])
    assert.include(missing.message, "`ollama pull absent`")

    ollama.faults.cutAfter = 2
    const cut = yield* tell({})
    assert.deepStrictEqual(cut.names, [...sources, "token", "token", "error"])
    assert.include(cut.message, "stopped in the middle of the answer")
    delete ollama.faults.cutAfter

    ollama.faults.rubbishAt = { fragment: 1, line: "<html>" }
    const rubbish = yield* tell({})
    assert.deepStrictEqual(rubbish.names, [...sources, "token", "error"])
    assert.include(rubbish.message, "<html>")
    delete ollama.faults.rubbishAt

    ollama.faults.silent = true
    const silent = yield* tell({})
    assert.deepStrictEqual(silent.names, [...sources, "error"])
    assert.include(silent.message, "llm.timeout_ms")

    yield* ollama.stop
    const down = yield* tell({})
    assert.deepStrictEqual(down.names, [...sources, "error"])
    assert.include(down.message, "`ollama serve`")
  })
)

it.scopedLive("a defect of ours ends the stream with an error too, and keeps its secrets", () =>
  Effect.gen(function* () {
    const { port } = yield* filled({
      llm: saying(Stream.concat(Stream.succeed("a"), Stream.die(new Error("at /home/me"))))
    })
    const { events, names } = yield* asked(port, { top_k: 1 })
    assert.deepStrictEqual(names, ["source", "token", "error"])
    assert.notInclude(events.at(-1)!.data, "/home/me")
  })
)

it.scopedLive("with verify, says before done which citations hold", () =>
  Effect.gen(function* () {
    const said: Array<string> = []
    const { port } = yield* filled({ llm: saying(Stream.suspend(() => Stream.fromIterable(said))) })
    const first = JSON.parse((yield* asked(port, { top_k: 2 })).events[0]!.data).text as string
    const other = first.replace(/\d+/, "4711")
    const answer = `${first.slice(0, -1)} [1]. ${other.slice(0, -1)} [1]. Bread is baked in hot ovens daily [1]. Lava [7].`
    said.push(...answer.match(/.{1,7}/g)!)
    const { events, names } = yield* asked(port, { top_k: 2, verify: true })
    assert.deepStrictEqual(names.slice(-2), ["citations", "done"])
    const { citations } = JSON.parse(events.at(-2)!.data)
    assert.deepStrictEqual(
      citations.map(({ exists, index, verdict }: any) => [index, exists, verdict]),
      [
        [1, true, "mentioned"],
        [1, true, "contradicted"],
        [1, true, "not_found"],
        [7, false, "not_found"]
      ]
    )
    assert.strictEqual(answer.slice(citations[0].start, citations[0].end), "[1]")
    const without = yield* asked(port, { top_k: 2 })
    assert.notInclude(without.names, "citations")
  })
)

it.scopedLive("says that an answer was cut, beside the contract's events", () =>
  Effect.gen(function* () {
    const { port } = yield* filled({ llm: saying(Stream.succeed("The maze has turning 3 [1]."), true) })
    const plain = yield* asked(port, { top_k: 1 })
    assert.deepStrictEqual(plain.names, ["source", "token", "done"])
    assert.strictEqual(plain.events.at(-1)!.data, "{}")
    assert.include(plain.comments, "cut at llm.max_tokens")
    const verified = yield* asked(port, { top_k: 1, verify: true })
    assert.isTrue(JSON.parse(verified.events.at(-2)!.data).cut)
    const { port: other } = yield* filled({ llm: saying(Stream.succeed("The maze has turning 3 [1].")) })
    const whole = yield* asked(other, { top_k: 1, verify: true })
    assert.notInclude(whole.comments, "cut at llm.max_tokens")
    assert.isFalse(JSON.parse(whole.events.at(-2)!.data).cut)
  })
)

/** Opens a stream and gives its first bytes, and what makes it go away. */
const open = (port: number, body: object) =>
  Effect.async<{ readonly first: string; readonly response: Http.IncomingMessage }>((resume) => {
    const text = JSON.stringify({ query: "thread in the maze", ...body })
    const request = Http.request(
      {
        host: "127.0.0.1",
        port,
        method: "POST",
        path: "/ask",
        agent: false,
        headers: { "content-type": "application/json" }
      },
      (response) => {
        response.on("error", () => {})
        response.once("data", (chunk: Buffer) => resume(Effect.succeed({ first: String(chunk), response })))
      }
    )
    request.on("error", () => {})
    request.end(text)
  })

it.scopedLive("stops the model when the client goes away, also when the model is silent", () =>
  Effect.gen(function* () {
    const ollama = yield* startOllama(Array.from({ length: 10_000 }, () => "word "))
    const { port } = yield* filled({ llm: ollamaAt(ollama.url, { timeoutMs: 60_000 }) })
    for (const fault of [{ slowMs: 5 }, { slowMs: 60_000 }, { silent: true }]) {
      Object.assign(ollama.faults, fault)
      const { closed } = ollama.state
      const { first, response } = yield* open(port, {})
      assert.match(first, /^: clew\n\n/)
      yield* eventually("the model was asked", () => ollama.state.inFlight === 1)
      response.destroy()
      yield* eventually("the model's connection is closed", () => ollama.state.closed === closed + 1)
    }
  })
)

it.scopedLive("a reader that does not read holds the model back", () =>
  Effect.gen(function* () {
    let made = 0
    const fragment = "x".repeat(10_000)
    const endless = Stream.repeatEffect(Effect.sync(() => (made++, fragment)))
    const { port } = yield* filled({ llm: saying(endless) })
    const { response } = yield* open(port, {})
    response.pause()
    // A hundred other answers in a row see no more made.
    for (let [last, same] = [-1, 0]; same < 100;) {
      yield* ask(port, "GET", "/health")
      same = made === last ? same + 1 : 0
      last = made
    }
    assert.isBelow(made, 2000)
    response.destroy()
  })
)

it.scopedLive("ends what is under way with an error when the server shuts down: the answer is not whole", () =>
  Effect.gen(function* () {
    const begun = yield* Deferred.make<void>()
    const silence = Stream.fromEffect(Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never))
    const llm = saying(Stream.concat(Stream.succeed("begun"), silence))
    const { port, stop } = yield* filled({ llm, grace: Duration.millis(500) })
    const stream = yield* Effect.fork(asked(port, { top_k: 1 }))
    yield* Deferred.await(begun)
    yield* Effect.fork(stop)
    assert.deepStrictEqual((yield* Fiber.join(stream)).names, ["source", "token", "error"])
  })
)

it("any fragment comes out of a parser as it went in, but for the kinds of line ends", () => {
  for (const text of [
    "",
    " ",
    "\n",
    "a\n",
    "\n\nb",
    "data: x",
    ": c",
    "event: done\n\n",
    "a\r\nb\rc",
    "é漢😀",
    " lead"
  ]) {
    const { events } = read(event("token", text))
    assert.lengthOf(events, 1)
    assert.strictEqual(events[0]!.data, text.replace(/\r\n|\r/g, "\n"))
  }
})

const question = { role: "user" as const, content: "where is the thread in the maze" }

const serving = (given: Given = {}) =>
  Effect.map(filled(given), (server) => ({
    ...server,
    client: new OpenAI({ baseURL: `${server.url}/v1`, apiKey: given.apiKey ?? "none", maxRetries: 0 })
  }))

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
    const { client } = yield* serving()
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
    const { client } = yield* serving({ llm: ollamaAt(ollama.url) })
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
      ["clew", "small", "clew-static-en-v1"]
    )
  })
)

it.scopedLive("lets what was said before have half of the window, the newest first", () =>
  Effect.gen(function* () {
    const ollama = yield* startOllama(["Out [1]."])
    const { client } = yield* serving({ llm: ollamaAt(ollama.url, { contextTokens: 1024, maxTokens: 256 }) })
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

it.scopedLive("gives the official client vectors of the packaged model", () =>
  Effect.gen(function* () {
    const { client } = yield* serving()
    const model = "clew-static-en-v1"
    const input = ["A thread leads out of the maze.", "The way from the labyrinth.", "Bread needs salt.", "…"]
    // The client asks for base64 unless told otherwise.
    const packed = yield* Effect.promise(() => client.embeddings.create({ model, input }))
    const plain = yield* Effect.promise(() => client.embeddings.create({ model, input, encoding_format: "float" }))
    assert.deepStrictEqual(packed, plain)
    assert.deepStrictEqual(
      plain.data.map(({ index, object }) => [object, index]),
      input.map((_, index) => ["embedding", index])
    )
    const [thread, way, bread, wordless] = plain.data.map(({ embedding }) => embedding)
    const dot = (a: ReadonlyArray<number>, b: ReadonlyArray<number>) => a.reduce((sum, x, d) => sum + x * b[d]!, 0)
    assert.lengthOf(thread!, 256)
    assert.closeTo(dot(thread!, thread!), 1, 1e-5)
    assert.isAbove(dot(thread!, way!), dot(thread!, bread!) + 0.1)
    assert.isTrue(wordless!.every((x) => x === 0))
    assert.strictEqual(plain.model, model)
    assert.isAtLeast(plain.usage.prompt_tokens, 17)
    assert.strictEqual(plain.usage.total_tokens, plain.usage.prompt_tokens)

    const many = Array.from({ length: 100 }, (_, n) => `Text ${n} of a maze.`)
    const one = yield* Effect.promise(() => client.embeddings.create({ model, input: many[70]!, dimensions: 256 }))
    const all = yield* Effect.promise(() => client.embeddings.create({ model, input: many }))
    assert.deepStrictEqual(all.data[70]!.embedding, one.data[0]!.embedding)
    assert.strictEqual((yield* Effect.promise(() => client.models.retrieve(model))).owned_by, "clew")
  })
)

it.scopedLive("says which text cannot be embedded, and why", () =>
  Effect.gen(function* () {
    const { client } = yield* serving()
    const embed = (body: object) =>
      failing(() => client.embeddings.create({ model: "clew-static-en-v1", input: "x", ...body }))
    const cases: ReadonlyArray<readonly [object, number, string | null, RegExp]> = [
      [{ model: "text-embedding-3-small" }, 404, null, /available: clew-static-en-v1$/],
      [{ model: "clew" }, 404, null, /available: clew-static-en-v1$/],
      [{ dimensions: 64 }, 400, "dimensions", /dimensions must be 256/],
      [{ input: [] }, 400, "input", /must have a text/],
      [{ input: "" }, 400, "input", /must not be empty/],
      [{ input: ["a", ""] }, 400, "input[1]", /must not be empty/],
      [{ input: ["a", 7] }, 400, "input[1]", /not tokens/],
      [{ input: [[1, 2]] }, 400, "input[0]", /not tokens/],
      [{ input: ["a", null] }, 400, "input[1]", /must be a text, not null/],
      [{ input: ["a", "b".repeat(32_769)] }, 400, "input[1]", /at most 32768 characters, got 32769: split it/],
      [{ input: Array(2049).fill("a") }, 400, "input", /at most 2048 texts, got 2049/],
      [{ input: undefined }, 400, "input", /input is required/],
      [{ encoding_format: "hex" }, 400, "encoding_format", /float/]
    ]
    for (const [body, status, param, message] of cases) {
      const error = yield* embed(body)
      assert.deepStrictEqual([error.status, error.param], [status, param], JSON.stringify(body).slice(0, 80))
      assert.match(error.message, message)
    }
  })
)

it.scopedLive("fails as OpenAI does", () =>
  Effect.gen(function* () {
    const apiKey = "secret"
    const { client, url } = yield* serving({ apiKey })
    const create = (body: object, its = client) =>
      failing(() => its.chat.completions.create({ model: "clew", messages: [question], ...body } as never))
    const stranger = new OpenAI({ baseURL: `${url}/v1`, apiKey: "wrong", maxRetries: 0 })
    const tool = { type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } }
    const cases = [
      [yield* create({}, stranger), 401, "invalid_api_key", null],
      [yield* failing(() => stranger.models.list()), 401, "invalid_api_key", null],
      [yield* create({ model: "gpt-9" }), 404, "model_not_found", null],
      [yield* create({ collection: "nope" }), 404, "collection_not_found", null],
      [yield* create({ messages: [] }), 400, "invalid_request", "messages"],
      [yield* create({ messages: [{ role: "system", content: "x" }] }), 400, "invalid_request", "messages"],
      [yield* create({ messages: [{ role: "user", content: " " }] }), 400, "invalid_request", "messages[0].content"],
      [yield* create({ n: 2 }), 400, "invalid_request", "n"],
      [
        yield* create({ messages: [question, { role: "tool", tool_call_id: "1", content: "x" }] }),
        400,
        "invalid_request",
        "messages[1].role"
      ],
      [
        yield* create({
          messages: [
            {
              role: "user",
              content: [
                { type: "text", text: "what is this?" },
                { type: "image_url", image_url: { url: "data:," } }
              ]
            }
          ]
        }),
        400,
        "invalid_request",
        "messages[0].content[1].type"
      ],
      [yield* failing(() => stranger.models.retrieve("clew")), 401, "invalid_api_key", null],
      [yield* failing(() => client.models.retrieve("gpt-9")), 404, "model_not_found", null],
      [yield* failing(() => client.embeddings.create({ model: "clew", input: "x" })), 404, "model_not_found", null],
      [yield* failing(() => client.post("/moderations", { body: {} })), 404, "route_not_found", null],
      [yield* failing(() => client.get("/chat/completions")), 405, "method_not_allowed", null],
      [yield* failing(() => client.get("/models/%ff")), 400, "invalid_request", "model"],
      [yield* create({ temperature: 3 }), 400, "invalid_request", "temperature"],
      [yield* create({ tools: [tool] }), 400, "invalid_request", "tools"],
      [yield* create({ functions: [tool.function], function_call: "auto" }), 400, "invalid_request", "functions"],
      [yield* create({ response_format: { type: "json_object" } }), 400, "invalid_request", "response_format"]
    ] as const
    for (const [error, status, code, param] of cases) {
      assert.strictEqual(error.status, status, code)
      assert.strictEqual(error.code, code)
      assert.strictEqual(error.param ?? null, param, code)
      assert.isNotEmpty(error.message)
    }
    assert.include(cases[8][0].message, "tool messages are not supported")
    assert.include(cases[9][0].message, '"image_url" parts are not supported')
    // What asks for nothing is taken, as clients send it unasked.
    for (const body of [
      { tools: [], tool_choice: "auto" },
      { tools: [tool], tool_choice: "none" },
      { response_format: { type: "text" }, functions: null }
    ]) {
      const asked = { model: "clew", messages: [question], ...body } as OpenAI.ChatCompletionCreateParamsNonStreaming
      assert.isNotEmpty((yield* Effect.promise(() => client.chat.completions.create(asked))).choices)
    }
    const clew = yield* Effect.promise(() => client.models.retrieve("clew"))
    assert.deepStrictEqual(clew, { id: "clew", object: "model", created: 0, owned_by: "clew" })
  })
)

it.scopedLive("a model that fails is an error, whole and streamed", () =>
  Effect.gen(function* () {
    const ollama = yield* startOllama(["A", " thread"])
    const { client } = yield* serving({ llm: ollamaAt(ollama.url) })
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
    const { client, port } = yield* serving({ llm: ollamaAt(ollama.url) })
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

it.effect("a comment every 15 s keeps a silent stream open, and ends with it", () =>
  Effect.gen(function* () {
    const { body } = eventStream((emit) => Effect.delay(emit(event("done", "{}")), "50 seconds"))
    if (body._tag !== "Stream") return assert.fail("not a stream")
    const all = yield* Effect.fork(Stream.runCollect(Stream.decodeText(body.stream)))
    yield* TestClock.adjust("2 minutes")
    assert.deepStrictEqual(
      [...(yield* Fiber.join(all))],
      [": clew\n\n", ": still here\n\n", ": still here\n\n", ": still here\n\n", "event: done\ndata: {}\n\n"]
    )
  })
)
