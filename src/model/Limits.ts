/** Limits for all interfaces. */
export const limits = {
  queryCharacters: 10_000,
  /** Queries beside the first in one search. */
  queries: 5,
  topK: { min: 1, max: 100 },
  /** Together with the largest `top_k`, at most what a leg ranks. */
  offset: { min: 0, max: 100 },
  alpha: { min: 0, max: 1 },
  minRelevance: { min: 0, max: 1 },
  temperature: { min: 0, max: 2 },
  filter: { keys: 50, values: 1000, characters: 4096, depth: 4 },
  /** Limits of a JSON body or message: levels, all values, and keys in one object. */
  json: { depth: 100, values: 200_000, keys: 1000 },
  /** Keys at all levels, and bytes of its JSON in UTF-8. */
  metadata: { keys: 1000, bytes: 65_536, depth: 64 },
  /** Most errors reported for one request. */
  errors: 20,
  /** Texts to embed in one request, and UTF-16 units of each. */
  embeddingTexts: 2048,
  embeddingText: 32_768,
  maxTokens: { min: 1, max: 1_000_000 },
  /** Candidates that each leg passes to the fusion, whatever `top_k` is. */
  legDepth: 200,
  /** The graph leads on from the passages before the first of these places, and where it leads may take the others. */
  graph: { first: 5, end: 10 }
} as const
