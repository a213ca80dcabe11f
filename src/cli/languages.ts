import * as Effect from "effect/Effect"
import { type CollectionName, type EmbedderIdentity } from "../model/Collection.ts"
import { packagedModel } from "../packaged/model.ts"
import { Store } from "../Store.ts"
import { isEnglish } from "../terms/language.ts"

/** How many passages are sampled, spread over the collection. */
const sampled = 100
/** How many passages of a known language are needed for a warning. */
const least = 3

/** A warning if most of a collection is not in English, the only language of the packaged model. */
export const foreignTexts = Effect.fn("cli.foreignTexts")(function* (
  collection: CollectionName,
  embedder: Pick<EmbedderIdentity, "backend" | "model">
) {
  if (embedder.backend !== "builtin" || embedder.model !== packagedModel) return undefined
  const places = Array.from({ length: sampled }, (_, index) => index / (sampled - 1))
  const { sample } = yield* Store
  const passages = yield* Effect.catchTag(sample(collection, places), "CollectionNotFound", () => Effect.succeed([]))
  const told = passages.flatMap(({ text }) => isEnglish(text) ?? [])
  const foreign = told.filter((english) => !english).length
  return told.length < least || foreign <= told.length / 2
    ? undefined
    : `about ${Math.round((100 * foreign) / told.length)} % of collection ${collection} is not English, the only language of the packaged model: only keyword search finds it. To search it by meaning, pull a multilingual model (\`ollama pull bge-m3\`), set embedding.backend = "ollama" and embedding.model = "bge-m3", and run \`clew reindex\``
})
