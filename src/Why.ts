import * as Effect from "effect/Effect"
import { Search } from "./Search.ts"
import { Store } from "./Store.ts"
import { citation } from "./citations/prompt.ts"
import { way } from "./citations/remarks.ts"
import { asGlob, documentsLike, filterHint } from "./filterHint.ts"
import type { Wanted } from "./find.ts"
import type { CollectionName } from "./model/Collection.ts"
import { limits } from "./model/Limits.ts"
import type { DoorRequest } from "./model/Query.ts"
import type { Hit, Similar } from "./model/SearchResult.ts"
import type { WhyReport } from "./model/Why.ts"
import { message } from "./terms/pasted.ts"
import { splitQuery } from "./terms/terms.ts"

const mostWords = 16
const mostAhead = 3

/** The question's words that are searched for. */
const wordsOf = (query: string): ReadonlyArray<string> => {
  const isFunction = new Set(splitQuery(query).function)
  const words = query.match(/[\p{L}\p{N}_]+(?:[-.'][\p{L}\p{N}_]+)*/gu) ?? []
  return [...new Set(words)]
    .filter((word) => !splitQuery(word).content.every((term) => isFunction.has(term)))
    .slice(0, mostWords)
}

/** A document's rank for a question in one way of searching, and the results above it. */
const standing = Effect.fnUntraced(function* (
  request: DoorRequest,
  wanted: Wanted,
  /** If it is not in the list, where to look for its score alone; fused scores are relative to the others found. */
  source: string | undefined
) {
  const search = yield* Search
  const asked = { ...request, topK: limits.topK.max, explain: true }
  // Copies would fill the places that fewer than so many passages leave empty.
  const all = yield* search.run({ ...asked, filled: 0 })
  const isOwn = ({ collection, document }: Similar) =>
    document.docId === wanted.docId && collection === wanted.collection
  const at = all.hits.findIndex((hit) => isOwn(hit) || hit.similar?.some(isOwn) === true)
  const hit = all.hits[at]
  /** The hit of another document that says the same and has its place in the list. */
  const into = hit === undefined || isOwn(hit) ? undefined : hit
  const own =
    hit !== undefined || source === undefined
      ? [hit].find((each) => each !== into)
      : (yield* search.run({ ...asked, filter: { and: [request.filter ?? {}, { source }] } })).hits.find(isOwn)
  return {
    degraded: all.degraded,
    mode: all.mode,
    own,
    into,
    leg: { ...(at === -1 ? {} : { rank: at + 1 }), ...(own === undefined ? {} : { score: own.score }) },
    ahead: (at === -1 ? all.hits : all.hits.slice(0, at)).slice(0, mostAhead)
  }
})

/** What each word of the question adds to the score by words, and terms searched in place of a word. */
const partsOf = (question: string, keyword: NonNullable<Hit["explain"]>["keyword"]) => {
  const left = new Map(keyword?.terms.map(({ score, term }) => [term, score]))
  const claimed = new Set<string>()
  const words = wordsOf(question).flatMap((word) => {
    const terms = splitQuery(word).content
    // Another form of a word before it.
    if (terms.length > 0 && terms.every((term) => claimed.has(term))) return []
    let score = 0
    for (const term of terms) {
      claimed.add(term)
      score += left.get(term) ?? 0
      left.delete(term)
    }
    return [{ term: word, score }]
  })
  return [...words, ...[...left].map(([term, score]) => ({ term, score }))]
}

/** A document's standing in a search: by meaning, by words and fused, and whether the filter leaves it. */
export const why = Effect.fn("why")(function* (request: DoorRequest, wanted: Wanted) {
  const store = yield* Store
  const document = yield* store.get(wanted.collection, wanted.docId)
  const itself = { and: [request.filter ?? {}, { doc_id: wanted.docId }] }
  const filteredOut = (yield* store.list(wanted.collection, { limit: 1, filter: itself })).length === 0
  const hint = filteredOut ? yield* filterHint(request.filter ?? {}, [wanted.collection]) : undefined
  const at = (more: Partial<DoorRequest>) => standing({ ...request, ...more, reranks: false }, wanted, document.source)
  const hybrid = yield* standing(request, wanted, undefined)
  const vector = yield* at({ hybrid: false, alpha: undefined, fusion: undefined })
  const keyword = yield* at({ alpha: 0 })
  return {
    document,
    filteredOut,
    hint,
    hybrid,
    vector,
    keyword,
    terms: partsOf(message(request.query), keyword.own?.explain?.keyword)
  }
})

/** The same as every door tells it. */
export const toWhyReport = (
  { collection, docId }: Wanted,
  { document, filteredOut, hint, hybrid, keyword, terms, vector }: Effect.Effect.Success<ReturnType<typeof why>>
): WhyReport => ({
  source: document.source ?? docId,
  indexed: true,
  doc_id: docId,
  collection,
  ...(filteredOut ? { filtered_out: true } : {}),
  ...(hint === undefined ? {} : { hint }),
  hybrid: hybrid.leg,
  vector: vector.mode === "keyword" ? {} : vector.leg,
  keyword: keyword.leg,
  ...(hybrid.degraded === undefined ? {} : { degraded: hybrid.degraded }),
  ...(keyword.into === undefined && !filteredOut ? { terms } : {}),
  ...(hybrid.own?.relevance === undefined ? {} : { relevance: hybrid.own.relevance }),
  ...(hybrid.own?.via === undefined ? {} : { via: way(hybrid.own.via) }),
  ...(hybrid.into === undefined ? {} : { folded_into: citation(hybrid.into) }),
  ahead: hybrid.ahead.map((hit) => ({ place: citation(hit), score: hit.score }))
})

/** What the last run that met a file says of it; undefined if none has. */
export const recorded = Effect.fnUntraced(function* (names: ReadonlyArray<CollectionName>, file: string) {
  const store = yield* Store
  for (const name of names) {
    const [known] = yield* store.knownFiles(name, [file])
    if (known === undefined) continue
    if (known.outcome !== "indexed") {
      return `${known.outcome} in collection ${name}${known.reason === undefined ? "" : `: ${known.reason}`}`
    }
    const parts = yield* documentsLike(name, `${asGlob(file)}#*`, 3)
    return parts.length === 0
      ? `read for collection ${name}, but it contains nothing to index`
      : `each of its parts is a document of its own in collection ${name}: end the name in ` +
          [
            ...parts.slice(0, 2).map(({ source }) => source.slice(file.length)),
            ...(parts.length > 2 ? ["…"] : [])
          ].join(", ")
  }
  return undefined
})
