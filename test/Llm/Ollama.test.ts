import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type { Llm, LlmIdentity } from "../../src/Llm.ts"
import * as Auto from "../../src/Llm/Auto.ts"
import { guarded } from "../../src/Llm/guarded.ts"
import * as Ollama from "../../src/Llm/Ollama.ts"
import { eventually, startOllama } from "../ollama.ts"

const optionsFor = (url: string, more: Partial<Ollama.OllamaOptions> = {}): Ollama.OllamaOptions => ({
  url,
  model: "small",
  temperature: 0.2,
  maxTokens: 100,
  contextTokens: 2048,
  timeoutMs: 60_000,
  ...more
})

const question = { query: "What?", system: "Cite.", prompt: "Answer what.", hits: [] }
const fragmentsOf = (llm: Llm["Type"], more: { readonly model?: string; readonly temperature?: number } = {}) =>
  Stream.unwrap(Effect.map(llm.answer({ ...question, ...more }), ({ fragments }) => fragments))
const collect = (llm: Llm["Type"], more = {}) =>
  Stream.runCollect(fragmentsOf(llm, more)).pipe(Effect.map((all) => [...all]))
const reasonOf = (llm: Llm["Type"], more = {}) => Effect.map(Effect.flip(collect(llm, more)), ({ reason }) => reason)

it.scopedLive("streams the fragments in order, of the configured model or the one that is named", () =>
  Effect.gen(function* () {
    const answer = Array.from({ length: 500 }, (_, n) => (n % 7 === 0 ? `\n${n}` : ` ${n}é漢`))
    const { asked, url } = yield* startOllama(answer)
    const llm = Ollama.make(optionsFor(url))
    assert.deepStrictEqual(yield* collect(llm), answer)
    assert.deepInclude(asked[0]!.body, {
      model: "small",
      stream: true,
      messages: [
        { role: "system", content: "Cite." },
        { role: "user", content: "Answer what." }
      ],
      options: { temperature: 0.2, num_predict: 100, num_ctx: 2048 }
    })
    yield* collect(llm, { model: "small:latest", temperature: 1.5 })
    assert.strictEqual(asked[1]!.body.model, "small:latest")
    assert.strictEqual(asked[1]!.body.options.temperature, 1.5)
    assert.deepStrictEqual(yield* llm.identity(), { backend: "ollama", model: "small" })
  })
)

it.scopedLive("says what to do when the model is missing, or cannot chat", () =>
  Effect.gen(function* () {
    const { faults, url } = yield* startOllama()
    const llm = Ollama.make(optionsFor(url))
    assert.include(yield* reasonOf(llm, { model: "absent" }), "`ollama pull absent`")
    assert.include(yield* reasonOf(llm, { model: "all-minilm" }), "does not support chat")
    faults.refuse = { status: 500, error: "model runner has unexpectedly stopped" }
    assert.include(yield* reasonOf(llm), "Ollama answered 500: model runner has unexpectedly stopped")
  })
)

it.scopedLive("says what to do when nobody answers there", () =>
  Effect.gen(function* () {
    const { stop, url } = yield* startOllama()
    yield* stop
    const reason = yield* reasonOf(Ollama.make(optionsFor(url)))
    assert.include(reason, url)
    assert.include(reason, "`ollama serve`")
  })
)

it.scopedLive("never takes an answer that was broken off for a whole one", () =>
  Effect.gen(function* () {
    const { faults, url } = yield* startOllama(["one", "two", "three"])
    const llm = Ollama.make(optionsFor(url))
    const broken = [
      { fault: { cutAfter: 2 }, says: "stopped in the middle of the answer" },
      { fault: { endAfter: 2 }, says: "stopped in the middle of the answer" },
      { fault: { endIn: 2 }, says: "stopped in the middle of the answer" },
      { fault: { errorAfter: { fragments: 2, error: "llama runner process has terminated" } }, says: "terminated" },
      { fault: { rubbishAt: { fragment: 2, line: "<html>502</html>" } }, says: "<html>502</html>" },
      ...[
        "17",
        "[1]",
        '{"hello":1}',
        '{"message":{"content":5}}',
        '{"message":"three"}',
        '{"done":"soon"}',
        "null"
      ].map((line) => ({
        fault: { rubbishAt: { fragment: 2, line } },
        says: `something that is not an answer: ${line}`
      }))
    ]
    for (const { fault, says } of broken) {
      Object.assign(
        faults,
        { cutAfter: undefined, endAfter: undefined, endIn: undefined, errorAfter: undefined, rubbishAt: undefined },
        fault
      )
      const seen: Array<string> = []
      const exit = yield* Effect.exit(Stream.runForEach(fragmentsOf(llm), (text) => Effect.sync(() => seen.push(text))))
      // What comes in one piece with the fault may be lost.
      assert.deepStrictEqual(seen, ["one", "two"].slice(0, Math.max(1, seen.length)), says)
      const error = yield* Effect.flip(exit)
      assert.include(error.reason, says)
    }
  })
)

it.scopedLive("says whether the answer was cut at llm.max_tokens, and takes none for no answer", () =>
  Effect.gen(function* () {
    const { faults, state, url } = yield* startOllama(["one", "two"])
    const llm = Ollama.make(optionsFor(url))
    const isCut = Effect.gen(function* () {
      const { fragments, isCut } = yield* llm.answer(question)
      yield* Stream.runDrain(fragments)
      return yield* isCut
    })
    assert.isFalse(yield* isCut)
    faults.doneReason = "length"
    assert.isTrue(yield* isCut)
    // As a model that thinks until its tokens are spent.
    for (const answer of [[], [" ", "\n"]]) {
      state.answer = answer
      assert.match(yield* reasonOf(llm), /100 tokens.*raise llm\.max_tokens/)
    }
    faults.doneReason = "stop"
    assert.include(yield* reasonOf(llm), "without an answer")
  })
)

it.scopedLive("asks once more over a new connection when the old one was closed, and only once", () =>
  Effect.gen(function* () {
    const { asked, faults, url } = yield* startOllama(["whole"])
    const llm = Ollama.make(optionsFor(url))
    faults.hangUp = 1
    assert.deepStrictEqual(yield* collect(llm), ["whole"])
    assert.lengthOf(asked, 2)
    faults.hangUp = 2
    assert.include(yield* reasonOf(llm), "stopped in the middle of the answer")
    assert.lengthOf(asked, 4)
  })
)

it.scopedLive("gives up on silence, at the start and between fragments, but not on slowness", () =>
  Effect.gen(function* () {
    const { faults, state, url } = yield* startOllama(["a", "b", "c", "d"])
    faults.slowMs = 300
    assert.deepStrictEqual(yield* collect(Ollama.make(optionsFor(url, { timeoutMs: 1000 }))), ["a", "b", "c", "d"])
    const hasty = Ollama.make(optionsFor(url, { timeoutMs: 40 }))
    assert.include(yield* reasonOf(hasty), "sent nothing for 40 ms")
    faults.silent = true
    assert.include(yield* reasonOf(hasty), "llm.timeout_ms")
    yield* eventually("both connections are closed", () => state.inFlight === 0 && state.closed === 2)
  })
)

it.scopedLive("leaving the stream closes the connection at once, also while the model is silent", () =>
  Effect.gen(function* () {
    const { faults, state, url } = yield* startOllama(Array.from({ length: 1000 }, () => "word "))
    // One that waited for more of the answer would wait for as long.
    const llm = Ollama.make(optionsFor(url, { timeoutMs: 600_000 }))
    faults.slowMs = 5
    const three = yield* Stream.runCollect(Stream.take(fragmentsOf(llm), 3))
    assert.strictEqual(three.length, 3)
    yield* eventually("the connection is closed", () => state.closed === 1)

    for (const fault of [{ slowMs: 60_000 }, { silent: true }]) {
      Object.assign(faults, fault)
      const before = state.closed
      const fiber = yield* Effect.fork(collect(llm))
      yield* eventually("it was asked", () => state.inFlight === 1)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
      yield* eventually("the connection is closed", () => state.closed === before + 1)
    }
  })
)

/** Asks who answers until it is as wanted: the choice is looked at again beside the questions. */
const until = (llm: Llm["Type"], backend: LlmIdentity["backend"]) =>
  llm.identity().pipe(
    Effect.filterOrFail((identity) => identity.backend === backend),
    Effect.retry({ schedule: Schedule.spaced("20 millis"), times: 500 })
  )

it.scopedLive("auto answers with Ollama while it is there and has the model, else with quotes", () =>
  Effect.gen(function* () {
    const ollama = yield* startOllama(["from the model"])
    const llm = yield* Auto.make(optionsFor(ollama.url), 0)
    assert.deepStrictEqual(yield* llm.identity(), { backend: "ollama", model: "small" })
    assert.deepStrictEqual(yield* collect(llm), ["from the model"])

    const absent = yield* Auto.make(optionsFor(ollama.url, { model: "absent" }), 0)
    const { backend, why } = yield* absent.identity()
    assert.strictEqual(backend, "extractive")
    assert.include(why, "`ollama pull absent`")
    assert.strictEqual((yield* collect(absent)).join(""), "Nothing in these documents answers this in so many words.")
    ollama.state.models = [...ollama.state.models, "absent:latest"]
    yield* until(absent, "ollama")

    yield* ollama.stop
    assert.include((yield* until(llm, "extractive")).why, "`ollama serve`")
    // Who names a model is not fobbed off with quotes.
    assert.include(yield* reasonOf(llm, { model: "small" }), "`ollama serve`")
    yield* ollama.start
    yield* until(llm, "ollama")
    assert.deepStrictEqual(yield* collect(llm), ["from the model"])
  })
)

it.scopedLive("auto keeps a model that is only slow to say that it is there", () =>
  Effect.gen(function* () {
    const { faults, url } = yield* startOllama(["from the model"])
    const llm = yield* Auto.make(optionsFor(url), 0)
    yield* llm.identity()
    for (const says of ["{}", '{"models":3}', "<html>"]) {
      faults.says = says
      for (let n = 0; n < 5; n++) assert.strictEqual((yield* llm.identity()).backend, "ollama", says)
    }
    faults.says = undefined
    faults.silent = true
    for (let n = 0; n < 5; n++) assert.strictEqual((yield* llm.identity()).backend, "ollama")
  })
)

it.scopedLive("drops what a model thinks aloud before it answers", () =>
  Effect.gen(function* () {
    const { url } = yield* startOllama(["<th", "ink>The passage ", "says [1].</thi", "nk>\n\n", "Cold", " [1]."])
    assert.deepStrictEqual(yield* collect(Ollama.make(optionsFor(url))), ["Cold", " [1]."])
  })
)

it.scopedLive("says what to do where a model only thought", () =>
  Effect.gen(function* () {
    const { url } = yield* startOllama(["<think>The passage ", "says so much"])
    assert.include(yield* reasonOf(Ollama.make(optionsFor(url))), "without an answer")
  })
)

it.scopedLive("blames no model for the silence of another that a question names, and trusts none for its answer", () =>
  Effect.gen(function* () {
    const { faults, state, url } = yield* startOllama(["from the model"])
    state.models = [...state.models, "big:latest"]
    const llm = yield* guarded(Ollama.make(optionsFor(url, { timeoutMs: 1000 })), { model: "small", url })
    faults.silent = true
    assert.include(yield* reasonOf(llm, { model: "big" }), "big may be too large")
    faults.silent = false
    assert.deepStrictEqual(yield* collect(llm), ["from the model"])
    faults.silent = true
    assert.include(yield* reasonOf(llm), "small may be too large")
    faults.silent = false
    assert.deepStrictEqual(yield* collect(llm, { model: "big" }), ["from the model"])
    assert.strictEqual((yield* llm.identity()).backend, "extractive")
  })
)

it.scopedLive("asks for the window that it counts on where the model is loaded with a smaller one", () =>
  Effect.gen(function* () {
    const { asked, faults, state, url } = yield* startOllama(["from the model"])
    faults.refusesLong = true
    state.window = 512
    const llm = Ollama.make(optionsFor(url, { contextTokens: undefined }))
    const ask = (words: number) =>
      Effect.flatMap(llm.answer({ ...question, prompt: "word ".repeat(words) }), ({ fragments }) =>
        Stream.mkString(fragments)
      )
    for (let n = 0; n < 2; n++) assert.strictEqual(yield* ask(1000), "from the model")
    assert.deepStrictEqual(
      asked.map(({ body }) => body.options.num_ctx),
      [undefined, 4096, 4096]
    )
    const { reason } = yield* Effect.flip(ask(5000))
    assert.include(reason, "exceeds the context length; lower llm.context_tokens to the model's window")
    assert.lengthOf(asked, 4)
  })
)

it.scopedLive("keeps one question waiting for a model that is silent, and quotes until it answers again", () =>
  Effect.gen(function* () {
    const { asked, faults, url } = yield* startOllama(["from the model"])
    const llm = yield* guarded(Ollama.make(optionsFor(url, { timeoutMs: 1000 })), { model: "small", url })
    assert.deepStrictEqual(yield* collect(llm), ["from the model"])
    faults.silent = true
    assert.include(yield* reasonOf(llm), "sent nothing for 1000 ms")
    const before = asked.length
    for (let n = 0; n < 3; n++) {
      const { fragments, llm: answered } = yield* llm.answer(question)
      assert.deepInclude(answered, { backend: "extractive" })
      assert.include(answered.why, "sent nothing for 1000 ms")
      assert.include(yield* Stream.mkString(fragments), "does not answer at present")
    }
    assert.isAtMost(asked.length, before + 1)
    // Who names a model waits for it.
    assert.include(yield* reasonOf(llm, { model: "small" }), "sent nothing")
    faults.silent = false
    yield* until(llm, "ollama")
    assert.deepStrictEqual(yield* collect(llm), ["from the model"])
    // A failure that is told at once is an error each time.
    faults.refuse = { status: 500, error: "out of memory" }
    for (let n = 0; n < 2; n++) assert.include(yield* reasonOf(llm), "out of memory")
    faults.refuse = { status: 429, error: "slow down" }
    assert.match(yield* reasonOf(llm), /slow down; ask again later/)
  })
)
