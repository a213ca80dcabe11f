import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { layerOf } from "../../src/App.ts"
import { Embedder } from "../../src/Embedder.ts"
import { Embedders } from "../../src/Embedders.ts"
import * as Onnx from "../../src/Embedder/Onnx.ts"
import { embedderContract } from "../contracts/Embedder.ts"
import { safetensors } from "./modelFolder.ts"
import { hasRuntime, rows, withRuntime, writeTiny } from "../onnx/tiny.ts"

type Given = Parameters<typeof writeTiny>[0] & Partial<Onnx.OnnxOptions>

const opened = Effect.fnUntraced(function* ({ dimensions, passagePrefix, queryPrefix, ...tiny }: Given = {}) {
  yield* withRuntime
  const folder = yield* writeTiny(tiny)
  return { folder, ...(yield* Onnx.make({ folder, threads: 1, dimensions, queryPrefix, passagePrefix })) }
}, Effect.provide(NodeFileSystem.layer))

const refusal = (given: Given) =>
  Effect.flatMap(opened(given), ({ folder, identity }) =>
    Effect.map(Effect.flip(identity), ({ reason }) => reason.replaceAll(folder, "M"))
  )

embedderContract(
  `a tiny model in ONNX, run by ${hasRuntime ? "onnxruntime-node" : "a stand-in, since onnxruntime-node is not there"}`,
  Layer.scoped(Embedder, opened()),
  { texts: ["north", "east", "north east", "northern", "east east north"], unknown: "漢字 мир" }
)

const vectorOf = (embedder: Pick<Embedder["Type"], "embedPassages">, text: string) =>
  Effect.map(embedder.embedPassages([text]), ([vector]) => Array.from(Option.getOrThrow(vector!)))

const close = (actual: ReadonlyArray<number>, expected: ReadonlyArray<number>) => {
  const length = Math.hypot(...expected)
  assert.lengthOf(actual, expected.length)
  expected.forEach((value, at) => assert.closeTo(actual[at]!, value / length, 1e-6))
}

it.scopedLive("pools as the folder says: mean, the first token, or the last", () =>
  Effect.gen(function* () {
    // [CLS] north east [SEP], whose special tokens point down here.
    const rows = [
      [9, 9, 9],
      [3, 4, 0],
      [0, 0, 2],
      [-3, -4, 0],
      [0, 5, 12],
      [1, -1, 0],
      [0, -1, 1]
    ]
    for (const [pooling, expected] of [
      [undefined, [4, 2, 3]],
      ["pooling_mode_mean_tokens", [4, 2, 3]],
      ["pooling_mode_cls_token", [1, -1, 0]],
      ["pooling_mode_lasttoken", [0, -1, 1]]
    ] as const) {
      const mode = pooling?.replace(/^pooling_mode_|_tokens?$/g, "")
      const files = [
        pooling === undefined ? {} : { "1_Pooling/config.json": { [pooling]: true, dimension: 3 } },
        mode === undefined ? {} : { "1_Pooling/config.json": { pooling_mode: mode, embedding_dimension: 3 } }
      ]
      for (const each of files) close(yield* vectorOf(yield* opened({ rows, files: each }), "north east"), expected)
    }
    const { identity } = yield* opened({ files: { "1_Pooling/config.json": { pooling_mode: ["mean", "max"] } } })
    assert.include((yield* Effect.flip(identity)).reason, "asks for mean and max")
  })
)

it.scopedLive("has a dense layer after pooling where the folder has one", () =>
  Effect.gen(function* () {
    const embedder = yield* opened({
      files: {
        "modules.json": ["Transformer", "Pooling", "Dense", "Normalize"].map((name) => ({
          path: name === "Dense" ? "2_Dense" : "",
          type: `sentence_transformers.models.${name}`
        })),
        "2_Dense/config.json": { activation_function: "torch.nn.modules.linear.Identity" },
        "2_Dense/model.safetensors": safetensors({
          "linear.weight": { dtype: "F32", shape: [2, 3], values: [1, 0, 0, 0, 0, 1] },
          "linear.bias": { dtype: "F32", shape: [2], values: [0, 1] }
        })
      }
    })
    assert.strictEqual((yield* embedder.identity).dimensions, 2)
    // The mean of four rows, the special ones being zero, is 0.75, 1, 0.5.
    close(yield* vectorOf(embedder, "north east"), [0.75, 1.5])
  })
)

it.scopedLive("keeps the first dimensions, if fewer are configured", () =>
  Effect.gen(function* () {
    const embedder = yield* opened({ dimensions: 2 })
    assert.strictEqual((yield* embedder.identity).dimensions, 2)
    close(yield* vectorOf(embedder, "north"), [3, 4])
    assert.match(yield* refusal({ dimensions: 4 }), /embedding.dimensions is 4, but M gives 3: set that or fewer/)
  })
)

it.scopedLive("reads a text longer than its window in parts, and says so: nothing is cut off", () =>
  Effect.gen(function* () {
    // Six tokens, two of them special.
    const embedder = yield* opened({ window: 6 })
    const told: Array<string> = []
    const text = `${"north ".repeat(5)}${"east ".repeat(4)}`
    const [vector] = yield* embedder.embedPassages([text], (at, what) => Effect.sync(() => told.push(`${at}: ${what}`)))
    // Three parts of three tokens: north alone, two north and an east, east alone.
    const mixed = [6, 8, 2].map((value) => value / Math.hypot(6, 8, 2))
    close(Array.from(Option.getOrThrow(vector!)), [0.6 + mixed[0]!, 0.8 + mixed[1]!, mixed[2]! + 1])
    assert.lengthOf(told, 1)
    assert.match(told[0]!, /^0: longer than the 6 tokens .* the mean of 3 parts; .* pipeline.chunk_size/)
  })
)

it.scopedLive("takes the prefixes of the configuration, else the folder's, else its family's", () =>
  Effect.gen(function* () {
    const prompts = { "config_sentence_transformers.json": { prompts: { query: "east ", document: "south " } } }
    // With a pooling file, since the first token, which some families pool, counts nothing here.
    const config = (name: string) => ({
      "config.json": { _name_or_path: name },
      "1_Pooling/config.json": { pooling_mode_mean_tokens: true }
    })
    for (const [given, query, passage] of [
      [{}, "", ""],
      [{ files: config("intfloat/multilingual-e5-small") }, "query: ", "passage: "],
      [{ files: config("BAAI/bge-small-en-v1.5") }, "Represent this sentence for searching relevant passages: ", ""],
      [{ files: config("Snowflake/snowflake-arctic-embed-m-v2.0") }, "query: ", ""],
      [{ files: { ...config("intfloat/e5-small"), ...prompts } }, "east ", "south "],
      [{ files: prompts, queryPrefix: "", passagePrefix: "north " }, "", "north "]
    ] as const) {
      const { passagePrefix, queryPrefix } = yield* (yield* opened(given)).identity
      assert.deepStrictEqual([queryPrefix, passagePrefix], [query, passage])
    }
    const embedder = yield* opened({ queryPrefix: "north ", passagePrefix: "east " })
    close(yield* vectorOf(embedder, "north"), [3, 4, 2])
    close(Array.from(Option.getOrThrow(yield* embedder.embedQuery("north"))), [6, 8, 0])
  })
)

it.scopedLive("expects of a collection the prefixes that its folder names, unless others are configured", () =>
  Effect.gen(function* () {
    const prompts = { "config_sentence_transformers.json": { prompts: { query: "east ", document: "south " } } }
    const { folder, identity } = yield* opened({ files: prompts })
    const recorded = yield* identity
    for (const [given, expected] of [
      [{}, { query: "east ", passage: "south " }],
      [{ query_prefix: "west " }, { query: "west ", passage: "south " }]
    ] as const) {
      const { prefixesOf } = yield* Effect.provide(
        Embedders,
        yield* Layer.build(layerOf({ embedding: { backend: "onnx", model: folder, ...given } }))
      )
      assert.deepStrictEqual(prefixesOf(recorded), expected)
    }
  })
)

it.scopedLive("is identified by its folder and content", () =>
  Effect.gen(function* () {
    const [one, same, other] = yield* Effect.all([
      opened(),
      opened(),
      opened({ rows: [[1], [2], [3], [4], [5], [6], [7]] })
    ])
    const hash = ({ identity }: typeof one) => Effect.map(identity, ({ model }) => model.split("@")[1])
    assert.strictEqual((yield* one.identity).backend, "onnx")
    assert.match((yield* one.identity).model, /^\/.*@[0-9a-f]{8}$/)
    assert.strictEqual(yield* hash(one), yield* hash(same))
    assert.notStrictEqual(yield* hash(one), yield* hash(other))
    const last = [...rows.slice(0, 6), [1, 0, 0]]
    const pooled = (mode: string) => opened({ rows: last, files: { "1_Pooling/config.json": { [mode]: true } } })
    const [mean, end] = yield* Effect.all([pooled("pooling_mode_mean_tokens"), pooled("pooling_mode_lasttoken")])
    assert.notStrictEqual(yield* hash(mean), yield* hash(end))
    // The weights may be in files beside the model, named by its exporter.
    for (const name of ["model.onnx_data", "model.onnx.data", "model.onnx_data_1"]) {
      const weights = (content: string) => opened({ files: { [`onnx/${name}`]: Buffer.from(content) } })
      assert.notStrictEqual(yield* hash(yield* weights("a")), yield* hash(yield* weights("b")), name)
    }
  })
)

it.scopedLive("tells the languages on its model card", () =>
  Effect.gen(function* () {
    const card = (matter: string) => ({
      files: { "README.md": new TextEncoder().encode(`---\n${matter}\n---\n# Model`) }
    })
    for (const [given, languages] of [
      [{}, undefined],
      [card("language: en"), ["en"]],
      [card("license: mit\nlanguage:\n- de\n- multilingual\n- fr"), ["de", "fr"]],
      [card("language: [unclosed"), undefined]
    ] as const) {
      assert.deepStrictEqual(yield* (yield* opened(given)).languages!, languages)
    }
  })
)

it.scopedLive("says what is wrong with a folder", () =>
  Effect.gen(function* () {
    for (const [given, reason] of [
      [{ files: { "config.json": undefined } }, /^M\/config.json does not exist: a model's folder holds/],
      [{ files: { "config.json": new TextEncoder().encode("{") } }, /^M\/config.json: /],
      [{ files: { "config.json": [] } }, /^M\/config.json: Expected an object, actual \[\]$/],
      [
        { files: { "sentence_bert_config.json": { max_seq_length: 0 } } },
        /^M\/sentence_bert_config.json: max_seq_length: Expected a positive number, actual 0$/
      ],
      [{ files: { "tokenizer.json": undefined } }, /^M\/tokenizer.json cannot be read: ENOENT/],
      [{ files: { "tokenizer.json": {} } }, /^M\/tokenizer.json: model: is missing/],
      [{ files: { "onnx/model.onnx": undefined } }, /^M has no .onnx file/],
      [
        { files: { "onnx/model.onnx": new TextEncoder().encode("version https://git-lfs.github.com/spec/v1\n") } },
        /^M\/onnx\/model.onnx cannot be run: the file is not a model in ONNX, .* `git lfs pull`/
      ],
      [{ logits: true }, /^M\/onnx\/model.onnx gives a tensor of 1 × 3: it does not embed texts/],
      [{ inputs: ["input_ids", "pixels"] }, /^M\/onnx\/model.onnx asks for pixels/],
      [
        { files: { "1_Pooling/config.json": { pooling_mode_max_tokens: true } } },
        /^M\/1_Pooling\/config.json asks for pooling_mode_max_tokens; Clew knows/
      ],
      [
        { rows: Array.from({ length: 7 }, () => [NaN, 0]) },
        /^M\/onnx\/model.onnx gives no direction for a text: the file/
      ],
      [{ files: { "modules.json": [{ path: "", type: "a.CLIP" }] } }, /^M\/modules.json has a module a.CLIP/]
    ] as const) {
      assert.match(yield* refusal(given), reason)
    }
  })
)

it.scopedLive("waits for no pipe", () =>
  Effect.gen(function* () {
    for (const name of ["config.json", "tokenizer.json", "onnx/model.onnx"]) {
      const { folder, identity } = yield* opened({ files: { [name]: undefined } })
      execFileSync("mkfifo", [`${folder}/${name}`])
      assert.strictEqual(
        (yield* Effect.flip(identity)).reason,
        `${folder}/${name} cannot be read: it is not a regular file`
      )
    }
  })
)

it.scopedLive("goes on with other texts after a caller has gone, and answers a question before waiting passages", () =>
  Effect.gen(function* () {
    const { embedPassages, embedQuery } = yield* opened()
    yield* embedQuery("north")
    let done = 0
    const begun = yield* Deferred.make<void>()
    const many = Array.from({ length: 5000 }, () => "north east")
    const fiber = yield* Effect.fork(
      Effect.forEach(many, (text) =>
        Effect.tap(embedPassages([text]), () =>
          Effect.zipRight(
            Effect.sync(() => done++),
            Deferred.succeed(begun, undefined)
          )
        )
      )
    )
    yield* Deferred.await(begun)
    const at = done
    yield* embedQuery("east")
    assert.isBelow(done - at, 3)
    yield* Fiber.interrupt(fiber)
    assert.isBelow(done, many.length)
    close(yield* vectorOf({ embedPassages }, "east"), [0, 0, 2])
  })
)

const real = process.env["CLEW_ONNX_MODELS"]
it.scopedLive.skipIf(real === undefined || !hasRuntime)(
  "gives the vectors of the reference: CLEW_ONNX_MODELS names folders with vectors.json, NODE_PATH the runtime",
  () =>
    Effect.gen(function* () {
      for (const folder of real!.split(":")) {
        const embedder = yield* Onnx.make({ folder, threads: 1, queryPrefix: "", passagePrefix: "" })
        const { texts } = JSON.parse(readFileSync(`${folder}/vectors.json`, "utf8")) as {
          readonly texts: ReadonlyArray<
            Record<string, unknown> & { readonly text: string; readonly ids: ReadonlyArray<number> }
          >
        }
        assert.isAbove(texts.length, 5)
        for (const { ids, text, ...given } of texts) {
          // The references of longer texts are truncated.
          if (text === "" || ids.length >= 256) continue
          const expected = Object.entries(given).find(([name]) =>
            name.startsWith("vector")
          )![1] as ReadonlyArray<number>
          const vector = (yield* vectorOf(embedder, text)).slice(0, expected.length)
          const dot = vector.reduce((sum, x, d) => sum + x * expected[d]!, 0)
          assert.isAbove(dot / Math.hypot(...vector) / Math.hypot(...expected), 0.999, text)
        }
      }
    })
)
