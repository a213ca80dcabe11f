import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as path from "node:path"
import { Collections } from "../Collections.ts"
import { fragment } from "../model/Locator.ts"
import { Hint } from "../model/Provenance.ts"
import type { Hit } from "../model/SearchResult.ts"
import type { SearchRequest } from "../model/Query.ts"
import { whyPassedOver } from "../files/Walker.ts"
import { filterHint } from "../filterHint.ts"
import { Search } from "../Search.ts"
import { Store } from "../Store.ts"
import { isBelow } from "../files/below.ts"
import { citation } from "../citations/prompt.ts"
import { splitQuery } from "../terms/terms.ts"
import * as asking from "./asking.ts"
import { define } from "./command.ts"
import { lookFor, theDocument } from "./document.ts"
import { Engine } from "./engine.ts"
import { exitCode, stop } from "./exit.ts"
import { harmless } from "./harmless.ts"
import { count, printJson } from "./output.ts"
import { Place, shown } from "./place.ts"
import { Terminal } from "./terminal.ts"
import { wrapped } from "./wrap.ts"
import { limits } from "../model/Limits.ts"

const Leg = Schema.Struct({
  rank: Schema.optional(Schema.Int.annotations({ description: `Rank in the top ${limits.topK.max}; absent if lower` })),
  score: Schema.optional(
    Schema.Finite.annotations({ description: "Score of its best passage; absent if the leg has none" })
  )
})

const placeOf = ({ locator, startLine }: Hit["passage"]): string =>
  locator === undefined ? `:${startLine}` : harmless(fragment(locator)).replaceAll("\n", " ")

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
        "BM25 of each word of the question by itself, for the document's best passage; 0: the word does not occur"
    })
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

/** Why a file is not in the index, as far as recorded runs or the disk tell. */
const notIndexed = Effect.fnUntraced(function* (source: string, collection: SearchRequest["collection"]) {
  const { cwd } = yield* Place
  const file = path.resolve(cwd, source)
  for (const { name } of yield* (yield* Collections).among(collection)) {
    const [known] = yield* (yield* Store).knownFiles(name, [file])
    if (known !== undefined && known.outcome !== "indexed") {
      return `${known.outcome} in collection ${name}${known.reason === undefined ? "" : `: ${known.reason}`}`
    }
    if (known !== undefined) return `read for collection ${name}, but it contains nothing to index`
  }
  const found = fs.statSync(file, { throwIfNoEntry: false })
  if (found === undefined) return "there is no such document and no such file"
  if (found.isDirectory()) return `it is a folder; clew list ${source} names the documents in it`
  return yield* unmet(file, collection)
})

/** Why no run has met a file that exists. */
const unmet = Effect.fnUntraced(function* (file: string, collection: SearchRequest["collection"]) {
  const { cwd } = yield* Place
  const store = yield* Store
  for (const { name } of yield* (yield* Collections).among(collection)) {
    for (const { include, path: root } of yield* store.roots(name)) {
      if (!isBelow(file, [root])) continue
      const reason = yield* whyPassedOver(root, include)(file)
      return reason === undefined
        ? `it was missing or skipped when ${shown(cwd, root)} was indexed: clew index ${shown(cwd, file)} indexes it`
        : `skipped below ${shown(cwd, root)}: ${reason}`
    }
  }
  return `neither the file nor a folder above it was indexed: clew index ${shown(cwd, file)} indexes it`
})

type Wanted = Effect.Effect.Success<ReturnType<typeof theDocument>>

/** A document's rank for a question in one way of searching, and the results above it. */
const standing = Effect.fnUntraced(function* (request: SearchRequest, wanted: Wanted, source: string | undefined) {
  const search = yield* Search
  const all = yield* search.run({ ...request, topK: limits.topK.max })
  const isOwn = ({ collection, document }: Hit) => document.docId === wanted.docId && collection === wanted.collection
  const at = all.hits.findIndex(isOwn)
  const alone =
    at !== -1 || source === undefined
      ? undefined
      : (yield* search.run({
          ...request,
          topK: limits.topK.max,
          filter: { and: [request.filter ?? {}, { source }] }
        })).hits.find(isOwn)
  const own = at === -1 ? alone : all.hits[at]
  return {
    degraded: all.degraded,
    own,
    leg: { ...(at === -1 ? {} : { rank: at + 1 }), ...(own === undefined ? {} : { score: own.score }) },
    ahead: (at === -1 ? all.hits : all.hits.slice(0, at)).slice(0, mostAhead)
  }
})

export const why = define(
  {
    name: "why",
    summary: "Explain a document's rank for a question, or why it is not indexed",
    positional: { name: '"QUESTION" SOURCE', summary: "A question in quotes, and a document", min: 2, max: 2 },
    flags: { filter: asking.flags.filter, collection: asking.flags.collection, fusion: asking.flags.fusion },
    examples: ['clew why "when is high tide" docs/tides.md'],
    details: [
      "Shows whether the document is indexed and, if not, why; whether the filter excludes it; its rank and score by meaning, by words and fused; the score of each word of the question by itself; and the results above it.",
      "Exits with 3 if it is not indexed."
    ]
  },
  ({ collection, filter, fusion }, [question = "", given = ""]) =>
    Effect.gen(function* () {
      const { cwd, globals } = yield* Place
      const { note, out, print } = yield* Terminal
      const request = yield* asking.requestOf(
        "clew why",
        {
          topK: undefined,
          hybrid: undefined,
          alpha: undefined,
          fusion,
          filter,
          collection,
          graph: undefined,
          minRelevance: undefined
        },
        [question]
      )
      const engine = yield* Engine
      yield* Effect.gen(function* () {
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
        const own = document.source === undefined ? {} : { source: document.source }
        const itself = { and: [request.filter ?? {}, { doc_id: found.docId }] }
        const left = yield* store.list(found.collection, { limit: 1, filter: itself })
        const filteredOut = left.length === 0

        const hint = filteredOut ? yield* filterHint(request.filter ?? {}, [found.collection]) : undefined

        const at = (more: Partial<SearchRequest>) => standing({ ...request, ...more }, found, document.source)
        const hybrid = yield* at({})
        const vector = yield* at({ hybrid: false, fusion: undefined })
        const keyword = yield* at({ alpha: 0 })
        const terms = yield* Effect.forEach(wordsOf(question), (word) =>
          Effect.map(
            standing({ query: word, alpha: 0, collection: request.collection, filter: { ...own } }, found, undefined),
            ({ own }) => ({ term: word, score: own?.score ?? 0 })
          )
        )
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
          terms,
          ahead: hybrid.ahead.map((hit) => ({ place: citation(hit), score: hit.score }))
        }
        if (globals.json) return yield* printJson(WhyReport, report)

        const { bold, cyan, dim } = out.colors
        const legText = ({ rank, score }: typeof Leg.Type) =>
          rank === undefined
            ? score === undefined
              ? "not found"
              : `not in the top ${limits.topK.max}, score ${score.toFixed(3)}`
            : `#${rank}, score ${score?.toFixed(3)}`
        const row = (name: string, text: string) => `${bold(name.padEnd(9))} ${text}`
        yield* print(
          wrapped(
            out,
            [
              `${cyan(shown(cwd, source))} in collection ${found.collection}, ${count(document.passages.length, "passage")}`,
              ...(filteredOut ? [`The filter excludes it${hint === undefined ? "" : `: ${hint}`}.`] : []),
              row("fused", legText(report.hybrid!)),
              row(
                "meaning",
                report.degraded === undefined ? legText(report.vector!) : `not searched: ${report.degraded}`
              ),
              row("words", legText(report.keyword!)),
              ...terms.map(
                ({ score, term }) => `  ${term}: ${score === 0 ? dim("does not occur") : `+${score.toFixed(2)}`}`
              ),
              ...(report.ahead!.length === 0
                ? []
                : [
                    "Ranked above it:",
                    ...hybrid.ahead.map(
                      (hit) =>
                        `  ${shown(cwd, hit.document.source)}${placeOf(hit.passage)}  ${hit.score.toFixed(3)}` +
                        (hit.vector === undefined ? "" : `  meaning #${hit.vector.rank}`) +
                        (hit.keyword === undefined ? "" : `  words #${hit.keyword.rank}`)
                    )
                  ])
            ].join("\n")
          )
        )
      }).pipe(Effect.provide(engine.open("read")))
    })
)
