import { assert, it } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { truncateSync } from "node:fs"
import { Embedder } from "../../src/Embedder.ts"
import * as Builtin from "../../src/Embedder/Builtin.ts"
import { embedderContract } from "../contracts/Embedder.ts"
import {
  compassRows,
  compassTokens,
  embeddings,
  type GivenModel,
  safetensors,
  unigramJson,
  wordPieceJson,
  writeModel
} from "../Embedder/modelFolder.ts"

const layerOf = (given: GivenModel) =>
  Layer.unwrapScoped(Effect.map(writeModel(given), (folder) => Builtin.layerDirectory(folder))).pipe(
    Layer.provide(NodeFileSystem.layer)
  )

embedderContract("a folder with 16-bit floats", layerOf({ tensors: { embeddings: embeddings(compassRows, "F16") } }), {
  texts: ["north", "east", "south eastern"],
  unknown: "up and down"
})

const embed = (text: string, given: GivenModel = {}) =>
  Effect.gen(function* () {
    const vector = yield* (yield* Embedder).embedQuery(text)
    return Option.map(vector, (values) => Array.from(values))
  }).pipe(Effect.provide(layerOf(given)))

/** The direction of a sum, as float32. */
const direction = (...sum: ReadonlyArray<number>) =>
  Option.some(sum.map((value) => Math.fround(value / Math.hypot(...sum))))

const refusal = (given: GivenModel) =>
  Effect.map(
    Effect.flip(
      Effect.provide(
        Effect.flatMap(Embedder, ({ identity }) => identity),
        layerOf(given)
      )
    ),
    ({ message }) => message.replace(/^.*\/(?=[^/]+\.(json|safetensors))/, "")
  )

it.effect("adds up the rows of a text's tokens", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* embed("North"), direction(3, 4, 0))
    assert.deepStrictEqual(yield* embed("north NORTH eastern"), direction(3 + 3, 4 + 4 + 5, 2 + 12))
    assert.deepStrictEqual(yield* embed("west north up"), direction(3, 4, 0))
    assert.deepStrictEqual(yield* embed("west"), Option.none())
    assert.deepStrictEqual(yield* embed("north south"), Option.none())
  })
)

it.effect("reads every type of number, wherever it lies", () =>
  Effect.gen(function* () {
    for (const dtype of ["F32", "F64", "F16", "BF16", "I8"]) {
      for (const padding of ["", " ", "   "]) {
        const tensors = { embeddings: embeddings(compassRows, dtype) }
        assert.deepStrictEqual(yield* embed("northern east", { tensors, padding }), direction(3, 9, 14), dtype)
      }
    }
    const small = [
      [0, 0, 0, 0],
      [2 ** -24, -1, 0.5, 65504],
      [0, 1, 0, 0],
      [0, 0, 0, 0],
      [0, 0, 0, 0]
    ]
    for (const dtype of ["F16", "F32"]) {
      const tensors = { embeddings: embeddings(small, dtype) }
      assert.deepStrictEqual(yield* embed("north", { tensors }), direction(2 ** -24, -1, 0.5, 65504), dtype)
    }
    const wide = compassRows.map(([a, b, c]) => [a!, b!, c!, -a!])
    assert.deepStrictEqual(
      yield* embed("north", { tensors: { embeddings: embeddings(wide, "I8") } }),
      direction(3, 4, 0, -3)
    )
  })
)

it.effect("weighs tokens, and finds their rows through a mapping", () =>
  Effect.gen(function* () {
    for (const dtype of ["F32", "F64", "F16"]) {
      const weights = { dtype, shape: [5], values: [1, 2, 0.5, 1, 0.25] }
      const tensors = { embeddings: embeddings(compassRows, "I8"), weights }
      assert.deepStrictEqual(yield* embed("northern east", { tensors }), direction(6, 8 + 1.25, 3 + 1))
    }
    for (const dtype of ["I64", "I32"]) {
      const tensors = {
        mapping: { dtype, shape: [5], values: [0, 1, 1, 0, 0] },
        weights: { dtype: "F32", shape: [5], values: [1, 1, 10, 100, 1] },
        embeddings: embeddings([
          [1, 0],
          [0, 1]
        ])
      }
      assert.deepStrictEqual(yield* embed("north east south", { tensors }), direction(100, 11))
    }
  })
)

it.effect("tokenises by Unigram as well", () =>
  Effect.gen(function* () {
    const tokenizer = unigramJson([
      ["<unk>", 0],
      ["▁", -4],
      ["▁north", -2],
      ["ern", -3],
      ["▁northe", -20],
      ["e", -5]
    ])
    const tensors = {
      embeddings: embeddings([
        [7, 7, 7],
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
        [5, 5, 5],
        [0, 0, 3]
      ])
    }
    assert.deepStrictEqual(yield* embed("ＮORTH northern", { tokenizer, tensors }), direction(0, 2, 1))
    assert.deepStrictEqual(yield* embed("e ø", { tokenizer, tensors }), direction(0, 0, 3))
  })
)

it.effect("says which file is missing or damaged, what was found and what was expected", () =>
  Effect.gen(function* () {
    const whole = safetensors({ embeddings: embeddings() })
    const text = (content: string) => new TextEncoder().encode(content)
    const weights = (bytes: Uint8Array) => refusal({ files: { "model.safetensors": bytes } })
    const tokenizer = (content: string) => refusal({ files: { "tokenizer.json": text(content) } })

    for (const name of ["model.safetensors", "tokenizer.json", "config.json"]) {
      assert.match(yield* refusal({ files: { [name]: undefined } }), new RegExp(`^${name} does not exist: `))
    }
    assert.match(yield* weights(whole.subarray(0, 5)), /^model.safetensors: it has 5 bytes/)
    assert.match(
      yield* weights(whole.subarray(0, 20)),
      /it has 20 bytes, but its header asks for \d+: the file is truncated/
    )
    assert.match(
      yield* weights(whole.subarray(0, whole.length - 1)),
      new RegExp(`it has ${whole.length - 1} bytes, but its header asks for ${whole.length}: the file is truncated`)
    )
    assert.match(
      yield* weights(text("version https://git-lfs.github.com/spec/v1")),
      /does not begin like a safetensors/
    )
    assert.match(yield* tokenizer("{"), /^tokenizer.json: /)
    assert.match(
      yield* tokenizer(JSON.stringify(wordPieceJson(compassTokens)).slice(0, -30)),
      /^tokenizer.json: model.vocab/
    )
    assert.match(yield* refusal({ files: { "config.json": text("[") } }), /^config.json: expected a JSON object/)
  })
)

it.scoped("reads no text that is longer than any", () =>
  Effect.gen(function* () {
    for (const name of ["tokenizer.json", "config.json"]) {
      const folder = yield* writeModel({})
      truncateSync(`${folder}/${name}`, 600 * 2 ** 20)
      const opened = Effect.flatMap(Embedder, ({ identity }) => identity)
      const { message } = yield* Effect.flip(Effect.provide(opened, Builtin.layerDirectory(folder)))
      assert.include(message, `${name} cannot be read: it has more than 256 MiB`)
    }
  }).pipe(Effect.provide(NodeFileSystem.layer))
)

const five = [1, 2, 3, 4, 5]
const row = [1, 2, 3]
const unfit: ReadonlyArray<readonly [given: NonNullable<GivenModel["tensors"]>, reason: string]> = [
  [{ "embedding.weight": embeddings() }, "it has no tensor named embeddings; its tensors: embedding.weight"],
  [
    { embeddings: embeddings(compassRows, "U8") },
    "embeddings is U8 [5, 3], expected F32, F16, BF16, F64 or I8 [rows, dimensions]"
  ],
  [
    { embeddings: { ...embeddings(), shape: [15] } },
    "embeddings is F32 [15], expected F32, F16, BF16, F64 or I8 [rows, dimensions]"
  ],
  [
    { embeddings: embeddings([row, row]) },
    "embeddings has 2 rows, but tokenizer.json has 5 tokens, and there is no mapping between them"
  ],
  [
    { embeddings: embeddings([row, row, row, [1, NaN, 3], row]) },
    "row 3 of embeddings contains a number that is not finite"
  ],
  [
    { embeddings: embeddings(), weights: { dtype: "F32", shape: [2], values: [1, 2] } },
    "weights is F32 [2], expected F32, F16, BF16, F64 [5], one for each token"
  ],
  [
    { embeddings: embeddings(), weights: { dtype: "F32", shape: [5], values: [1, 2, Infinity, 4, 5] } },
    "weight 2 is not finite"
  ],
  [
    { embeddings: embeddings(), mapping: { dtype: "F32", shape: [5], values: five } },
    "mapping is F32 [5], expected I64 or I32 [5], a row for each token"
  ],
  [
    { embeddings: embeddings(), mapping: { dtype: "I64", shape: [5], values: [0, 1, 2, 5, 0] } },
    "mapping sends token 3 to a row that does not exist: embeddings has 5 rows"
  ],
  [{ embeddings: { ...embeddings(), shape: [5, 4] } }, "its tensor embeddings, F32 [5, 4], has 60 bytes, expected 80"]
]

it.effect("says which tensor does not fit", () =>
  Effect.forEach(unfit, ([tensors, reason]) =>
    Effect.map(refusal({ tensors }), (found) => assert.strictEqual(found, `model.safetensors: ${reason}`))
  )
)
