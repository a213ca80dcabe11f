import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Llm, Question } from "../../src/Llm.ts"
import * as Ollama from "../../src/Llm/Ollama.ts"
import { startOllama, tokensOf } from "../ollama.ts"

const optionsFor = (url: string, more: Partial<Ollama.OllamaOptions> = {}): Ollama.OllamaOptions => ({
  url,
  model: "small",
  temperature: 0.2,
  maxTokens: 256,
  timeoutMs: 60_000,
  ...more
})

const question: Question = { query: "What?", system: "Cite.", prompt: "Answer what.", hits: [] }

const answered = (llm: Llm["Type"], more: Partial<Question> = {}) =>
  Effect.gen(function* () {
    const { fragments, usage } = yield* llm.answer({ ...question, ...more })
    yield* Stream.runDrain(fragments)
    return yield* usage
  })

it.scopedLive("asks for a window only where the model would not have it by itself", () =>
  Effect.gen(function* () {
    const server = yield* startOllama()
    const cases = [
      // Nothing is set anywhere: what Ollama gives every model.
      { window: 4096, numCtx: undefined },
      // The model's own file says.
      { own: 8192, window: 8192, numCtx: undefined },
      { own: 8192, set: 8192, window: 8192, numCtx: undefined },
      { own: 8192, set: 2048, window: 2048, numCtx: 2048 },
      // No longer than the model can.
      { set: 32_768, longest: 8192, window: 8192, numCtx: 8192 },
      { longest: 2048, window: 2048, numCtx: undefined },
      // It is loaded with more: asking for the same loads nothing anew.
      { loaded: 16_384, window: 16_384, numCtx: 16_384 },
      { loaded: 2048, window: 4096, numCtx: undefined }
    ]
    for (const { loaded, longest, numCtx, own, set, window } of cases) {
      Object.assign(server.state, { loaded, longest, own })
      const llm = Ollama.make(optionsFor(server.url, set === undefined ? {} : { contextTokens: set }))
      const told = yield* llm.window()
      assert.strictEqual(told?.contextTokens, window)
      assert.isBelow(told!.room, window - 256 + 1)
      assert.isAbove(told!.room, window - 256 - 100)
      yield* answered(llm)
      assert.strictEqual(
        server.asked.at(-1)!.body.options.num_ctx,
        numCtx,
        JSON.stringify({ own, set, longest, loaded })
      )
    }
    const before = server.looked.length
    const llm = Ollama.make(optionsFor(server.url))
    yield* llm.window()
    yield* llm.window()
    assert.strictEqual(server.looked.length, before + 2, "asked once, for the model and what is loaded")
  })
)

it.scopedLive("goes without what a server does not say", () =>
  Effect.gen(function* () {
    const server = yield* startOllama()
    yield* server.stop
    const llm = Ollama.make(optionsFor(server.url))
    assert.strictEqual((yield* llm.window())?.contextTokens, 4096)
  })
)

it.scopedLive("notices that the server cut the prompt, says so, and asks for the window from then on", () =>
  Effect.gen(function* () {
    const server = yield* startOllama()
    // As Ollama's before 2025.
    server.state.window = 2048
    const llm = Ollama.make(optionsFor(server.url))
    const prompt = "The moon pulls the sea. ".repeat(450)
    assert.deepStrictEqual(yield* answered(llm, { prompt: "The moon?" }), {
      promptTokens: tokensOf("Cite.The moon?") + 16,
      answerTokens: 3,
      isPromptCut: false
    })
    assert.deepInclude(yield* answered(llm, { prompt }), { promptTokens: 2048, isPromptCut: true })
    assert.isUndefined(server.asked.at(-1)!.body.options.num_ctx)
    assert.deepInclude(yield* answered(llm, { prompt }), { isPromptCut: false })
    assert.strictEqual(server.asked.at(-1)!.body.options.num_ctx, 4096)
    // A count that is none tells nothing.
    for (const promptTokens of [0, null, -512]) {
      server.faults.promptTokens = promptTokens
      assert.deepStrictEqual(yield* answered(Ollama.make(optionsFor(server.url)), { prompt }), {
        answerTokens: 3,
        isPromptCut: false
      })
    }
    server.faults.promptTokens = undefined
    // Where it was asked for, the count itself tells.
    const small = Ollama.make(optionsFor(server.url, { contextTokens: 1000 }))
    assert.deepInclude(yield* answered(small, { prompt }), { promptTokens: 1000, isPromptCut: true })
    // Newer servers are told to fail rather than cut.
    assert.deepInclude(server.asked.at(-1)!.body, { truncate: false, shift: false })
  })
)

it.scopedLive("counts tokens as the model does, once it has said how many it made", () =>
  Effect.gen(function* () {
    const server = yield* startOllama()
    const llm = Ollama.make(optionsFor(server.url, { contextTokens: 32_768 }))
    const texts = ["北風吹過港口，帶來了鹽。".repeat(80), "The moon pulls the sea, twice a day. ".repeat(80)]
    const off = Effect.map(llm.window(), (window) => texts.map((text) => window!.countTokens(text) / tokensOf(text)))
    for (const factor of yield* off) assert.isAbove(factor, 0.8)
    for (const prompt of texts) yield* answered(llm, { prompt })
    for (const factor of yield* off) assert.closeTo(factor, 1.05, 0.06)
  })
)

it.scopedLive("sends what the configuration says of the model", () =>
  Effect.gen(function* () {
    const server = yield* startOllama()
    const llm = Ollama.make(
      optionsFor(server.url, {
        systemPrompt: "Answer in French.",
        seed: 7,
        stop: ["END"],
        headers: { "X-Team": "sea" },
        keepAlive: "-1",
        think: "low"
      })
    )
    yield* answered(llm, {
      history: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Hello" }
      ]
    })
    const { body, headers } = server.asked.at(-1)!
    assert.deepInclude(body, { keep_alive: -1, think: "low" })
    assert.deepInclude(body.options, { seed: 7, stop: ["END"], temperature: 0.2, num_predict: 256 })
    assert.deepStrictEqual(body.messages, [
      { role: "system", content: "Cite.\n\nAnswer in French.\n\nBe brief." },
      { role: "user", content: "Hello" },
      { role: "user", content: "Answer what." }
    ])
    assert.strictEqual(headers["x-team"], "sea")
    yield* answered(Ollama.make(optionsFor(server.url, { keepAlive: "5m", think: false })))
    assert.deepInclude(server.asked.at(-1)!.body, { keep_alive: "5m", think: false })
  })
)
