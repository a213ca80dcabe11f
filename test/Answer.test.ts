import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { Answer } from "../src/Answer.ts"
import { Chunker } from "../src/Chunker.ts"
import { LlmConfig, PipelineConfig } from "../src/Config.ts"
import * as Extractive from "../src/Llm/Extractive.ts"
import { Llm, noUsage, type Question } from "../src/Llm.ts"
import { Prompt } from "../src/Prompt.ts"
import { nextTurn } from "../src/runtime/EventLoop.ts"
import { Search } from "../src/Search.ts"
import { defaultCollection } from "../src/model/Collection.ts"
import { Tokenizer } from "../src/packaged/Tokenizer.ts"
import { charactersOf, tokensOf, usualRates } from "../src/tokenizer/tokens.ts"
import { embeddersLayer, makeEmbedder, searchConfig } from "./fakes.ts"
import { hit } from "./hits.ts"
import { Indexer } from "../src/Indexer.ts"
import * as Sqlite from "../src/Store/Sqlite.ts"

const config = {
  backend: "ollama",
  model: "fake",
  url: "http://127.0.0.1:1",
  temperature: 0.2,
  maxTokens: 100,
  contextTokens: 600,
  timeoutMs: 1000,
  apiKey: Option.none()
} as const

const contents = [
  "The north wind blows cold over the harbour in winter.",
  "In the east the sun comes up over the fields of barley.",
  "Swallows fly south before the first frost.",
  "The west gate is shut at dusk by the watchman."
]

/** An index of four documents, with a model that is told what to say and remembers what it was asked. */
const makeWith = Effect.fnUntraced(function* (given: Partial<LlmConfig["Type"]> = {}, extractive = false) {
  const { down, embedder } = yield* makeEmbedder()
  const asked: Array<Question> = []
  const set: LlmConfig["Type"] = { ...config, ...given }
  const llm = Layer.succeed(Llm, {
    window: () =>
      Effect.succeed(
        extractive
          ? undefined
          : {
              contextTokens: set.contextTokens ?? 4096,
              room: (set.contextTokens ?? 4096) - set.maxTokens,
              countTokens: (text: string) => tokensOf(charactersOf(text), usualRates)
            }
      ),
    identity: (model = "fake") =>
      Effect.succeed(extractive ? { backend: "extractive" as const } : { backend: "ollama" as const, model }),
    answer: (question) => {
      asked.push(question)
      return Effect.succeed({
        llm: { backend: "ollama", model: question.model ?? "fake" },
        fragments: Stream.make("Cold ", "wind [1]."),
        isCut: Effect.succeed(false),
        usage: Effect.succeed(noUsage)
      })
    }
  })
  const layer = Answer.Default.pipe(
    Layer.provideMerge(Prompt.Default),
    Layer.provideMerge(Layer.merge(Search.Default, Indexer.Default)),
    Layer.provide(Chunker.Default),
    Layer.provideMerge(Layer.mergeAll(Sqlite.layerMemory, embeddersLayer(embedder), Tokenizer.Default, llm)),
    Layer.provide(
      Layer.mergeAll(
        searchConfig(),
        Layer.succeed(LlmConfig, set),
        Layer.succeed(PipelineConfig, { chunkSize: 256, chunkOverlap: 32 })
      )
    )
  )
  return { asked, down, layer }
})
const make = makeWith()

const indexed = (texts: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const indexer = yield* Indexer
    const collection = yield* indexer.open(defaultCollection)
    const drafts = texts.map((content, n) =>
      indexer.draft({ content, docId: undefined, source: `${n}.md`, title: undefined, metadata: {} })
    )
    const compared = yield* indexer.compare(defaultCollection, drafts)
    yield* Stream.runDrain(indexer.through(collection)(Stream.make({ compared })))
  })

it.effect("passage n, entry n of the prompt and hit n are the same", () =>
  Effect.gen(function* () {
    const { asked, layer } = yield* make
    yield* Effect.gen(function* () {
      yield* indexed(contents)
      const { generation, hits, omitted } = yield* (yield* Answer).ask({
        query: "north wind",
        topK: 4,
        model: "other",
        temperature: 1
      })
      assert.lengthOf(hits, 4)
      assert.strictEqual(omitted, 0)
      const { fragments, llm } = yield* generation
      assert.deepStrictEqual(llm, { backend: "ollama", model: "other" })
      assert.strictEqual(yield* Stream.mkString(fragments), "Cold wind [1].")
      const [question] = asked
      assert.deepInclude(question!, { query: "north wind", model: "other", temperature: 1 })
      for (const [at, { document, passage }] of hits.entries()) {
        assert.include(
          question!.prompt,
          `[${at + 1}] (score: ${hits[at]!.score.toFixed(4)})\n\`\`\`\nsource: ${document.source}:1\n\n${passage.text}`
        )
      }
    }).pipe(Effect.provide(layer))
  })
)

it.effect("what the model's window has no room for is left out of the prompt, and no source", () =>
  Effect.gen(function* () {
    const { asked, layer } = yield* make
    yield* Effect.gen(function* () {
      yield* indexed(
        Array.from({ length: 10 }, (_, n) => `Number ${n}. ${"the north wind blows over the harbour ".repeat(15)}`)
      )
      const request = { query: "north wind", topK: 10 }
      const { ask, verify } = yield* Answer
      const { generation, hits, omitted } = yield* ask(request)
      assert.lengthOf(hits, 10 - omitted)
      assert.isAbove(omitted, 5)
      assert.isBelow(omitted, 10)
      yield* generation
      const { prompt } = asked[0]!
      assert.lengthOf(asked[0]!.hits, hits.length)
      // It was found, but the model never saw it.
      const [shown, unseen] = yield* verify(
        `The north wind blows over the harbour [1]. The north wind blows over the harbour [${hits.length + 1}].`,
        hits
      )
      assert.deepInclude(shown!, { exists: true, verdict: "mentioned" })
      assert.deepInclude(unseen!, { exists: false, support: 0, verdict: "not_found" })
      const tokens = tokensOf(charactersOf(asked[0]!.system + prompt), usualRates)
      assert.isAtMost(tokens, config.contextTokens - config.maxTokens)
      assert.include(prompt, `\n[${10 - omitted}] (score`)
      assert.notInclude(prompt, `\n[${11 - omitted}] (score`)
      assert.include(prompt, `(${omitted} more passages were left out for length)`)
    }).pipe(Effect.provide(layer))
  })
)

const longQuestion = "北风吹过港口".repeat(1600)

it.effect("a question that leaves no room for a passage is refused, naming the setting, before a model is asked", () =>
  Effect.gen(function* () {
    const cases = [
      { query: "north wind", contextTokens: 256, found: 1 },
      { query: `north wind ${longQuestion}`, contextTokens: 4096, found: 1 },
      { query: longQuestion, contextTokens: 4096, found: 0 }
    ]
    for (const { contextTokens, found, query } of cases) {
      const { asked, layer } = yield* makeWith({ contextTokens })
      yield* Effect.gen(function* () {
        yield* indexed([`Number 1. ${"the north wind blows over the harbour ".repeat(15)}`])
        const { generation, hits, omitted } = yield* (yield* Answer).ask({ query })
        assert.lengthOf(hits, 0)
        const error = yield* Effect.flip(generation)
        assert.strictEqual(error._tag, "LlmUnavailable")
        assert.include(error.reason, "llm.context_tokens")
        assert.strictEqual(omitted, found)
        assert.isEmpty(asked)
      }).pipe(Effect.provide(layer))
    }
  })
)

it.effect("code is sent and quoted as it is, also of a passage in the middle of a long block", () =>
  Effect.gen(function* () {
    const gates = Array.from(
      { length: 60 },
      (_, n) => `  gateway${n}:\n    image: harbour/gate:${n}\n    ports: [80, ${n + 443}]`
    )
    const text = `# Compose\n\nThe file reads [1]:\n\n\`\`\`yaml\nservices:\n${gates.join("\n")}\n\`\`\`\n\nGates rust [12], says the guard.\n`
    const { asked, layer } = yield* makeWith({ contextTokens: 100_000 })
    yield* Effect.gen(function* () {
      yield* indexed([text])
      const { generation, hits } = yield* (yield* Answer).ask({ query: "gateway30 ports", topK: 20 })
      yield* generation
      const { prompt } = asked[0]!
      assert.isAbove(hits.length, 2)
      for (const gate of gates)
        if (hits.some(({ passage }) => passage.text.includes(gate))) assert.include(prompt, gate)
      assert.include(prompt, "ports: [80, 473]")
      if (prompt.includes("Gates rust")) assert.include(prompt, "Gates rust (12)")
      const quotes = [{ n: 1, text: hits[0]!.passage.text.trim().replace(/\s+/g, " ").slice(0, 200), isVerbatim: true }]
      const [code = ""] = [
        ...(yield* Stream.runCollect(
          (yield* Extractive.service.answer({ ...asked[0]!, model: undefined, quotes })).fragments
        ))
      ]
      assert.include(code, "\n    ports: [80, ")
      assert.match(code, /^```\n[^]*\n```\n\[1\]$/)
    }).pipe(Effect.provide(layer))
  })
)

it.effect("what quotes without a model has no window to fit into", () =>
  Effect.gen(function* () {
    for (const backend of ["auto", "extractive"] as const) {
      const { asked, layer } = yield* makeWith({ backend, contextTokens: 256 }, true)
      yield* Effect.gen(function* () {
        yield* indexed([`Number 1. ${"the north wind blows over the harbour ".repeat(15)}`])
        const { generation, hits, omitted } = yield* (yield* Answer).ask({ query: "north wind" })
        assert.lengthOf(hits, 1)
        assert.strictEqual(omitted, 0)
        yield* generation
        assert.lengthOf(asked[0]!.hits, 1)
      }).pipe(Effect.provide(layer))
    }
  })
)

it.effect(
  "is quoted without a model also where the question has other forms of the words of a text in its language",
  () =>
    Effect.gen(function* () {
      const { asked, layer } = yield* makeWith({ backend: "extractive" }, true)
      const told = "Ненужные ветки на сервере удаляет команда, которую вызывает хозяин репозитория."
      yield* Effect.gen(function* () {
        yield* indexed([`Хлеб пекут в печи, и он остывает на столе. Его едят утром.`, told])
        const { generation } = yield* (yield* Answer).ask({
          query: "Какой командой хозяину удалять ненужную ветку с сервера?"
        })
        yield* generation
        assert.deepStrictEqual(asked[0]!.quotes, [{ n: 1, text: told, isVerbatim: true }])
      }).pipe(Effect.provide(layer))
    })
)

it.effect("a quote of a passage's first sentence is mentioned, in any language", () =>
  Effect.gen(function* () {
    const { layer } = yield* make
    yield* Effect.gen(function* () {
      const { verify } = yield* Answer
      const dog = hit({ title: "Hunde", heading: ["Nachts"], text: "Der Hund des Nachbarn bellt in der Nacht." })
      for (const quote of [`“${dog.passage.text}” [1]`, `Nachts: ${dog.passage.text} [1]`]) {
        const [{ verdict } = { verdict: undefined }] = yield* verify(quote, [dog])
        assert.strictEqual(verdict, "mentioned")
      }
    }).pipe(Effect.provide(layer))
  })
)

it.effect("checks that what is cited exists, and bears out what is said", () =>
  Effect.gen(function* () {
    const { down, layer } = yield* make
    yield* Effect.gen(function* () {
      yield* indexed(contents)
      const { ask, verify } = yield* Answer
      const request = { query: "north wind", topK: 2 }
      const { hits } = yield* ask(request)
      const north = hits.findIndex(({ document }) => document.source === "0.md") + 1
      const answer = `The north wind is cold in winter [${north}]. The west gate opens at noon for trade caravans [${north}]. Swallows [9].`
      const check = Effect.map(verify(answer, hits), (verdicts) =>
        verdicts.map(({ exists, n, verdict }) => [n, exists, verdict])
      )
      const expected = [
        [north, true, "mentioned"],
        [north, true, "not_found"],
        [9, false, "not_found"]
      ]
      assert.deepStrictEqual(yield* check, expected)
      // Without the embedder the words alone decide.
      yield* Ref.set(down, "switched off")
      assert.deepStrictEqual(yield* check, expected)
      yield* Ref.set(down, "silent")
      const waiting = yield* Effect.fork(check)
      while (waiting.unsafePoll() === null) yield* Effect.zipRight(TestClock.adjust("10 seconds"), nextTurn)
      assert.deepStrictEqual(yield* Fiber.join(waiting), expected)
      assert.deepStrictEqual(yield* verify("Nothing is cited here.", hits), [])
    }).pipe(Effect.provide(layer))
  })
)
