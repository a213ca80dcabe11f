import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { asGlob, documentsLike } from "../../filterHint.ts"
import { flag } from "../../model/fields.ts"
import { bounded, boundedSource } from "../../citations/line.ts"
import { citation, entry, formatPrompt } from "../../citations/prompt.ts"
import { gathered } from "../../citations/citations.ts"
import { DocumentId, Source } from "../../model/Document.ts"
import { referencesIn } from "../../model/Locator.ts"
import { LikeText } from "../../model/Query.ts"
import { toProvenance, type Hit } from "../../model/SearchResult.ts"
import { Tokenizer } from "../../packaged/Tokenizer.ts"
import { Search, type SearchOutcome } from "../../Search.ts"
import { Store } from "../../Store.ts"
import { refuse } from "../RpcError.ts"
import { make, type Settings } from "../Tool.ts"
import { collectionsFor, findCited, natural } from "./getDocument.ts"
import {
  defaultMaxTokens,
  Detail,
  described,
  excerpting,
  FilterArgument,
  toConcise,
  fitting,
  leastFor,
  tokensOf,
  tooFewTokens,
  guard,
  quote,
  toQuoted,
  emptyHanded,
  plural,
  nothingIndexed,
  remarksOn,
  SearchArguments
} from "./answers.ts"

/** Arguments of searches that few callers need, and each conversation would pay for. */
const rare = ["alpha", "hybrid", "fusion", "graph", "explain"]

const namedAtMost = 10

/** The first distinct places; passages on one line share one. */
const namesOf = (hits: ReadonlyArray<Hit>): ReadonlyArray<string> =>
  [...new Set(hits.map((hit) => bounded(citation(hit), 200)))].slice(0, namedAtMost)

const leftOut = (hits: ReadonlyArray<Hit>, named: number, maxTokens: number, { tools }: Settings): string => {
  const reading = tools.includes("get_document")
    ? ", or read them with get_document (source, start_line, end_line)"
    : ""
  const first = named > 0 && named < hits.length ? "; the places of the first are listed" : ""
  return `${plural(hits.length, "further passage was", "further passages were")} left out to fit max_tokens=${maxTokens}${first}. To see them, raise max_tokens${reading}.`
}

/** Characters of the longest joined span for each token of the limit: about half of it. */
const spanShare = 2

/** The detail if the caller names none. */
const defaultDetail: Detail = "full"

interface Wanted {
  readonly detail?: Detail | undefined
  readonly maxTokens?: number | undefined
  /** What was found, or that nothing was. */
  readonly opening: (passages: string) => string
  /** The texts by which excerpts are chosen. */
  readonly queries: ReadonlyArray<string>
  readonly settings: Settings
}

/** The answer of a search: its passages, as many as fit, neighbours joined if the best one fits so. */
const answerOf = (found: SearchOutcome, wanted: Wanted) =>
  Effect.orElse(answerAt(found, wanted, spanShare), () => answerAt(found, wanted, 0))

const answerAt = (
  { explain, hits: ranked, ...found }: SearchOutcome,
  { detail = defaultDetail, maxTokens = defaultMaxTokens, opening, queries, settings }: Wanted,
  share: number
) => {
  const hits = gathered(ranked, maxTokens * share)
  const excerptOf = excerpting(queries)
  const entries = hits.map((hit, at) => {
    const text = entry(hit, at + 1, {
      before: hits[at - 1],
      excerpt: detail === "full" ? undefined : excerptOf(hit)
    })
    return hit.explain === undefined ? text : `${text}\nexplain: ${JSON.stringify(hit.explain)}`
  })
  const results: ReadonlyArray<object> = hits.map((hit) =>
    detail === "full" ? toQuoted(hit) : { ...toConcise(hit, excerptOf(hit)), explain: hit.explain }
  )
  const notices = [
    `${opening(plural(hits.length, "passage"))}${hits.length === 0 ? "" : ` ${guard}`}`,
    ...(detail === "full" || hits.length === 0 ? [] : [readingOn(settings)]),
    ...remarksOn(found),
    ...(explain === undefined ? [] : [`Explain: ${JSON.stringify(explain)}.`])
  ]
  return fitting(
    hits.map((_, index) => ({ structured: results[index], text: [entries[index]!] })),
    maxTokens,
    hits.length === 0 ? "the answer" : "the answer with the best passage",
    (shown, named) => {
      const left = hits.slice(shown)
      const names = namesOf(left).slice(0, named)
      const closing = left.length === 0 ? [] : [leftOut(left, names.length, maxTokens, settings)]
      return {
        structured: {
          notice: [...notices, ...closing].join(" "),
          results: results.slice(0, shown),
          query_time_ms: found.queryTimeMs,
          ...toProvenance(found),
          explain,
          omitted: left.length === 0 ? undefined : left.length,
          left_out: names.length === 0 ? undefined : names
        },
        text: [
          [...notices, ...entries.slice(0, shown), ...closing, ...(names.length === 0 ? [] : [quote(names)])].join(
            "\n\n"
          )
        ]
      }
    },
    { extras: namedAtMost }
  )
}

const readingOn = ({ tools }: Settings): string =>
  tools.includes("get_document")
    ? "These are excerpts: get_document (source, chunk_index) reads on."
    : 'These are excerpts: detail "full" shows the passages.'

/** Longer queries are no path. */
const longestPath = 300

/** Documents whose sources are looked through within some ten milliseconds; of more, nothing is said. */
const mostSources = 10_000

/** How to read what has the path that the query is, since a path's words find what else has them; empty if it is none. */
const ofPath = Effect.fnUntraced(function* ({ collection, query }: SearchArguments, { tools }: Settings) {
  const isPath =
    query.length <= longestPath &&
    query.lastIndexOf(".") > query.indexOf("/") &&
    query.includes("/") &&
    !/[\s"]|:\/\//.test(query)
  if (!isPath || !tools.includes("get_document")) return ""
  const store = yield* Store
  const names = yield* collectionsFor(collection)
  const searched = (yield* store.collections).filter(({ name }) => names.includes(name))
  if (searched.reduce((sum, { documents }) => sum + documents, 0) > mostSources) return ""
  const path = referencesIn(query).at(-1)!.source
  const ending = yield* Effect.forEach(searched, ({ name }) => documentsLike(name, `*${asGlob(path)}`, 10))
  const found = ending.flat().filter(({ source }) => `/${source}`.endsWith(`/${path}`))
  const words = `words with path:${path} search in`
  switch (found.length) {
    case 0:
      return ""
    case 1:
      return ` The query is a path: get_document reads it, ${words} it.`
    default:
      return ` The query is a path of several documents: get_document names them, ${words} them.`
  }
})

const detailArgument = Schema.optional(Detail)

export const search = make({
  name: "search",
  title: "Search the index",
  description: ({ overview, tools, topK }) =>
    `Find passages in ${overview.what}. Use it before answering anything these documents may settle. ` +
    `Ask in plain words; names, "a phrase", -word and path:word work. Gives the best ${topK} passages; cite source:lines. ` +
    'filter {"source": {"not": "*/old/*"}} leaves sources out.' +
    (tools.includes("get_document") ? " get_document reads around a passage." : ""),
  input: Schema.Struct({
    ...SearchArguments.fields,
    detail: detailArgument,
    explain: Schema.optional(flag("Explain the scores"))
  }),
  defaults: ({ topK }) => ({ top_k: topK, hybrid: true, detail: defaultDetail, max_tokens: defaultMaxTokens }),
  unlisted: rare,
  long: true,
  run: Effect.fnUntraced(function* ({ detail, maxTokens, ...request }, settings) {
    const found = yield* (yield* Search).run({
      ...request,
      topK: request.topK ?? settings.topK,
      hybrid: request.hybrid ?? true
    })
    const nothing = found.hits.length === 0 ? yield* emptyHanded(request, settings, found) : ""
    const ofDocument = yield* ofPath(request, settings)
    return yield* answerOf(found, {
      detail,
      maxTokens,
      settings,
      queries: [request.query, ...(request.queries ?? [])],
      opening: (passages) =>
        `${nothing || `${passages} for ${JSON.stringify(bounded(request.query, 200))}, best first (${found.mode} search).`}${ofDocument}`
    })
  })
})

const { graph: _, queries: __, query: ___, ...others } = SearchArguments.fields
const searching = { ...others, filter: FilterArgument }

export const similar = make({
  name: "similar",
  long: true,
  title: "Find similar passages",
  description: () =>
    "Find passages like one that search gave (source:lines, or source and chunk_index), without itself and its copies, or like a text.",
  input: Schema.Struct({
    source: Schema.optional(described(Source, "As search shows it")),
    docId: Schema.optional(described(DocumentId, "Instead of source")).pipe(Schema.fromKey("doc_id")),
    chunkIndex: Schema.optional(natural("chunk_index", 0, "Its passage")).pipe(Schema.fromKey("chunk_index")),
    text: Schema.optional(described(LikeText, "Instead of a passage")),
    ...searching,
    detail: detailArgument
  }),
  defaults: ({ topK }) => ({ top_k: topK }),
  unlisted: [...rare, "collection", "detail", "doc_id", "max_tokens", "min_relevance", "since"],
  run: ({ chunkIndex, detail, docId, maxTokens, source, text, ...request }, settings) =>
    Effect.gen(function* () {
      if (text !== undefined && (source ?? docId ?? chunkIndex) !== undefined) {
        return yield* refuse("text", "give either a passage (source and chunk_index) or a text")
      }
      if ((text ?? source ?? docId) === undefined) {
        return yield* refuse("source", "give a passage (source or doc_id, and chunk_index) or a text")
      }
      const named = text === undefined ? yield* findCited({ source, docId, collection: request.collection }) : undefined
      const found = yield* Effect.catchTag(
        (yield* Search).similar({
          ...request,
          ...(named === undefined
            ? { text }
            : { docId: named.document.docId, home: named.collection, chunkIndex, cited: named.cited }),
          topK: request.topK ?? settings.topK,
          hybrid: request.hybrid ?? true
        }),
        "PassageNotFound",
        ({ message }) => refuse("chunk_index", message)
      )
      const empty = found.hits.length > 0 ? undefined : yield* nothingIndexed(settings)
      const what = named === undefined ? "the text" : boundedSource(named.document.source ?? named.document.docId)
      return yield* answerOf(found, {
        detail,
        maxTokens,
        settings,
        queries: text === undefined ? [] : [text],
        opening: (passages) =>
          empty !== undefined
            ? `Nothing found: ${empty}`
            : found.hits.length === 0
              ? `Nothing is like ${JSON.stringify(what)}.${found.hint === undefined ? "" : ` Why: ${found.hint}.`}`
              : `${passages} like ${JSON.stringify(what)}, most alike first.`
      })
    })
})

const defaultTopK = 3

/** A budget of 0: its error names the least that is needed. */
const nothingFits = (countTokens: (text: string) => number) => ({ maxTokens: 0, countTokens })

export const getPrompt = make({
  name: "get_prompt",
  title: "Search and build a prompt",
  description: () =>
    "Search as search does, and get one ready prompt: instruction, numbered passages, question. Use it to answer with citations [1], [2], or to hand a grounded prompt to another model.",
  input: Schema.Struct({ ...SearchArguments.fields, filter: FilterArgument }),
  defaults: () => ({ top_k: defaultTopK, hybrid: true, max_tokens: defaultMaxTokens }),
  unlisted: [...rare, "collection", "max_tokens", "min_relevance", "queries", "since"],
  long: true,
  run: ({ maxTokens = defaultMaxTokens, ...request }, settings) =>
    Effect.gen(function* () {
      const found = yield* (yield* Search).run({
        ...request,
        topK: request.topK ?? defaultTopK,
        hybrid: request.hybrid ?? true
      })
      const { hits, queryTimeMs } = found
      const { count } = yield* (yield* Tokenizer).load
      const nothing = hits.length === 0 ? [yield* emptyHanded(request, settings, found)] : []
      const answerWith = (budget: number) => {
        const { included, prompt } = formatPrompt(
          request.query,
          hits,
          { maxTokens: budget, countTokens: count },
          { fullSources: true }
        )
        const omitted = hits.length - included
        const notices = [
          ...nothing,
          ...remarksOn(found),
          ...(omitted === 0
            ? []
            : [
                `${plural(omitted, "passage was", "passages were")} left out to fit max_tokens=${maxTokens}; raise it to include them.`
              ])
        ]
        return {
          included,
          structured: {
            prompt,
            sources: hits.slice(0, included).map(({ document }) => boundedSource(document.source)),
            query_time_ms: queryTimeMs,
            ...toProvenance(found),
            omitted: omitted === 0 ? undefined : omitted,
            notice: notices.length === 0 ? undefined : notices.join(" ")
          },
          text: [prompt, ...(notices.length === 0 ? [] : [notices.join("\n")])]
        }
      }
      let budget = maxTokens
      let answer = answerWith(budget)
      const sizeOf = (each: typeof answer) => tokensOf(count, each)
      // Each round leaves out at least one passage.
      for (let over = sizeOf(answer) - maxTokens; over > 0 && answer.included > 0; over = sizeOf(answer) - maxTokens) {
        const before = answer.included
        while (answer.included === before && budget > 0) answer = answerWith((budget -= Math.max(over, 1)))
      }
      if (answer.included === 0 && (hits.length > 0 || sizeOf(answer) > maxTokens)) {
        const best = answerWith(formatPrompt(request.query, hits, nothingFits(count), { fullSources: true }).least)
        const what = hits.length === 0 ? "the prompt" : "the prompt with the best passage"
        return yield* tooFewTokens(maxTokens, what, leastFor(sizeOf(best)))
      }
      return answer
    })
})
