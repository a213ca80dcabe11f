import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as path from "node:path"
import { Embedder, EmbedderUnavailable } from "../Embedder.ts"
import { inTurns } from "../runtime/EventLoop.ts"
import type { EmbedderIdentity } from "../model/Collection.ts"
import type { Vector } from "../model/Passage.ts"
import { once } from "../runtime/once.ts"
import { packagedDimensions, packagedModel, packagedModelFolder } from "../packaged/model.ts"
import { packagedTokenizer } from "../packaged/Tokenizer.ts"
import { UnsupportedTokenizer } from "../tokenizer/TokenizerJson.ts"
import { open, openWith } from "../packaged/model2vec/folder.ts"
import type { StaticModel } from "../packaged/model2vec/staticModel.ts"

interface BuiltinOptions {
  /** A folder in Model2Vec's layout; default: the packaged model. */
  readonly folder?: string | undefined
  /** Prefixes of every query and every passage. */
  readonly queryPrefix?: string | undefined
  readonly passagePrefix?: string | undefined
  /** An older way to make vectors; default: the present one. */
  readonly making?: number | undefined
}

interface Loaded {
  readonly model: StaticModel
  /** The model's name in the identity. */
  readonly name: string
}

const loadPackaged = Effect.fnUntraced(function* (making: number | undefined) {
  const model = yield* openWith(packagedModelFolder, packagedTokenizer, making)
  if (model.dimensions !== packagedDimensions) {
    return yield* new EmbedderUnavailable({
      reason: `${packagedModelFolder} is not Clew's model: install clew again`
    })
  }
  return { model, name: packagedModel }
})

const loadFolder = (folder: string, making: number | undefined) =>
  Effect.map(open(folder, making), ({ hash, model }) => ({ model, name: `${folder}@${hash}` }))

const embedAll = ({ embed }: StaticModel, prefix: string, texts: ReadonlyArray<string>) =>
  inTurns(function* () {
    const vectors: Array<Option.Option<Vector>> = []
    for (const text of texts) {
      vectors.push(Option.fromNullable(embed(prefix + text)))
      yield
    }
    return vectors
  }).pipe(Effect.withSpan("Builtin.embedPassages"))

/**
 * Static token embeddings on this machine, loaded once at first use; after a failure the next use retries. A model
 * folder is identified by its absolute path and a hash of its content, so that other weights are another embedder.
 */
export const make = (options: BuiltinOptions = {}): Effect.Effect<typeof Embedder.Service> =>
  Effect.sync(() => {
    const { making, passagePrefix = "", queryPrefix = "" } = options
    const load = options.folder === undefined ? loadPackaged(making) : loadFolder(path.resolve(options.folder), making)
    const loading = once<Loaded, EmbedderUnavailable, never>(load)
    /** Uses the model; the rules of a folder's tokenizer may fail on a text. */
    const using = <A>(work: (model: StaticModel) => Effect.Effect<A>) =>
      Effect.catchSomeDefect(
        Effect.flatMap(loading, ({ model }) => work(model)),
        (error) =>
          error instanceof UnsupportedTokenizer
            ? Option.some(new EmbedderUnavailable({ reason: `${options.folder}: ${error.reason}` }))
            : Option.none()
      )
    const identityOf = (model: string, dimensions: number): EmbedderIdentity => ({
      backend: "builtin",
      model,
      dimensions,
      queryPrefix,
      passagePrefix,
      ...(making === undefined ? {} : { making })
    })
    return {
      identity:
        options.folder === undefined
          ? Effect.succeed(identityOf(packagedModel, packagedDimensions))
          : Effect.map(loading, ({ model, name }) => identityOf(name, model.dimensions)),
      ...(options.folder === undefined && { languages: Effect.succeed(["en"]) }),
      embedQuery: (text) => using((model) => Effect.sync(() => Option.fromNullable(model.embed(queryPrefix + text)))),
      knownShare: (text) => using((model) => Effect.sync(() => model.knownShare(text))),
      likeness: (words, texts) => using((model) => Effect.sync(() => model.likeness(words, texts))),
      embedPassages: (texts) => using((model) => embedAll(model, passagePrefix, texts))
    }
  })

/** The packaged model. */
export const layer: Layer.Layer<Embedder> = Layer.effect(Embedder, make())

/** The model in a folder. */
export const layerDirectory = (folder: string, options: Omit<BuiltinOptions, "folder"> = {}): Layer.Layer<Embedder> =>
  Layer.effect(Embedder, make({ ...options, folder }))
