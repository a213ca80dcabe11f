import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import * as path from "node:path"
import { EmbedderUnavailable } from "../../Embedder.ts"
import { readingRegular } from "../../runtime/regular.ts"
import { parse as parseTokenizer, type Tokenizer } from "../../tokenizer/tokenizer.ts"
import * as safetensors from "./safetensors.ts"
import { make } from "./staticModel.ts"

const weightsFile = "model.safetensors"
const tokenizerFile = "tokenizer.json"
const configFile = "config.json"

const decodeConfig = Schema.decodeUnknownEither(
  Schema.parseJson(Schema.Struct({ normalize: Schema.optional(Schema.NullOr(Schema.Boolean)) }))
)

/** The longest of these texts are tokenizers of 40 MiB; V8 has no string of 512. */
const longestText = 256 * 2 ** 20

/** Reads a file in one or two reads in another thread; readFile returns to this one for every half megabyte. */
const readWhole = (file: string): Promise<Buffer> =>
  readingRegular(file, async (handle) => {
    const { size } = await handle.stat()
    if (file.endsWith(".json") && size > longestText) throw new Error("it has more than 256 MiB")
    const bytes = Buffer.allocUnsafeSlow(size)
    let length = 0
    while (length < bytes.length) {
      // oxlint-disable-next-line no-await-in-loop -- each read starts where the last one ended
      const { bytesRead } = await handle.read(bytes, length, Math.min(bytes.length - length, 2 ** 30), length)
      if (bytesRead === 0) break
      length += bytesRead
    }
    return bytes.subarray(0, length)
  })

const unreadable = (file: string, error: NodeJS.ErrnoException): string =>
  error.code === "ENOENT"
    ? `${file} does not exist: a model's folder holds ${weightsFile}, ${tokenizerFile} and ${configFile}`
    : `${file} cannot be read: ${error.message}`

const read = (file: string) =>
  Effect.tryPromise({
    try: () => readWhole(file),
    catch: (error) => new EmbedderUnavailable({ reason: unreadable(file, error as NodeJS.ErrnoException) })
  })

/** Fails with the file and its problem. */
const inFile = <A>(file: string, result: Either.Either<A, string>): Either.Either<A, EmbedderUnavailable> =>
  Either.mapLeft(result, (reason) => new EmbedderUnavailable({ reason: `${file}: ${reason}` }))

const load = Effect.fn("model2vec.load")(function* (
  folder: string,
  tokenizer: Effect.Effect<Tokenizer, EmbedderUnavailable>,
  making: number | undefined
) {
  const configPath = path.join(folder, configFile)
  const weightsPath = path.join(folder, weightsFile)
  const [weights, made] = yield* Effect.all(
    [
      read(weightsPath),
      tokenizer,
      Effect.flatMap(read(configPath), (bytes) =>
        inFile(
          configPath,
          Either.mapLeft(
            decodeConfig(bytes.toString()),
            () => "expected a JSON object, whose normalize is true or false"
          )
        )
      )
    ],
    { concurrency: "unbounded" }
  )
  const model = Either.flatMap(safetensors.parse(weights), (tensors) => make(made, tensors, making))
  return { model: yield* inFile(weightsPath, model), weights }
})

/** The model in a folder, with the given tokenizer. */
export const openWith = (folder: string, tokenizer: Effect.Effect<Tokenizer, EmbedderUnavailable>, making?: number) =>
  Effect.map(load(folder, tokenizer, making), ({ model }) => model)

/**
 * The model in a folder of Model2Vec's layout, and the first 8 hex digits of SHA-256 over model.safetensors and
 * tokenizer.json, which determine every vector's direction. config.json must be valid, but vectors are always normalised,
 * since they are compared by angle.
 */
export const open = Effect.fn("model2vec.open")(function* (folder: string, making?: number) {
  const tokenizerPath = path.join(folder, tokenizerFile)
  const json = yield* read(tokenizerPath)
  const tokenizer = inFile(
    tokenizerPath,
    Either.mapLeft(parseTokenizer(tokenizerFile, json), ({ reason }) => reason)
  )
  const { model, weights } = yield* load(folder, tokenizer, making)
  return { model, hash: createHash("sha256").update(weights).update(json).digest("hex").slice(0, 8) }
})
