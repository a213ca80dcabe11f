import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { parse as parseYaml } from "yaml"
import { readingRegular } from "../runtime/regular.ts"

/** A model on this machine cannot be used; the reason names the file and what to do. */
export class ModelUnusable extends Schema.TaggedError<ModelUnusable>()("ModelUnusable", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

/** How the vectors of a text's tokens become one. */
export type Pooling = "mean" | "cls" | "last"

/** A linear layer after pooling, in sentence-transformers' layout. */
export interface Dense {
  readonly file: string
  readonly tanh: boolean
}

/** A model in the usual layout of Hugging Face, with weights in ONNX. */
export interface ModelFolder {
  readonly folder: string
  readonly onnx: string
  readonly tokenizer: string
  /** The folder's name. */
  readonly name: string
  /** That, and the name of the model that it was made from, by which its family is known. */
  readonly family: string
  /** Most tokens of a text, special ones included. */
  readonly window: number
  readonly pooling: Pooling
  readonly dense: ReadonlyArray<Dense>
  /** As its authors set them; undefined: they set none. */
  readonly queryPrefix: string | undefined
  readonly passagePrefix: string | undefined
  /** ISO 639 codes on its model card. */
  readonly languages: ReadonlyArray<string> | undefined
}

const layout =
  "a model's folder holds config.json, tokenizer.json and onnx/model.onnx, as on Hugging Face; Clew never downloads one"

const unusable = (reason: string) => new ModelUnusable({ reason })

/** Much longer than any of these files; only the tokenizer and the weights are larger. */
const longestText = 1 << 20

/** The text of a small file; undefined if there is none. */
const readText = (file: string, most = longestText) =>
  Effect.tryPromise({
    try: () =>
      readingRegular(file, async (handle) => {
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(most), 0, most, 0)
        return buffer.toString("utf8", 0, bytesRead)
      }),
    catch: (error) => error as NodeJS.ErrnoException
  }).pipe(
    Effect.catchAll((error) =>
      error.code === "ENOENT" || error.code === "ENOTDIR"
        ? Effect.succeed(undefined)
        : Effect.fail(unusable(`${file} cannot be read: ${error.message}`))
    )
  )

const readJson = <A, I>(file: string, schema: Schema.Schema<A, I>) =>
  Effect.flatMap(readText(file), (text) =>
    text === undefined
      ? Effect.succeed(undefined)
      : Either.mapLeft(Schema.decodeUnknownEither(Schema.parseJson(schema))(text.replace(/^\ufeff/, "")), (error) => {
          const { message, path: at } = ParseResult.ArrayFormatter.formatErrorSync(error)[0]!
          return unusable(`${file}: ${[...at, message].join(": ")}`)
        })
  )

const positive = Schema.optional(Schema.NullOr(Schema.Positive))

const Config = Schema.Struct({
  _name_or_path: Schema.optional(Schema.String),
  model_type: Schema.optional(Schema.String),
  max_position_embeddings: positive,
  n_positions: positive
}).annotations({ identifier: "an object" })
const TokenizerConfig = Schema.Struct({ model_max_length: positive })
const SentenceConfig = Schema.Struct({ max_seq_length: positive })
const Prompts = Schema.Struct({
  prompts: Schema.optional(Schema.NullOr(Schema.Record({ key: Schema.String, value: Schema.String })))
})
const Modules = Schema.Array(Schema.Struct({ path: Schema.String, type: Schema.String }))
const PoolingConfig = Schema.Record({ key: Schema.String, value: Schema.Unknown })
const DenseConfig = Schema.Struct({ activation_function: Schema.optional(Schema.String) })
const Card = Schema.Struct({
  language: Schema.optional(Schema.NullOr(Schema.Union(Schema.String, Schema.Array(Schema.String))))
})

const names: ReadonlyMap<string, Pooling> = new Map([
  ["pooling_mode_mean_tokens", "mean"],
  ["pooling_mode_cls_token", "cls"],
  ["pooling_mode_lasttoken", "last"],
  // As sentence-transformers writes it since 5.4.
  ["mean", "mean"],
  ["cls", "cls"],
  ["lasttoken", "last"]
])

/** The pooling that its file names; without the file, what the model's family uses. */
const poolingOf = (file: string, given: typeof PoolingConfig.Type | undefined, name: string) => {
  if (given === undefined) {
    return Effect.succeed<Pooling>(/bge-|snowflake-arctic|mxbai|gte-(?:base|large)-en-v1/i.test(name) ? "cls" : "mean")
  }
  const wanted = Object.entries(given).flatMap(([key, value]) =>
    key === "pooling_mode" ? [value].flat().map(String) : value === true && key.startsWith("pooling_mode") ? [key] : []
  )
  // A file may say it in both ways.
  const kinds = new Set(wanted.map((name) => names.get(name)))
  const known = kinds.size === 1 ? [...kinds][0] : undefined
  return known === undefined
    ? Effect.fail(
        unusable(`${file} asks for ${wanted.join(" and ") || "no pooling"}; Clew knows ${[...names.keys()].join(", ")}`)
      )
    : Effect.succeed(known)
}

/** The layers after pooling; normalisation is always done, since vectors are compared by angle. */
const denseOf = Effect.fnUntraced(function* (folder: string) {
  const file = path.join(folder, "modules.json")
  const layers: Array<Dense> = []
  for (const module of (yield* readJson(file, Modules)) ?? []) {
    const kind = module.type.split(".").at(-1)
    if (kind === "Transformer" || kind === "Pooling" || kind === "Normalize") continue
    if (kind !== "Dense") return yield* unusable(`${file} has a module ${module.type}, which Clew does not know`)
    const config = (yield* readJson(path.join(folder, module.path, "config.json"), DenseConfig)) ?? {}
    const activation = config.activation_function?.split(".").at(-1) ?? "Identity"
    if (activation !== "Identity" && activation !== "Tanh") {
      return yield* unusable(`${path.join(folder, module.path)}: Clew knows no activation ${activation}`)
    }
    layers.push({ file: path.join(folder, module.path, "model.safetensors"), tanh: activation === "Tanh" })
  }
  return layers
})

/** The languages in the front matter of a model card. */
const languagesOf = (card: string | undefined): ReadonlyArray<string> | undefined => {
  const end = card?.startsWith("---\n") === true ? card.indexOf("\n---", 4) : -1
  if (card === undefined || end === -1) return undefined
  const matter = Either.try(() => parseYaml(card.slice(4, end), { logLevel: "silent", maxAliasCount: 0 }) as unknown)
  const found = Either.flatMap(matter, Schema.decodeUnknownEither(Card))
  const { language } = Either.getOrElse(found, (): typeof Card.Type => ({}))
  const codes = [language ?? []].flat().filter((code) => /^[a-z]{2,3}$/.test(code))
  return codes.length === 0 ? undefined : codes
}

/** The weights to use if a folder has several: eight bits are the fastest, and as good as nothing lost. */
const preferred = ["model_quantized.onnx", "model_int8.onnx", "model_uint8.onnx", "model.onnx"]

/** The file itself, or the preferred one of a folder or its folder onnx. */
const weightsIn = Effect.fnUntraced(function* (folder: string) {
  const list = (of: string) =>
    Effect.map(
      Effect.orElseSucceed(
        Effect.tryPromise(() => fs.readdir(of)),
        () => []
      ),
      (found) => found.filter((file) => file.endsWith(".onnx")).map((file) => path.join(of, file))
    )
  const found = [...(yield* list(path.join(folder, "onnx"))), ...(yield* list(folder))].sort()
  const best = preferred.flatMap((name) => found.filter((file) => path.basename(file) === name))[0]
  return best ?? found[0] ?? (yield* unusable(`${folder} has no .onnx file: ${layout}`))
})

/** Many tokenizers state an absurd length for "no limit". */
const longestWindow = 32_768

/** Reads what a folder tells of its model; or that of an .onnx file in it, to choose one of several. */
export const read = Effect.fn("onnx.read")(function* (given: string) {
  const isFile = given.endsWith(".onnx")
  const parent = path.dirname(given)
  const folder = isFile ? (path.basename(parent) === "onnx" ? path.dirname(parent) : parent) : given
  const at = (...parts: ReadonlyArray<string>) => path.join(folder, ...parts)
  const config = yield* readJson(at("config.json"), Config)
  if (config === undefined) return yield* unusable(`${at("config.json")} does not exist: ${layout}`)
  const tokenizer = (yield* readJson(at("tokenizer_config.json"), TokenizerConfig))?.model_max_length
  const sentence = (yield* readJson(at("sentence_bert_config.json"), SentenceConfig))?.max_seq_length
  // These count positions from the padding's id on.
  const offset = /^(?:xlm-)?roberta|^camembert|^mpnet/.test(config.model_type ?? "") ? 2 : 0
  const positions = config.max_position_embeddings ?? config.n_positions ?? 512 + offset
  const name = path.basename(folder)
  const family = [config._name_or_path ?? "", name].join("/")
  const pooling = yield* readJson(at("1_Pooling", "config.json"), PoolingConfig)
  const onnx = isFile ? given : yield* weightsIn(folder)
  const dense = yield* denseOf(folder)
  // Their readers would wait for a pipe; one that is missing they tell of themselves.
  for (const file of [onnx, at("tokenizer.json"), ...dense.map((layer) => layer.file)]) yield* readText(file, 0)
  const prompts = (yield* readJson(at("config_sentence_transformers.json"), Prompts))?.prompts ?? {}
  return {
    folder,
    onnx,
    tokenizer: at("tokenizer.json"),
    name,
    family,
    window: Math.min(positions - offset, sentence ?? tokenizer ?? longestWindow, longestWindow),
    pooling: yield* poolingOf(at("1_Pooling", "config.json"), pooling, family),
    dense,
    queryPrefix: prompts["query"],
    passagePrefix: prompts["document"] ?? prompts["passage"],
    languages: languagesOf(yield* readText(at("README.md")))
  } satisfies ModelFolder as ModelFolder
})
