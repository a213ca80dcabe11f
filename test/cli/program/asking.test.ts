import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { AskReport } from "../../../src/cli/ask.ts"
import { PromptResponse } from "../../../src/model/SearchResult.ts"
import { ReindexReport } from "../../../src/cli/reindex.ts"
import { eventually, startOllama } from "../../ollama.ts"
import { library } from "./files.ts"
import { ended, Sandbox } from "./sandbox.ts"

const box = new Sandbox(library)
beforeAll(async () => {
  await box.ends(0, ["index", "docs"])
})
afterAll(() => box.remove())

const extractive = { CLEW_LLM_BACKEND: "extractive" }
const llmAt = (url: string) => ({ CLEW_LLM_BACKEND: "ollama", CLEW_LLM_URL: url, CLEW_LLM_MODEL: "small" })
const tide = ["ask", "when is the spring tide highest", "-k", "2"]

describe("ask", () => {
  it("answers without a model by quoting, and says so", async () => {
    const { stderr, stdout } = await box.ends(0, tide, undefined, { env: extractive })
    assert.match(stdout, /^“When sun and moon stand in a line, the spring tide is highest\.” \[1\]/)
    assert.match(stdout, /\n\[1\] docs\/tides\.md:\d+(-\d+)?  mentioned\n\[2\] \S+  not cited\n$/)
    assert.include(stderr, "answered by quoting the passages")
    assert.notInclude(stdout, "\u001b")
  })

  it.scopedLive("streams what the model says, then its sources, and marks the citations that do not hold", () =>
    Effect.gen(function* () {
      const answer = [
        "The spring tide is highest",
        " when sun and moon stand in a line [1].",
        "\nCheese is made of",
        " green gravel [1]. So [8]."
      ]
      const ollama = yield* startOllama(answer)
      const { code, stderr, stdout } = yield* Effect.promise(() => box.run(tide, { env: llmAt(ollama.url) }))
      assert.strictEqual(code, 0, stderr)
      assert.isTrue(stdout.startsWith(answer.join("")), stdout)
      assert.include(stderr, "answered by ollama small")
      assert.match(stdout, /\[1\] docs\/tides\.md:\d+\S*  \? mentioned in part/)
      assert.match(stdout, /✗ \[1\] does not say this: Cheese is made of green gravel\./)
      assert.include(stdout, "✗ There is no passage [8]")

      const json = yield* Effect.promise(() => box.json(AskReport, tide, { env: llmAt(ollama.url) }))
      assert.strictEqual(json.answer, answer.join(""))
      assert.deepStrictEqual(json.llm, { backend: "ollama", model: "small" })
      assert.lengthOf(json.sources, 2)
      assert.deepStrictEqual(
        json.citations.map(({ exists, index, verdict }) => [index, exists, verdict]),
        [
          [1, true, "mentioned"],
          [1, true, "not_found"],
          [8, false, "not_found"]
        ]
      )
    })
  )

  it.scopedLive("says so if an answer cites nothing, and why no model answers", () =>
    Effect.gen(function* () {
      const ollama = yield* startOllama(["<think>The tide?</think>", "It is high."])
      const { stderr, stdout } = yield* Effect.promise(() => box.run(tide, { env: llmAt(ollama.url) }))
      assert.isTrue(stdout.startsWith("It is high."), stdout)
      assert.include(stderr, "cites no passage")
      const auto = { CLEW_LLM_BACKEND: "auto", CLEW_LLM_URL: ollama.url, CLEW_LLM_MODEL: "absent" }
      const quoted = yield* Effect.promise(() => box.run(tide, { env: auto }))
      assert.match(quoted.stderr, /answered by quoting the passages, without a language model .*`ollama pull absent`/)
    })
  )

  it.scopedLive("says what to do when the model is not there, or breaks off", () =>
    Effect.gen(function* () {
      const ollama = yield* startOllama(["one ", "two "])
      const run = (...more: ReadonlyArray<string>) =>
        Effect.promise(() => box.run([...tide, ...more], { env: llmAt(ollama.url) }))
      const missing = yield* run("--model", "absent")
      assert.strictEqual(missing.code, 1)
      assert.strictEqual(missing.stdout, "")
      assert.include(missing.stderr, "`ollama pull absent`")
      ollama.faults.doneReason = "length"
      const spent = yield* run()
      assert.strictEqual(spent.code, 0)
      assert.include(spent.stderr, "cut at llm.max_tokens")
      assert.isTrue((yield* Effect.promise(() => box.json(AskReport, tide, { env: llmAt(ollama.url) }))).cut)
      delete ollama.faults.doneReason
      ollama.faults.cutAfter = 2
      const cut = yield* run()
      assert.strictEqual(cut.code, 1)
      assert.strictEqual(cut.stdout, "one two \n")
      assert.include(cut.stderr, "stopped in the middle of the answer")
      yield* ollama.stop
      const down = yield* run("--json")
      assert.strictEqual(down.code, 1)
      assert.strictEqual(down.stdout, "")
      assert.include(JSON.parse(down.stderr).detail, "`ollama serve`")
    })
  )

  it.scopedLive("Ctrl-C stops at once, the model too", () =>
    Effect.gen(function* () {
      const ollama = yield* startOllama(Array.from({ length: 10_000 }, () => "word "))
      ollama.faults.slowMs = 20
      const child = box.start(tide, { env: llmAt(ollama.url) })
      const end = ended(child)
      yield* Effect.async<void>((resume) => void child.stdout?.once("data", () => resume(Effect.void)))
      // The whole answer would take minutes.
      child.kill("SIGINT")
      assert.strictEqual((yield* Effect.promise(() => end)).code, 130)
      yield* eventually("the model's connection is closed", () => ollama.state.closed === 1)
    })
  )

  it("exits with 3 where nothing is found, and with 2 on wrong usage", async () => {
    await box.ends(3, ["ask", "zyzzyva", "--alpha", "0"], "nothing found", { env: extractive })
    for (const wrong of [
      ["ask"],
      ["ask", " "],
      ["ask", "x", "--temperature", "3"],
      ["ask", "x", "--no-hybrid", "--alpha", "1"]
    ]) {
      assert.strictEqual((await box.run(wrong)).code, 2, wrong.join(" "))
    }
  })
})

describe("prompt", () => {
  it("is ready to pipe: the prompt and nothing else", async () => {
    const { stderr, stdout } = await box.ends(0, ["prompt", "spring tide", "-k", "2"])
    assert.match(stdout, /^Answer the question from the numbered passages/)
    assert.match(stdout, /\n\nContext:\n\n\[1\] \(score: \d\.\d{4}\)\n```\nsource: .*tides\.md:\d+/)
    assert.match(stdout, /\nQuestion: spring tide\n$/)
    assert.strictEqual(stderr, "")
  })

  it("keeps to --max-tokens and says what it left out", async () => {
    const { omitted, prompt, sources } = await box.json(PromptResponse, [
      "prompt",
      "tide",
      "-k",
      "5",
      "--max-tokens",
      "160"
    ])
    assert.isAbove(omitted ?? 0, 0)
    assert.strictEqual(sources.length + (omitted ?? 0), 5)
    assert.include(prompt, "left out for length")
    const { stderr } = await box.run(["prompt", "tide", "-k", "5", "--max-tokens", "160"])
    assert.include(stderr, "left out to fit --max-tokens")
    const refused = await box.ends(2, ["prompt", "tide", "--max-tokens", "20"])
    assert.match(refused.stderr, /--max-tokens is 20, but .* give at least \d+/s)
    assert.strictEqual(refused.stdout, "")
  })
})

describe("reindex", () => {
  it.scopedLive("switches the collection to the configured embedder, and says so if there is nothing to do", () =>
    Effect.gen(function* () {
      const own = new Sandbox(library)
      yield* Effect.addFinalizer(() => Effect.sync(() => own.remove()))
      const ollama = yield* startOllama()
      const env = {
        CLEW_EMBEDDING_BACKEND: "ollama",
        CLEW_EMBEDDING_MODEL: "all-minilm",
        CLEW_EMBEDDING_URL: ollama.url
      }
      yield* Effect.promise(() => own.run(["index", "docs"]))
      const other = yield* Effect.promise(() => own.run(["query", "tide", "--no-hybrid"], { env }))
      // The packaged model asks nobody, so its collections are opened as recorded whatever is configured.
      assert.strictEqual(other.code, 0, other.stderr)

      const text = yield* Effect.promise(() => own.run(["reindex"], { env }))
      assert.strictEqual(text.code, 0, text.stderr)
      assert.match(text.stdout, /^Collection default now has ollama all-minilm \(32 dimensions\): \d+ passages in /)
      assert.include(text.stderr, "builtin clew-static-en-v1 (256 dimensions) → ollama all-minilm (32 dimensions)")
      const again = yield* Effect.promise(() => own.json(ReindexReport, ["reindex"], { env }))
      assert.isFalse(again.changed)
      const found = yield* Effect.promise(() => own.run(["query", "spring tide", "--no-hybrid", "-k1"], { env }))
      assert.include(found.stdout, "tides.md")

      // By default no embedder is insisted on, so that one which is down does not lose its collection.
      yield* ollama.stop
      const auto = yield* Effect.promise(() =>
        own.run(["reindex"], { env: { ...env, CLEW_EMBEDDING_BACKEND: "auto" } })
      )
      assert.strictEqual(auto.code, 0, auto.stderr)
      assert.match(auto.stdout, /^Collection default keeps ollama all-minilm \(32 dimensions\).*set embedding\.backend/)
      yield* ollama.start

      // Ollama gone: the keyword leg answers, and says so.
      yield* ollama.stop
      const degraded = yield* Effect.promise(() => own.run(["query", "spring tide", "-k1"], { env }))
      assert.strictEqual(degraded.code, 0)
      assert.include(degraded.stdout, "tides.md")
      assert.include(degraded.stderr, "embedder unavailable")
    })
  )

  it.scopedLive("killed in the middle, resumes where it stopped, and is searched by the old vectors meanwhile", () =>
    Effect.gen(function* () {
      const lines = Array.from({ length: 700 }, (_, n) =>
        JSON.stringify({ _id: `d${n}`, text: `Lantern number ${n} hangs in the hall.` })
      )
      const own = new Sandbox({ "docs/many.jsonl": lines.join("\n") })
      yield* Effect.addFinalizer(() => Effect.sync(() => own.remove()))
      const ollama = yield* startOllama()
      const env = {
        CLEW_EMBEDDING_BACKEND: "ollama",
        CLEW_EMBEDDING_MODEL: "all-minilm",
        CLEW_EMBEDDING_URL: ollama.url
      }
      yield* Effect.promise(() => own.run(["index", "docs", "-q"]))
      ollama.faults.slowMs = 60
      const child = own.start(["reindex"], { env })
      const end = ended(child)
      // 256 passages are stored at a time, in batches of 32.
      yield* eventually("the first are stored", () => ollama.asked.length >= 1 + 14)
      child.kill("SIGKILL")
      yield* Effect.promise(() => end)
      const old = yield* Effect.promise(() => own.run(["query", "lantern 5", "--no-hybrid", "-k1"]))
      assert.strictEqual(old.code, 0, old.stderr)
      delete ollama.faults.slowMs
      const { code, stderr } = yield* Effect.promise(() => own.run(["reindex"], { env }))
      assert.strictEqual(code, 0, stderr)
      assert.match(stderr, /resuming after \d+ passages/)
    })
  )

  it.scopedLive("of two at once, the one that was taken over says so, and the collection has one model", () =>
    Effect.gen(function* () {
      const own = new Sandbox(library)
      yield* Effect.addFinalizer(() => Effect.sync(() => own.remove()))
      const ollama = yield* startOllama()
      ollama.state.models.push("all-minilm-l12:latest")
      const envOf = (model: string) => ({
        CLEW_EMBEDDING_BACKEND: "ollama",
        CLEW_EMBEDDING_MODEL: model,
        CLEW_EMBEDDING_URL: ollama.url
      })
      yield* Effect.promise(() => own.run(["index", "docs", "-q"]))
      let release = () => {}
      ollama.faults.until = new Promise((resolve) => (release = resolve))
      const child = own.start(["reindex"], { env: envOf("all-minilm") })
      const end = ended(child)
      yield* eventually("it asks for the width", () => ollama.asked.length >= 1)
      release()
      ollama.faults.until = new Promise((resolve) => (release = resolve))
      yield* eventually("the change has begun", () => ollama.asked.length >= 2)
      delete ollama.faults.until
      const later = yield* Effect.promise(() => own.run(["reindex"], { env: envOf("all-minilm-l12") }))
      assert.strictEqual(later.code, 0, later.stderr)
      release()
      const earlier = yield* Effect.promise(() => end)
      assert.strictEqual(earlier.code, 1)
      assert.include(earlier.stderr, "took over collection default")
      assert.notInclude(earlier.stderr, "bug in Clew")
      const found = yield* Effect.promise(() =>
        own.run(["query", "spring tide", "--no-hybrid", "-k1"], { env: envOf("all-minilm-l12") })
      )
      assert.include(found.stdout, "tides.md", found.stderr)
    })
  )
})
