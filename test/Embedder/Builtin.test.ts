import { assert, it, vi } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { execFileSync } from "node:child_process"
import { performance } from "node:perf_hooks"
import { type RunningScriptOptions, Script } from "node:vm"
import { Embedder } from "../../src/Embedder.ts"
import * as Builtin from "../../src/Embedder/Builtin.ts"
import { Tokenizer } from "../../src/packaged/Tokenizer.ts"
import { embedderContract } from "../contracts/Embedder.ts"
import vectors from "../fixtures/clew-static-en-v1/vectors.json" with { type: "json" }
import { compassTokens, wordPieceJson, writeModel } from "./modelFolder.ts"

embedderContract("the packaged model", Builtin.layer, { unknown: "漢字 мир 😀" })

it.layer(Builtin.layer)("the packaged model", (it) => {
  it.effect("gives the ids and the vectors of the Python library", () =>
    Effect.gen(function* () {
      const { encode, isWordless } = yield* (yield* Tokenizer).load
      const { embedPassages, embedQuery } = yield* Embedder
      const found = yield* embedPassages(vectors.texts.map(({ text }) => text))
      assert.isAbove(vectors.texts.length, 40)
      let compared = 0
      for (const [i, { first8, ids, norm, sum, text }] of vectors.texts.entries()) {
        assert.deepStrictEqual(encode(text), ids, text)
        assert.deepStrictEqual(yield* embedQuery(text), found[i])
        // Python's vectors have a part of punctuation.
        if (ids.some(isWordless)) {
          const spoken = text.replace(/[^\p{L}\p{M}\p{N}]+/gu, " ")
          assert.deepStrictEqual(yield* embedQuery(spoken), found[i], text)
          assert.strictEqual(Option.isSome(found[i]!), !ids.every(isWordless), text)
          continue
        }
        compared++
        assert.strictEqual(Option.isSome(found[i]!), norm > 0, text)
        const vector = Option.getOrElse(found[i]!, () => new Float32Array(vectors.dim))
        for (const [d, value] of first8.entries()) assert.closeTo(vector[d]!, value, 1e-4, text)
        assert.closeTo(
          vector.reduce((a, b) => a + b, 0),
          sum,
          1e-4,
          text
        )
      }
      assert.isAbove(compared, 10)
    }).pipe(Effect.provide(Tokenizer.Default))
  )

  it.effect("tells how much of a query it knows, by letters, whatever stands between them", () =>
    Effect.gen(function* () {
      const { knownShare } = yield* Embedder
      for (const [text, share] of [
        ["tides and the moon", 1],
        ["所有权的规则", 0],
        ["!?", 1],
        ["Rust 所有权", 4 / 7],
        ["Какие there", 0.5],
        ["이것 is", 0.5]
      ] as const) {
        assert.closeTo(yield* knownShare!(text), share, 1e-9, text)
        assert.closeTo(yield* knownShare!(`${text}？！…`), share, 1e-9, text)
      }
    })
  )

  it.effect("says what it is without being read", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* (yield* Embedder).identity, {
        backend: "builtin",
        model: "clew-static-en-v1",
        dimensions: 256,
        queryPrefix: "",
        passagePrefix: ""
      })
    })
  )
})

it.live("leaves the event loop its turns while it embeds many passages", () =>
  Effect.gen(function* () {
    const { embedPassages } = yield* Embedder
    const passage = "supersonic flow over a slender delta wing ".repeat(15)
    yield* embedPassages([passage])
    let turns = 0
    const counting = setInterval(() => turns++, 1)
    const began = performance.now()
    yield* embedPassages(Array.from({ length: 3000 }, () => passage))
    const took = performance.now() - began
    clearInterval(counting)
    // Without turns there would be none, however long it took.
    assert.isAbove(turns, 2, `in ${took} ms`)
  }).pipe(Effect.provide(Builtin.layer))
)

it.live("can be interrupted between passages", () =>
  Effect.gen(function* () {
    const { embedPassages } = yield* Embedder
    const endless = embedPassages(Array.from({ length: 2_000_000 }, () => "supersonic flow"))
    assert.deepStrictEqual(yield* Effect.timeoutOption(endless, "20 millis"), Option.none())
  }).pipe(Effect.provide(Builtin.layer))
)

it.layer(NodeFileSystem.layer)("a model in a folder", (it) => {
  const embedder = (folder: string, options?: Parameters<typeof Builtin.layerDirectory>[1]) =>
    Effect.provide(Embedder, Builtin.layerDirectory(folder, options))

  it.scoped("is called by its absolute path and what it holds", () =>
    Effect.gen(function* () {
      const folder = yield* writeModel()
      const before = yield* (yield* embedder(folder)).identity
      assert.match(before.model, /^\/.+@[0-9a-f]{8}$/)
      assert.strictEqual(before.model.slice(0, -9), folder)
      assert.strictEqual(before.dimensions, 3)
      assert.deepStrictEqual(yield* (yield* embedder(folder)).identity, before)

      yield* writeModel({ tensors: { embeddings: { dtype: "F32", shape: [5, 3], values: Array(15).fill(1) } } }, folder)
      assert.notStrictEqual((yield* (yield* embedder(folder)).identity).model, before.model)
    })
  )

  it.scoped("puts the prefixes before queries and passages, and into the identity", () =>
    Effect.gen(function* () {
      const folder = yield* writeModel()
      const plain = yield* embedder(folder)
      const prefixed = yield* embedder(folder, { queryPrefix: "north ", passagePrefix: "east " })
      assert.deepStrictEqual(yield* prefixed.embedQuery("east"), yield* plain.embedQuery("north east"))
      assert.deepStrictEqual(yield* prefixed.embedPassages(["south"]), yield* plain.embedPassages(["east south"]))
      assert.include(yield* prefixed.identity, { queryPrefix: "north ", passagePrefix: "east " })
    })
  )

  it.scoped("waits for no pipe", () =>
    Effect.gen(function* () {
      for (const name of ["model.safetensors", "tokenizer.json", "config.json"]) {
        const folder = yield* writeModel({ files: { [name]: undefined } })
        execFileSync("mkfifo", [`${folder}/${name}`])
        const { identity } = yield* embedder(folder)
        assert.match((yield* Effect.flip(identity)).reason, /cannot be read: it is not a regular file$/)
      }
    })
  )

  it.scoped("ends rules of a tokenizer that would never end, and goes on with the next text", () =>
    Effect.gen(function* () {
      // A thirtieth of the time: each of four attempts would take the processor for all of it.
      const { runInContext } = Script.prototype
      yield* Effect.acquireRelease(
        Effect.sync(() =>
          vi.spyOn(Script.prototype, "runInContext").mockImplementation(function (this: Script, context, options) {
            const { timeout } = options as RunningScriptOptions
            return runInContext.call(this, context, { timeout: timeout! / 30 })
          })
        ),
        (spy) => Effect.sync(() => spy.mockRestore())
      )
      const regex = { type: "Split", pattern: { Regex: "(n+)+$| " }, behavior: "Isolated" }
      const tokenizer = wordPieceJson(compassTokens, { pre_tokenizer: regex })
      const { embedPassages, embedQuery } = yield* Builtin.make({ folder: yield* writeModel({ tokenizer }) })
      const failed = yield* Effect.flip(embedPassages([`${"n".repeat(50)}!`]))
      assert.match(failed.reason, /^.*clew-model-.*: the normalizer and pre_tokenizer .* \(they take more than 3 s\)/)
      assert.isTrue(Option.isSome(yield* embedQuery("north")))
      const added = [{ id: 0, content: `${"n".repeat(50)}!`, normalized: true }]
      const endless = { type: "Replace", pattern: { Regex: "(n+)+$" }, content: "" }
      const atLoading = wordPieceJson(compassTokens, { normalizer: endless, added_tokens: added })
      const { embedQuery: load } = yield* Builtin.make({ folder: yield* writeModel({ tokenizer: atLoading }) })
      assert.include((yield* Effect.flip(load("north"))).reason, "take more than 3 s")
      const replaced = { type: "Replace", pattern: { String: "n" }, content: "n".repeat(2 ** 20) }
      const grown = wordPieceJson(compassTokens, { normalizer: replaced })
      const { embedQuery: fill } = yield* Builtin.make({ folder: yield* writeModel({ tokenizer: grown }) })
      assert.include((yield* Effect.flip(fill("n".repeat(1000)))).reason, "(Invalid string length)")
    })
  )

  it.scoped("is read once, and again after it failed", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* writeModel({ files: { "model.safetensors": undefined } })
      const { embedQuery, identity } = yield* embedder(folder)
      assert.include((yield* Effect.flip(identity)).reason, `${folder}/model.safetensors does not exist`)
      assert.include(
        (yield* Effect.flip(embedQuery("north"))).reason,
        "model.safetensors, tokenizer.json and config.json"
      )

      yield* writeModel({}, folder)
      const there = yield* embedQuery("north")
      assert.isTrue(Option.isSome(there))
      yield* fs.remove(`${folder}/model.safetensors`)
      assert.deepStrictEqual(yield* embedQuery("north"), there)
    })
  )
})
