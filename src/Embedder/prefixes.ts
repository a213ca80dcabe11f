import type { Prefixes } from "../Embedders.ts"

const represent = "Represent this sentence for searching relevant passages: "

/** The prefixes of the model cards, by the beginning of the model's name. */
const known: ReadonlyArray<readonly [RegExp, Prefixes]> = [
  [/snowflake-arctic-embed(?:2|-[ml]-v2)/, { query: "query: ", passage: "" }],
  [/nomic-embed-text/, { query: "search_query: ", passage: "search_document: " }],
  [/mxbai-embed|snowflake-arctic-embed|mdbr-leaf|bge-(?:small|base|large)-en/, { query: represent, passage: "" }],
  [/(?:^|[/-])e5-/, { query: "query: ", passage: "passage: " }],
  [/embeddinggemma/, { query: "task: search result | query: ", passage: "title: none | text: " }]
]

/** The given prefixes, else those of the model card, else none. */
export const prefixesOf = (
  model: string,
  given: { readonly queryPrefix?: string | undefined; readonly passagePrefix?: string | undefined }
): Prefixes => {
  const usual = known.find(([pattern]) => pattern.test(model))?.[1] ?? { query: "", passage: "" }
  return { query: given.queryPrefix ?? usual.query, passage: given.passagePrefix ?? usual.passage }
}
