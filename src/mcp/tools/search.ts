import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { flag, int, list } from "../../model/fields.ts"
import { bounded, citation, entry, formatPrompt, sourceCharacters } from "../../citations/prompt.ts"
import { toProvenance, type Hit, SearchResponse, SearchResult, PromptResponse } from "../../model/SearchResult.ts"
import { Tokenizer } from "../../packaged/Tokenizer.ts"
import { Search } from "../../Search.ts"
import { make, type Settings } from "../Tool.ts"
import {
  defaultMaxTokens,
  fitting,
  leastFor,
  tokensOf,
  tooFewTokens,
  guard,
  Notice,
  quote,
  toQuoted,
  emptyHanded,
  optional,
  plural,
  remarksOn,
  SearchArguments,
  anyObject
} from "./answers.ts"

const Explained = anyObject.annotations({ description: "Present with explain" })

const SearchAnswer = Schema.Struct({
  notice: Notice,
  ...SearchResponse.fields,
  results: Schema.Array(Schema.Struct({ ...SearchResult.fields, explain: Schema.optional(Explained) })),
  explain: Schema.optional(Explained),
  read_as: Schema.optional(anyObject),
  omitted: Schema.optional(int("Passages found but left out to fit max_tokens")),
  left_out: Schema.optional(list(Schema.String, "Places of the first of those"))
})

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
    explain: Schema.optional(flag("Explain the scores"))
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
        hits.length === 0 ? "the answer" : "the answer with the best passage",
        (shown, named) => {
          const left = hits.slice(shown)
          const names = namesOf(left).slice(0, named)
          const closing = left.length === 0 ? [] : [leftOut(left, names.length, maxTokens, settings)]
          return {
            structured: {
              notice: [...notices, ...closing].join(" "),
              results: results.slice(0, shown),
              query_time_ms: queryTimeMs,
              ...toProvenance(found),
              ...optional("explain", explain),
              ...optional("omitted", left.length === 0 ? undefined : left.length),
              ...optional("left_out", names.length === 0 ? undefined : names)
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
    })
})

const defaultTopK = 3

/** A budget of 0: its error names the least that is needed. */
const nothingFits = (countTokens: (text: string) => number) => ({ maxTokens: 0, countTokens })

const PromptAnswer = Schema.Struct({
  ...PromptResponse.fields,
  read_as: Schema.optional(anyObject),
  notice: Schema.optional(Notice)
})

export const getPrompt = make({
  name: "get_prompt",
  title: "Search and build a prompt",
  description: () =>
    "Search as search does, and get the passages as one ready prompt: an instruction, numbered context with scores and sources, and the question. " +
    "Use it to answer with citations [1], [2], …, or to hand a grounded prompt to another model.",
  input: SearchArguments,
  output: PromptAnswer,
  defaults: () => ({ top_k: defaultTopK, hybrid: true, max_tokens: defaultMaxTokens }),
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
            sources: hits.slice(0, included).map(({ document }) => bounded(document.source, sourceCharacters)),
            query_time_ms: queryTimeMs,
            ...toProvenance(found),
            ...optional("omitted", omitted === 0 ? undefined : omitted),
            ...optional("notice", notices.length === 0 ? undefined : notices.join(" "))
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
