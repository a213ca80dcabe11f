import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import { createRequire } from "node:module"
import { dirname } from "node:path"
import { compassRows, compassTokens, wordPieceJson } from "../Embedder/modelFolder.ts"

/*
 * Models of a few hundred bytes that a runtime of ONNX really runs. They are written as protobuf, whose fields are a key
 * (number and kind of value) and the value: a varint, or a length and bytes.
 */
const varint = (value: number): ReadonlyArray<number> =>
  value < 128 ? [value] : [(value & 127) | 128, ...varint(Math.floor(value / 128))]
const number = (field: number, value: number) => Buffer.from([...varint(field * 8), ...varint(value)])
const bytes = (field: number, ...parts: ReadonlyArray<string | Uint8Array>) => {
  const value = Buffer.concat(parts.map((part) => Buffer.from(part as Uint8Array)))
  return Buffer.concat([Buffer.from([...varint(field * 8 + 2), ...varint(value.length)]), value])
}

const [float32, int64] = [1, 7]
/** A named value; a name instead of a size stands for any. */
const value = (field: number, name: string, type: number, shape: ReadonlyArray<number | string>) => {
  const sizes = shape.map((size) => bytes(1, typeof size === "number" ? number(1, size) : bytes(2, size)))
  return bytes(field, bytes(1, name), bytes(2, bytes(1, number(1, type), bytes(2, ...sizes))))
}

interface Tiny {
  /** A row of numbers for each token; the model looks them up. */
  readonly rows?: ReadonlyArray<ReadonlyArray<number>>
  /** Give the mean of the rows, as a cross-encoder gives its logit. */
  readonly logits?: boolean
  readonly inputs?: ReadonlyArray<string>
}

const onnx = ({ inputs = ["input_ids", "attention_mask"], logits = false, rows = compassRows }: Tiny): Uint8Array => {
  const width = rows[0]!.length
  const table = bytes(
    5,
    number(1, rows.length),
    number(1, width),
    number(2, float32),
    bytes(8, "table"),
    bytes(9, new Uint8Array(Float32Array.from(rows.flat()).buffer))
  )
  const node = (output: string, type: string, ...rest: ReadonlyArray<Uint8Array>) =>
    bytes(1, ...rest, bytes(2, output), bytes(4, type))
  const looked = logits ? "rows" : "last_hidden_state"
  const axes = bytes(5, bytes(1, "axes"), number(8, 1), number(20, 7))
  const flat = bytes(5, bytes(1, "keepdims"), number(3, 0), number(20, 2))
  const graph = bytes(
    7,
    node(looked, "Gather", bytes(1, "table"), bytes(1, "input_ids")),
    ...(logits ? [node("logits", "ReduceMean", bytes(1, looked), axes, flat)] : []),
    bytes(2, "tiny"),
    table,
    ...inputs.map((name) => value(11, name, int64, ["batch", "tokens"])),
    logits
      ? value(12, "logits", float32, ["batch", width])
      : value(12, "last_hidden_state", float32, ["batch", "tokens", width])
  )
  return Buffer.concat([number(1, 8), graph, bytes(8, number(2, 13))])
}

const json = (content: unknown) => new TextEncoder().encode(JSON.stringify(content))

/** Special tokens around texts, as BERT has them. */
export const tokens = [...compassTokens, "[CLS]", "[SEP]"]
const special = { "[CLS]": { ids: [5] }, "[SEP]": { ids: [6] } }
const place = (id: string, type_id = 0) =>
  id.length === 1 ? { Sequence: { id, type_id } } : { SpecialToken: { id, type_id } }
const post_processor = {
  type: "TemplateProcessing",
  single: [place("[CLS]"), place("A"), place("[SEP]")],
  pair: [place("[CLS]"), place("A"), place("[SEP]"), place("B", 1), place("[SEP]", 1)],
  special_tokens: special
}

/** Rows of `tokens`; the special ones count nothing. */
export const rows = [...compassRows, [0, 0, 0], [0, 0, 0]]

/** Writes a model in the layout of Hugging Face. `files` are written besides, or instead; undefined leaves one out. */
export const writeTiny = Effect.fnUntraced(function* (
  given: Tiny & { readonly files?: Record<string, unknown>; readonly window?: number } = {}
) {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped({ prefix: "clew-onnx-" })
  const model = { rows, ...given }
  const files: Record<string, unknown> = {
    "config.json": { model_type: "bert", max_position_embeddings: given.window ?? 64 },
    "tokenizer.json": wordPieceJson(tokens, { post_processor }),
    "onnx/model.onnx": onnx(model),
    // For the stand-in below.
    "onnx/model.onnx.json": { inputs: ["input_ids", "attention_mask"], ...model },
    ...given.files
  }
  for (const [name, content] of Object.entries(files)) {
    if (content === undefined) continue
    yield* fs.makeDirectory(dirname(`${folder}/${name}`), { recursive: true })
    yield* fs.writeFile(`${folder}/${name}`, content instanceof Uint8Array ? content : json(content))
  }
  return folder
})

/** The part of onnxruntime-node that Clew uses, for these models: the package has 300 MB, too much for every checkout. */
const standIn = `
const { readFileSync } = require("node:fs")
class Tensor { constructor(type, data, dims) { Object.assign(this, { type, data, dims }) } }
const create = async (file) => {
  // The first field of a model.
  if (readFileSync(file)[0] !== 8) throw new Error("Load model from " + file + " failed:Protobuf parsing failed.")
  const { inputs, logits, rows } = JSON.parse(readFileSync(file + ".json", "utf8"))
  const output = logits ? "logits" : "last_hidden_state"
  const run = async ({ input_ids }) => {
    const found = Array.from(input_ids.data, (id) => rows[Number(id)])
    const width = rows[0].length
    const data = logits
      ? Array.from({ length: width }, (_, d) => found.reduce((sum, row) => sum + row[d], 0) / found.length)
      : found.flat()
    return { [output]: new Tensor("float32", Float32Array.from(data), logits ? [1, width] : [1, found.length, width]) }
  }
  return { inputNames: inputs, outputNames: [output], run }
}
module.exports = { Tensor, InferenceSession: { create } }
`

/** Whether the real runtime is found, beside Clew or by NODE_PATH. */
export const hasRuntime = (() => {
  try {
    createRequire(import.meta.url).resolve("onnxruntime-node")
    return true
  } catch {
    return false
  }
})()

/** A folder of packages with the stand-in, for NODE_PATH. */
export const standInPackages = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const packages = yield* fs.makeTempDirectoryScoped({ prefix: "clew-packages-" })
  yield* fs.makeDirectory(`${packages}/onnxruntime-node`)
  yield* fs.writeFileString(`${packages}/onnxruntime-node/index.js`, standIn)
  return packages
})

/** Models run by the stand-in until the scope ends, if the real runtime is not there. */
export const withRuntime = Effect.gen(function* () {
  if (hasRuntime) return
  const before = process.env["NODE_PATH"]
  process.env["NODE_PATH"] = yield* standInPackages
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      if (before === undefined) delete process.env["NODE_PATH"]
      else process.env["NODE_PATH"] = before
    })
  )
})
