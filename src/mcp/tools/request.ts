import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { defaultCollection, type CollectionName } from "../../model/Collection.ts"
import { MaxTokens, SearchRequest } from "../../model/Query.ts"
import { type CollectionNotFound, Store } from "../../Store.ts"
import type { Settings } from "../Tool.ts"

export const maxTokens = Schema.optional(MaxTokens).pipe(Schema.fromKey("max_tokens"))

/** What both searching tools take. */
export const SearchArguments = Schema.Struct({
  ...SearchRequest.fields,
  hybrid: Schema.optional(
    Schema.Boolean.annotations({
      description: "Search by words and by meaning, fused (true), or by meaning alone (false)"
    })
  ),
  maxTokens
})
export type SearchArguments = typeof SearchArguments.Type

/** Wants one property where an object has it, and none where it has not: for what is optional on the wire. */
export const optional = <K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } =>
  (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: V }

/** The default collection always exists, though it is made with its first document. */
export const orEmpty =
  <B>(collection: CollectionName, empty: B) =>
  <A, E, R>(effect: Effect.Effect<A, E | CollectionNotFound, R>): Effect.Effect<A | B, E | CollectionNotFound, R> =>
    collection === defaultCollection ? Effect.catchIf(effect, isNotFound, () => Effect.succeed(empty)) : effect

const isNotFound = (error: unknown): error is CollectionNotFound =>
  (error as { readonly _tag?: unknown } | null)?._tag === "CollectionNotFound"

export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

const isAnchored = (source: unknown): boolean => typeof source === "string" && !/^[*/]/.test(source)

/** What to tell a model that found nothing, in terms of the tools it has. */
export const nothingFound = Effect.fn("mcp.nothingFound")(function* (request: SearchArguments, { tools }: Settings) {
  const { documents } = yield* (yield* Store).stats()
  if (documents === 0) {
    const adding = tools.includes("index_documents") ? ", or with index_documents" : ""
    return `Nothing found: the index is empty. Documents come in with \`clew index PATH\` on the command line${adding}.`
  }
  const looking = ["collection_info", "list_sources"].filter((name) => tools.includes(name)).join(" or ")
  const hints = [
    "use other words",
    ...(request.filter === undefined ? [] : ["drop or widen the filter"]),
    ...(isAnchored(request.filter?.["source"])
      ? ["begin the source with *, since sources are mostly absolute paths"]
      : []),
    ...(request.alpha === undefined ? [] : ["leave out alpha"]),
    ...(looking === "" ? [] : [`see what there is with ${looking}`])
  ]
  return `Nothing found among ${plural(documents, "document")}. To go on: ${hints.join(", ")}.`
})
