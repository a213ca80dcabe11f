import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { toProvenance } from "../../model/Provenance.ts"
import { type Hit, SearchResponse, SearchResult } from "../../model/SearchResult.ts"
import { Search } from "../../Search.ts"
import { bounded, citation, entry } from "../../citations/prompt.ts"
import { make, type Settings } from "../Tool.ts"
import { defaultMaxTokens, fitting } from "./budget.ts"
import { guard, Notice, quote, toQuoted } from "./quoted.ts"
import { emptyHanded, optional, plural, remarksOn, SearchArguments, told } from "./request.ts"

const Explained = told.annotations({ description: "Present with explain" })

const SearchAnswer = Schema.Struct({
  notice: Notice,
  ...SearchResponse.fields,
  results: Schema.Array(Schema.Struct({ ...SearchResult.fields, explain: Schema.optional(Explained) })),
  explain: Schema.optional(Explained),
  read_as: Schema.optional(told),
  omitted: Schema.optional(Schema.Int.annotations({ description: "Passages found but left out to fit max_tokens" })),
  left_out: Schema.optional(Schema.Array(Schema.String).annotations({ description: "Places of the first of those" }))
})

const namedAtMost = 10

/** The first distinct places; passages on one line share one. */
const namesOf = (hits: ReadonlyArray<Hit>): ReadonlyArray<string> =>
  [...new Set(hits.map((hit) => bounded(citation(hit), 200)))].slice(0, namedAtMost)

const leftOut = (hits: ReadonlyArray<Hit>, maxTokens: number, { tools }: Settings): string => {
  const reading = tools.includes("get_document")
    ? ", or read them with get_document (source, start_line, end_line)"
    : ""
  const first = hits.length > namedAtMost ? "; the places of the first are listed" : ""
  return `${plural(hits.length, "further passage was", "further passages were")} left out to fit max_tokens=${maxTokens}${first}. To see them, raise max_tokens${reading}.`
}

export const search = make({
  name: "search",
  title: "Search the index",
  description: ({ overview, tools, topK }) =>
    `Find passages in ${overview.what}. Use it before answering anything these documents may settle. ` +
    `Ask in plain words; names, "a phrase", -word and path:word work. Returns the best ${topK} passages with score, source:lines, title and headings; cite source:line. ` +
    'To refine: other words, larger top_k, filter by metadata: {"source": "*/docs/*", "year": {"gte": 2020}}.' +
    (tools.includes("get_document") ? " get_document reads around a passage." : ""),
  input: Schema.Struct({
    ...SearchArguments.fields,
    explain: Schema.optional(Schema.Boolean.annotations({ description: "Explain the scores" }))
  }),
  output: SearchAnswer,
  defaults: ({ topK }) => ({ top_k: topK, hybrid: true, max_tokens: defaultMaxTokens }),
  run: ({ maxTokens = defaultMaxTokens, ...request }, settings) =>
    Effect.gen(function* () {
      const found = yield* (yield* Search).run({
        ...request,
        topK: request.topK ?? settings.topK,
        hybrid: request.hybrid ?? true
      })
      const { explain, hits, mode, queryTimeMs } = found
      const entries = hits.map((hit, index) =>
        hit.explain === undefined
          ? entry(hit, index + 1)
          : `${entry(hit, index + 1)}\nexplain: ${JSON.stringify(hit.explain)}`
      )
      const results = hits.map(toQuoted)
      const opening =
        hits.length === 0
          ? yield* emptyHanded(request, settings, found)
          : `${plural(hits.length, "passage")} for ${JSON.stringify(bounded(request.query, 200))}, best first (${mode} search). ${guard}`
      const notices = [
        opening,
        ...remarksOn(found),
        ...(explain === undefined ? [] : [`Explain: ${JSON.stringify(explain)}.`])
      ]
      return yield* fitting(
        hits.map((_, index) => ({ structured: results[index], text: [entries[index]!] })),
        maxTokens,
        (shown) => {
          const left = hits.slice(shown)
          const closing = left.length === 0 ? [] : [leftOut(left, maxTokens, settings)]
          return {
            structured: {
              notice: [...notices, ...closing].join(" "),
              results: results.slice(0, shown),
              query_time_ms: queryTimeMs,
              ...toProvenance(found),
              ...optional("explain", explain),
              ...(left.length === 0 ? {} : { omitted: left.length, left_out: namesOf(left) })
            },
            text: [
              [
                ...notices,
                ...entries.slice(0, shown),
                ...closing,
                ...(left.length === 0 ? [] : [quote(namesOf(left))])
              ].join("\n\n")
            ]
          }
        }
      )
    })
})
