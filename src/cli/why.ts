import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Search } from "../Search.ts"
import { Store } from "../Store.ts"
import { citation } from "../citations/prompt.ts"
import { filterHint } from "../filterHint.ts"
import { limits } from "../model/Limits.ts"
import type { SearchRequest } from "../model/Query.ts"
import { Hint, type Hit, type Similar } from "../model/SearchResult.ts"
import { splitQuery } from "../terms/terms.ts"
import { flags, requestOf } from "./asking.ts"
import { define } from "./command.ts"
import { lookFor, notIndexed, theDocument } from "./document.ts"
import { Place, inIndex, shown } from "./engine.ts"
import { exitCode, stop } from "./exit.ts"
import { count, printJson } from "./output.ts"
import { oneLine, way, whereIn } from "./query.ts"
import { Terminal } from "./terminal.ts"
import { wrapped } from "./wrap.ts"

const Leg = Schema.Struct({
  rank: Schema.optional(Schema.Int.annotations({ description: `Rank in the top ${limits.topK.max}; absent if lower` })),
  score: Schema.optional(
    Schema.Finite.annotations({ description: "Score of its best passage; absent if the leg has none" })
  )
})

/** What `why --json` prints. */
export const WhyReport = Schema.Struct({
  source: Schema.String,
  indexed: Schema.Boolean,
  reason: Schema.optional(Schema.String.annotations({ description: "Why it is not indexed" })),
  collection: Schema.optional(Schema.String),
  filtered_out: Schema.optional(Schema.Boolean),
  hint: Schema.optional(Hint),
  hybrid: Schema.optional(Leg),
  vector: Schema.optional(Leg),
  keyword: Schema.optional(Leg),
  degraded: Schema.optional(Schema.String),
  terms: Schema.optional(
    Schema.Array(Schema.Struct({ term: Schema.String, score: Schema.Finite })).annotations({
      description:
        "What each word of the question adds to the score by words; 0: the passage does not have it. Absent if another document stands for this one"
    })
  ),
  relevance: Schema.optional(
    Schema.Finite.annotations({ description: "How likely it is to answer, 0 to 1; absent if not in the top list" })
  ),
  via: Schema.optional(Schema.String.annotations({ description: "How the knowledge graph led to it" })),
  folded_into: Schema.optional(
    Schema.String.annotations({ description: "The result that says the same and has its place in the list" })
  ),
  ahead: Schema.optional(
    Schema.Array(Schema.Struct({ place: Schema.String, score: Schema.Finite })).annotations({
      description: "The results ranked above it"
    })
  )
}).annotations({ identifier: "WhyReport" })
type WhyReport = typeof WhyReport.Type

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

type Wanted = Effect.Effect.Success<ReturnType<typeof theDocument>>

/** A document's rank for a question in one way of searching, and the results above it. */
const standing = Effect.fnUntraced(function* (
  request: SearchRequest,
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

export const why = define(
  {
    name: "why",
    summary: "Explain a document's rank for a question, or why it is not indexed",
    positional: { name: '"QUESTION" SOURCE', summary: "A question in quotes, and a document", min: 2, max: 2 },
    flags: { filter: flags.filter, collection: flags.collection, fusion: flags.fusion },
    examples: ['clew why "when is high tide" docs/tides.md'],
    details: [
      "Shows whether the document is indexed and, if not, why; whether the filter excludes it; its rank and score by meaning, by words and fused, with the parts that add up to each; how relevant it is, and whether the knowledge graph led to it; and the results above it.",
      "Exits with 3 if it is not indexed."
    ]
  },
  function* ({ collection, filter, fusion }, [question = "", given = ""]) {
    const { cwd, globals } = yield* Place
    const { note, out, print } = yield* Terminal
    const request = yield* requestOf({ fusion, filter, collection }, [question])
    yield* inIndex("read", function* () {
      const store = yield* Store
      if ((yield* lookFor(given, collection)).length === 0) {
        const reason = yield* notIndexed(given, collection)
        if (globals.json) yield* printJson(WhyReport, { source: given, indexed: false, reason })
        else yield* note(`clew: ${given} is not indexed: ${reason}`)
        return yield* stop(exitCode.nothingFound)
      }
      const found = yield* theDocument(given, collection)
      const document = yield* store.get(found.collection, found.docId)
      const source = document.source ?? document.docId
      const itself = { and: [request.filter ?? {}, { doc_id: found.docId }] }
      const left = yield* store.list(found.collection, { limit: 1, filter: itself })
      const filteredOut = left.length === 0

      const hint = filteredOut ? yield* filterHint(request.filter ?? {}, [found.collection]) : undefined

      const at = (more: Partial<SearchRequest>) => standing({ ...request, ...more }, found, document.source)
      const hybrid = yield* standing(request, found, undefined)
      const vector = yield* at({ hybrid: false, fusion: undefined })
      const keyword = yield* at({ alpha: 0 })
      const byWords = keyword.own?.explain?.keyword
      const terms = partsOf(question, byWords)
      const report: WhyReport = {
        source,
        indexed: true,
        collection: found.collection,
        ...(filteredOut ? { filtered_out: true } : {}),
        ...(hint === undefined ? {} : { hint }),
        hybrid: hybrid.leg,
        vector: vector.degraded === undefined ? vector.leg : {},
        keyword: keyword.leg,
        ...(hybrid.degraded === undefined ? {} : { degraded: hybrid.degraded }),
        ...(keyword.into === undefined ? { terms } : {}),
        ...(hybrid.own?.relevance === undefined ? {} : { relevance: hybrid.own.relevance }),
        ...(hybrid.own?.via === undefined ? {} : { via: way(hybrid.own.via) }),
        ...(hybrid.into === undefined ? {} : { folded_into: citation(hybrid.into) }),
        ahead: hybrid.ahead.map((hit) => ({ place: citation(hit), score: hit.score }))
      }
      if (globals.json) return yield* printJson(WhyReport, report)

      const { bold, cyan, dim } = out.colors
      const placeOf = (hit: Similar) => `${shown(cwd, hit.document.source)}${whereIn(hit.passage)}`
      const legText = ({ into, leg: { rank, score } }: Effect.Effect.Success<ReturnType<typeof standing>>) =>
        into !== undefined
          ? `#${rank}, where ${placeOf(into)} says the same`
          : rank !== undefined
            ? `#${rank}, score ${score?.toFixed(3)}`
            : score === undefined
              ? "not found"
              : `not in the top ${limits.topK.max}, score ${score.toFixed(3)}`
      /** The parts of the fused score, which add up to it. */
      const fused = () => {
        const { explain, relevance, via } = hybrid.own ?? {}
        const parts = [
          ["by meaning", explain?.vector?.contribution],
          ["by words", explain?.keyword?.contribution],
          ["for words like the question's", explain?.likeness?.contribution],
          ["for its age", explain?.recency?.contribution]
        ].flatMap(([name, part]) => (typeof part === "number" ? [`${part.toFixed(3)} ${name}`] : []))
        return [
          ...(explain?.rerank === undefined
            ? parts.length > 1
              ? [`  ${parts.join(" + ").replaceAll("+ -", "- ")}`]
              : []
            : [`  the reranker's score; before it #${explain.rerank.rank}, score ${explain.rerank.score.toFixed(3)}`]),
          ...(via === undefined ? [] : [`  by the knowledge graph, via ${oneLine(way(via))}`]),
          ...(relevance === undefined
            ? []
            : [row("relevance", `${relevance.toFixed(2)}, the chance that it answers the question`)])
        ]
      }
      const bonus = byWords?.name_bonus ?? 0
      const row = (name: string, text: string) => `${bold(name.padEnd(9))} ${text}`
      yield* print(
        wrapped(
          out,
          [
            `${cyan(shown(cwd, source))} in collection ${found.collection}, ${count(document.passages.length, "passage")}`,
            ...(filteredOut ? [`The filter excludes it${hint === undefined ? "" : `: ${hint}`}.`] : []),
            row(
              "fused",
              hybrid.leg.rank === undefined && (vector.own ?? keyword.own) !== undefined
                ? `not in the top ${limits.topK.max}`
                : legText(hybrid)
            ),
            ...fused(),
            row("meaning", vector.degraded === undefined ? legText(vector) : `not searched: ${vector.degraded}`),
            row("words", legText(keyword)),
            ...(report.terms ?? []).map(
              ({ score, term }) => `  ${term}: ${score === 0 ? dim("does not occur") : `+${score.toFixed(2)}`}`
            ),
            ...(byWords?.others === undefined ? [] : [`  other words: +${byWords.others.toFixed(2)}`]),
            ...(bonus === 0 ? [] : [`  names written as in the question: +${Math.round(100 * bonus)} %`]),
            ...(report.ahead!.length === 0
              ? []
              : [
                  "Ranked above it:",
                  ...hybrid.ahead.map(
                    (hit) =>
                      `  ${placeOf(hit)}  ${hit.score.toFixed(3)}` +
                      (hit.vector === undefined ? "" : `  meaning #${hit.vector.rank}`) +
                      (hit.keyword === undefined ? "" : `  words #${hit.keyword.rank}`)
                  )
                ])
          ].join("\n")
        )
      )
    })
  }
)
