import * as Effect from "effect/Effect"
import type { CollectionName } from "../model/Collection.ts"
import { type Filter, isEmptyFilter, type Scalar } from "../model/Filter.ts"
import type { Demands, ReadAs } from "../model/SearchResult.ts"
import { spannedGen } from "../runtime/tracing.ts"
import type { RankingStore, Store } from "../Store.ts"
import { demandsOf } from "../citations/remarks.ts"
import { message } from "../terms/pasted.ts"
import { hasOperators, inSentence, positiveWords, type QueryPart, queryParts, wordOf } from "../terms/operators.ts"

/** A query as it is searched. */
export interface Reading {
  /** The text for both legs. */
  readonly words: string
  readonly demands?: Demands | undefined
  /** The conditions of its fields on documents. */
  readonly filters: ReadonlyArray<Filter>
  /** The report of the reading; undefined if all of it are words. */
  readonly readAs?: ReadAs | undefined
  /** It has other words, which can be searched if nothing meets the rest. */
  readonly hasWords: boolean
}

type Field = QueryPart & { readonly kind: "field" }

/** All of a query as words. */
export const plainly = (query: string): Reading => ({ words: query, filters: [], hasWords: true })

const asWords = (query: string, why: string): Reading => ({
  ...plainly(query),
  readAs: { words: query, as_words: why }
})

/** Fields that every document has. */
const ownFields: ReadonlySet<string> = new Set(["title", "path", "source", "doc_id"])

const nameOf = ({ field }: Field): string => (ownFields.has(field.toLowerCase()) ? field.toLowerCase() : field)

/** A value in the forms that documents may have. */
const spellings = (value: string): ReadonlyArray<string> => {
  const small = value.toLowerCase()
  return [...new Set([value, small, value.toUpperCase(), small.slice(0, 1).toUpperCase() + small.slice(1)])]
}

const scalars = (value: string): ReadonlyArray<Scalar> => [
  ...spellings(value),
  ...(/^-?\d{1,15}(?:\.\d{1,15})?$/.test(value) ? [Number(value)] : []),
  ...(/^(?:true|false)$/i.test(value) ? [value.toLowerCase() === "true"] : [])
]

const filterOf = (part: Field): Filter => {
  const name = nameOf(part)
  const isPath = name === "path" || name === "source"
  const condition = isPath
    ? spellings(part.value).map((text) => `*${text}*`)
    : name === "doc_id"
      ? [part.value]
      : scalars(part.value)
  return { [isPath ? "source" : name]: part.negated ? { not: condition } : condition }
}

const isTitle = (part: QueryPart): part is Field => part.kind === "field" && nameOf(part) === "title"

const textsOf = (parts: ReadonlyArray<QueryPart>, which: (part: QueryPart) => boolean): ReadonlyArray<string> =>
  parts.flatMap((part) => (part.kind !== "word" && which(part) ? [part.value] : []))

const some = <K extends string, V>(key: K, values: ReadonlyArray<V>) =>
  (values.length === 0 ? {} : { [key]: values }) as { readonly [P in K]?: ReadonlyArray<V> }

/** Reads a query whose operators are certain. */
const assembled = (query: string, parts: ReadonlyArray<QueryPart>): Reading => {
  const words = positiveWords(parts)
  if (!hasOperators(parts) || words === "") return plainly(query)
  const phrases = textsOf(parts, (part) => part.kind === "phrase" && !part.negated)
  const titles = textsOf(parts, (part) => isTitle(part) && !part.negated)
  const without = parts.flatMap((part): Demands["without"] => {
    if (part.kind === "without") return [{ text: part.value, in: "any" }]
    if (part.kind === "phrase" && part.negated) return [{ text: part.value, in: "phrase" }]
    return isTitle(part) && part.negated ? [{ text: part.value, in: "title" }] : []
  })
  return {
    words,
    ...(phrases.length + titles.length + without.length === 0 ? {} : { demands: { phrases, titles, without } }),
    filters: parts.flatMap((part) => (part.kind === "field" && !isTitle(part) ? [filterOf(part)] : [])),
    readAs: {
      words,
      ...some("phrases", phrases),
      ...some(
        "without",
        textsOf(parts, (part) => part.kind === "without" || (part.kind === "phrase" && part.negated))
      ),
      ...some(
        "fields",
        parts.flatMap((part) => (part.kind === "field" ? [part.written] : []))
      )
    },
    hasWords: parts.some(({ kind, written }) => kind === "word" && /[\p{L}\p{N}]/u.test(written))
  }
}

/**
 * Reads quotes, `-word` and `field:value` in a query. A field that no document has, and a `-word` that documents
 * contain with its dash, like a flag, count as words.
 */
export const read = spannedGen("Search.read")(function* (
  documents: typeof Store.Service,
  ranking: typeof RankingStore.Service,
  query: string,
  collections: ReadonlyArray<CollectionName>
) {
  const written = queryParts(query)
  const parts = inSentence(written)
  if (!hasOperators(parts)) {
    const words = message(query)
    return hasOperators(written) ? asWords(words, "its quotes and dashes are part of a sentence") : plainly(words)
  }
  const asked = parts.flatMap((part) => (part.kind === "field" && !ownFields.has(nameOf(part)) ? [part.field] : []))
  const dashed = parts.flatMap((part) => (part.kind === "without" ? [`-${part.value}`] : []))
  const [{ unknown }, dashes] = yield* Effect.all([
    asked.length === 0 ? Effect.succeed({ unknown: [] }) : documents.metadataKeys([...new Set(asked)]),
    dashed.length === 0 ? Effect.succeed([]) : ranking.written(collections, dashed)
  ])
  const words = new Set<string>(unknown)
  const flags = new Set(dashes)
  return assembled(
    query,
    parts.map((part) =>
      (part.kind === "field" && words.has(part.field)) || (part.kind === "without" && flags.has(`-${part.value}`))
        ? wordOf(part)
        : part
    )
  )
})

/** All of a query as words, since nothing meets its operators. */
export const relaxed = (query: string): Reading => asWords(query, "nothing meets all its quotes, dashes and fields")

/** Why a query of only conditions finds nothing. */
export const unmet = (readAs: ReadAs): string =>
  `no passage was found ${demandsOf(readAs)}; leave out quotes, dashes and fields to search for the words`

/** A filter and others besides, all of which must match. */
export const withFilters = (given: Filter, others: ReadonlyArray<Filter>): Filter =>
  others.length === 0 ? given : { and: isEmptyFilter(given) ? others : [given, ...others] }
