import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { CollectionName } from "../model/Collection.ts"
import { limits } from "../model/Limits.ts"
import { type Fusion, QueryText, type SearchRequest } from "../model/Query.ts"
import { parseFilter } from "./filter.ts"
import * as options from "./options.ts"
import { Place } from "./place.ts"
import { UsageError } from "./UsageError.ts"

/** What `query`, `ask` and `prompt` share: a text, and where and how to search for it. */
export const positional = {
  name: "TEXT",
  summary: "What to search for; several words need no quotes",
  min: 1,
  max: Infinity
} as const

export const flags = {
  topK: options.topK,
  hybrid: options.hybrid,
  alpha: options.alpha,
  fusion: options.fusion,
  graph: options.graph,
  minRelevance: options.minRelevance,
  filter: options.filter,
  collection: options.searchedCollection
} as const

interface Given {
  readonly topK: number | undefined
  readonly hybrid: boolean | undefined
  readonly alpha: number | undefined
  readonly fusion: Fusion | undefined
  readonly graph: "true" | "false" | "auto" | undefined
  readonly minRelevance: number | undefined
  readonly filter: ReadonlyArray<string>
  readonly collection: CollectionName | undefined
}

/** The search request of a command line, or what is wrong with it. */
export const requestOf = Effect.fnUntraced(function* (command: string, given: Given, words: ReadonlyArray<string>) {
  const { cwd } = yield* Place
  const wrong = (detail: string) => new UsageError({ detail, command })
  const query = words.join(" ")
  const { alpha, collection, fusion, hybrid, minRelevance, topK } = given
  if (hybrid === false && (alpha !== undefined || fusion !== undefined)) {
    return yield* wrong("--alpha and --fusion apply to hybrid search: leave them out, or --no-hybrid")
  }
  yield* Effect.mapError(Schema.decode(QueryText)(query), () =>
    wrong(query.trim() === "" ? "TEXT must not be empty" : `TEXT must be at most ${limits.queryCharacters} characters`)
  )
  const filter = yield* Either.mapLeft(parseFilter(given.filter, cwd), wrong)
  const graph = given.graph === undefined || given.graph === "auto" ? given.graph : given.graph === "true"
  return { query, topK, hybrid, alpha, fusion, filter, graph, minRelevance, collection } satisfies SearchRequest
})
