import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"

/** Numbers of a safetensors dtype as bytes; floats of 16 bits must be exact in them. */
const encoders: Record<string, (values: ReadonlyArray<number>) => Uint8Array> = {
  I8: (values) => new Uint8Array(Int8Array.from(values).buffer),
  F32: (values) => new Uint8Array(Float32Array.from(values).buffer),
  F64: (values) => new Uint8Array(Float64Array.from(values).buffer),
  I32: (values) => new Uint8Array(Int32Array.from(values).buffer),
  I64: (values) => new Uint8Array(BigInt64Array.from(values, BigInt).buffer),
  U8: (values) => Uint8Array.from(values),
  BF16: (values) =>
    new Uint8Array(Uint16Array.from(new Uint32Array(Float32Array.from(values).buffer), (bits) => bits >>> 16).buffer),
  F16: (values) =>
    new Uint8Array(
      Uint16Array.from(values, (value) => {
        if (value === 0) return 0
        const exponent = Math.max(Math.floor(Math.log2(Math.abs(value))), -14)
        const fraction = Math.abs(value) / 2 ** exponent
        const bits = fraction < 1 ? fraction * 1024 : ((exponent + 15) << 10) | ((fraction - 1) * 1024)
        return (value < 0 ? 0x8000 : 0) | bits
      }).buffer
    )
}

export interface GivenTensor {
  readonly dtype: string
  readonly shape: ReadonlyArray<number>
  readonly values: ReadonlyArray<number>
}

/** A safetensors file. `padding` moves the tensors to odd places. */
export const safetensors = (tensors: Record<string, GivenTensor>, padding = ""): Uint8Array => {
  const parts: Array<Uint8Array> = []
  let at = 0
  const header: Record<string, unknown> = { __metadata__: { format: "pt" } }
  for (const [name, { dtype, shape, values }] of Object.entries(tensors)) {
    const bytes = encoders[dtype]!(values)
    parts.push(bytes)
    header[name] = { dtype, shape, data_offsets: [at, at + bytes.length] }
    at += bytes.length
  }
  const json = new TextEncoder().encode(JSON.stringify(header) + padding)
  const length = new Uint8Array(8)
  new DataView(length.buffer).setBigUint64(0, BigInt(json.length), true)
  return new Uint8Array(Buffer.concat([length, json, ...parts]))
}

export const wordPieceJson = (tokens: ReadonlyArray<string>, changes: object = {}) => ({
  version: "1.0",
  added_tokens: [],
  normalizer: {
    type: "BertNormalizer",
    clean_text: true,
    handle_chinese_chars: true,
    strip_accents: null,
    lowercase: true
  },
  pre_tokenizer: { type: "BertPreTokenizer" },
  model: { type: "WordPiece", unk_token: "[UNK]", vocab: Object.fromEntries(tokens.map((token, id) => [token, id])) },
  ...changes
})

export const unigramJson = (entries: ReadonlyArray<readonly [string, number]>) => ({
  normalizer: { type: "Sequence", normalizers: [{ type: "NFKC" }, { type: "Lowercase" }] },
  pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true },
  model: { type: "Unigram", unk_id: 0, vocab: entries }
})

export const compassTokens = ["[UNK]", "north", "east", "south", "##ern"]

/** By row of `compassTokens`. */
export const compassRows: ReadonlyArray<ReadonlyArray<number>> = [
  [9, 9, 9],
  [3, 4, 0],
  [0, 0, 2],
  [-3, -4, 0],
  [0, 5, 12]
]

export interface GivenModel {
  readonly tokenizer?: unknown
  readonly tensors?: Record<string, GivenTensor>
  readonly padding?: string
  /** Files to write instead, by name; undefined leaves a file out. */
  readonly files?: Record<string, Uint8Array | undefined>
}

export const embeddings = (rows: ReadonlyArray<ReadonlyArray<number>> = compassRows, dtype = "F32"): GivenTensor => ({
  dtype,
  shape: [rows.length, rows[0]!.length],
  values: rows.flat()
})

const utf8 = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))

/** Writes a model of five words into a folder of its own, or into the one given. */
export const writeModel = Effect.fnUntraced(function* (given: GivenModel = {}, into?: string) {
  const fs = yield* FileSystem.FileSystem
  const folder = into ?? (yield* fs.makeTempDirectoryScoped({ prefix: "clew-model-" }))
  const files: Record<string, Uint8Array | undefined> = {
    "config.json": utf8({ model_type: "model2vec", normalize: true }),
    "tokenizer.json": utf8(given.tokenizer ?? wordPieceJson(compassTokens)),
    "model.safetensors": safetensors(given.tensors ?? { embeddings: embeddings() }, given.padding),
    ...given.files
  }
  for (const [name, bytes] of Object.entries(files)) {
    if (bytes !== undefined) yield* fs.writeFile(`${folder}/${name}`, bytes)
  }
  return folder
})
