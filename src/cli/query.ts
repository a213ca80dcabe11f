import * as Effect from "effect/Effect"
import { stripVTControlCharacters } from "node:util"
import { Search, type SearchOutcome } from "../Search.ts"
import { bestExcerpt, highlighter } from "../citations/highlight.ts"
import type { TextSpan } from "../model/Passage.ts"
import { alike, scoreText, state } from "../citations/prompt.ts"
import { way } from "../citations/remarks.ts"
import { defaultCollection } from "../model/Collection.ts"
import { fragment } from "../model/Locator.ts"
import {
  type Explanation,
  type Hit,
  type SearchExplanation,
  SearchResponse,
  headingPath,
  toProvenance,
  toSearchResult
} from "../model/SearchResult.ts"
import { languageNamed } from "../terms/languages.ts"
import { flags, noteRemarks, nothingFound, positional, requestOf } from "./asking.ts"
import * as Cli from "./command.ts"
import { Engine, Place, displayPath } from "./engine.ts"
import { exitCode, stop } from "./exit.ts"
import { numberText, printJson } from "./output.ts"
import { readable } from "./tables.ts"
import { type Colors, type Face, Terminal, printable, printableLine } from "./terminal.ts"
import { wrapLine, wrapped } from "./wrap.ts"

/** Characters of a passage that are shown. */
const excerptCharacters = 400

/** Where there is no terminal, tables that are wider have their rows as `name: value`. */
const pipeColumns = 120

/** What stands behind the name of a passage's file. */
export const whereIn = ({ locator, startLine }: Hit["passage"], line = startLine): string =>
  locator === undefined ? `:${line}` : printableLine(fragment(locator))

const marked = (text: string, spans: ReadonlyArray<TextSpan>, { end, start }: TextSpan, colors: Colors): string => {
  let shownText = ""
  let at = start
  for (const span of spans) {
    const from = Math.max(span.start, start)
    const to = Math.min(span.end, end)
    if (from >= to) continue
    shownText += `${printable(text.slice(at, from))}${colors.bold(colors.yellow(printable(text.slice(from, to))))}`
    at = to
  }
  return shownText + printable(text.slice(at, end))
}

/** A line without heading marks and colours. */
const bare = (line: string): string => {
  const words = stripVTControlCharacters(line)
    .trim()
    .replace(/^(?:#{1,6}|={1,6})\s+/, "")
  let end = words.length
  while (end > 0 && "#=".includes(words.charAt(end - 1))) end--
  return (/\s/.test(words.charAt(end - 1)) ? words.slice(0, end) : words).trim()
}

const underline = /^\s*(?:={3,}|-{3,}|~{3,})\s*$/

/** The documents of the results, each once, best first. */
export const renderFiles = (hits: ReadonlyArray<Hit>) =>
  Effect.map(Place, ({ cwd }) =>
    [...new Set(hits.map(({ document }) => printableLine(displayPath(cwd, document.source))))].join("\n")
  )

/** A passage's title and headings, the title once; empty if it has none. */
export const titleOf = ({ document: { title }, passage }: Hit): string =>
  printableLine(
    [title, headingPath(passage.heading.filter((heading) => heading !== title))]
      .filter((part) => part !== undefined && part !== "")
      .join(" > ")
  )

/** Results for people: rank, score, `source:line`, title and headings, and the best part of the passage. */
export const renderHits = Effect.fnUntraced(function* (
  hits: ReadonlyArray<Hit>,
  query: string,
  also: ReadonlyArray<string> = []
) {
  const { cwd } = yield* Place
  const { colors, columns, isTerminal } = (yield* Terminal).out
  const queries = [query, ...also]
  const find = highlighter(queries.join("\n"))
  const gutter = " ".repeat(String(hits.length).length + 2)
  const width = Math.max(20, (isTerminal ? columns : pipeColumns) - gutter.length)
  const fit = (line: string) => (isTerminal ? wrapLine(line, width) : [line])
  return hits
    .map((hit, index) => {
      const { collection, document, explain, foundBy, passage, relevance, score, via } = hit
      const same = alike(hit, ({ document, passage }) => `${displayPath(cwd, document.source)}${whereIn(passage)}`)
      const { isNamed, linesBefore, text } = readable(passage.text, width, passage.tableHeader)
      const spans = find(text, languageNamed(hit.language))
      const excerpt = bestExcerpt(text, spans, excerptCharacters)
      const cut = [excerpt.start > 0 ? "… " : "", excerpt.end < text.length ? " …" : ""] as const
      const lines = marked(text, spans, excerpt, colors)
        .split("\n")
        .filter((line) => line.trim() !== "")
      // Title and headings are already shown above.
      const repeated = new Set([document.title, ...passage.heading].flatMap((part) => (part ? [bare(part)] : [])))
      while (lines.length > 1 && (repeated.has(bare(lines[0]!)) || underline.test(lines[0]!))) lines.shift()
      const line = Math.min(passage.endLine, passage.startLine + linesBefore(excerpt.start))
      const where = `${printableLine(displayPath(cwd, document.source))}${whereIn(passage, line)}`
      const title = titleOf(hit)
      return [
        `${`${index + 1}.`.padEnd(gutter.length)}${fit(`${colors.cyan(where)}  ${colors.dim(`${scoreText(score, 3)}${relevance === undefined ? "" : `  relevance ${relevance.toFixed(2)}`}${collection === defaultCollection ? "" : `  in ${collection}`}`)}${colors.yellow(state(hit, "  "))}`).join(`\n${gutter}`)}`,
        ...(explain === undefined ? [] : fit(explanationOf(explain)).map(colors.dim)),
        ...(foundBy === undefined
          ? []
          : fit(printableLine(`found by ${foundBy.map((query) => JSON.stringify(queries[query])).join(", ")}`)).map(
              colors.dim
            )),
        ...(via === undefined ? [] : fit(printableLine(`via ${way(via)}`)).map(colors.dim)),
        ...(title === "" ? [] : fit(title).map(colors.bold)),
        ...(passage.tableHeader === undefined || isNamed
          ? []
          : fit(printableLine(passage.tableHeader)).map(colors.dim)),
        ...`${cut[0]}${lines.join("\n")}${cut[1]}`.split("\n").flatMap(fit),
        ...(same === "" ? [] : fit(printableLine(same)).map(colors.dim))
      ].join(`\n${gutter}`)
    })
    .join("\n\n")
})

type Keyword = NonNullable<Explanation["keyword"]>

const fieldsOf = ({ heading, text, title }: Keyword["terms"][number]): string =>
  [title > 0 ? "title" : "", heading > 0 ? "heading" : "", text > 0 ? "text" : ""]
    .filter((field) => field !== "")
    .join(" and ")

const termsOf = ({ name_bonus: bonus = 0, others, terms }: Keyword): string => {
  const said = [
    ...terms.map(
      (term) => `${term.near === true ? "~" : ""}${term.term} ${term.score.toFixed(2)} in ${fieldsOf(term)}`
    ),
    ...(others === undefined ? [] : [`other words ${others.toFixed(2)}`]),
    ...(bonus === 0 ? [] : [`+${Math.round(100 * bonus)} % for names as written`])
  ]
  return said.length === 0 ? "" : ` (${said.join(", ")})`
}

const legOf = (
  name: string,
  leg: { rank?: number | undefined; score: number; beside?: number | undefined; contribution: number } | undefined
): string =>
  leg === undefined
    ? `not found ${name}`
    : `${leg.contribution.toFixed(3)} ${name}: ${leg.rank === undefined ? "not ranked" : `#${leg.rank}`}, score ${leg.score.toFixed(3)}${leg.beside === undefined ? "" : `, its neighbours ${leg.beside.toFixed(3)}`}`

/** How a result's score was computed, on one line. */
const explanationOf = ({ keyword, likeness, recency, rerank, vector }: Explanation): string => {
  const before = rerank === undefined ? "" : `reranked from #${rerank.rank} ${rerank.score.toFixed(3)}: `
  const terms = keyword === undefined ? "" : termsOf(keyword)
  const alike =
    likeness === undefined
      ? ""
      : `; ${likeness.contribution.toFixed(3)} for words like the question's: likeness ${likeness.score.toFixed(3)}`
  const age =
    recency === undefined
      ? ""
      : `; ${recency.contribution.toFixed(3)} for its age of ${Math.round(recency.age_days)} days`
  return printable(`${before}${legOf("by meaning", vector)}; ${legOf("by words", keyword)}${terms}${alike}${age}`)
}

/** How the search went, for people. */
const renderExplanation = (explain: SearchExplanation, out: Face): string => {
  const { alpha, candidates, depth, filtered, passages, rrf_k: k, stages_us: stages } = explain
  const searched =
    filtered === undefined
      ? `${numberText(passages)} passages searched`
      : `${numberText(filtered)} of ${numberText(passages)} passages left by the filter`
  const times = Object.entries(stages).map(([stage, us = 0]) => `${stage} ${(us / 1000).toFixed(1)}`)
  const lines = [
    `${searched}; ranked: ${candidates.vector} by meaning, ${candidates.keyword} by words (at most ${depth})` +
      (alpha === undefined ? "" : `; weight of meaning ${Number(alpha.toFixed(3))}`) +
      (k === undefined ? "" : `; k = ${k}`),
    `ms: ${times.join(", ")}`
  ]
  return out.colors.dim(wrapped(out, lines.join("\n")))
}

/** What `query --json` prints: the body of POST /query. */
export const QueryReport = SearchResponse.annotations({ identifier: "QueryReport" })

/** Prints what a search found; exits with 3 if that is nothing. */
export const printFound = Effect.fnUntraced(function* (
  found: SearchOutcome,
  files: boolean,
  query: string,
  also?: ReadonlyArray<string>
) {
  const { globals } = yield* Place
  const { out, print } = yield* Terminal
  const { explain, hint, hits, queryTimeMs } = found
  if (globals.json) {
    yield* printJson(QueryReport, {
      results: hits.map(toSearchResult),
      query_time_ms: queryTimeMs,
      ...toProvenance(found),
      explain
    })
  } else if (hits.length > 0) {
    yield* print(yield* files ? renderFiles(hits) : renderHits(hits, query, also))
    if (explain !== undefined) yield* print(`\n${renderExplanation(explain, out)}`)
  }
  yield* noteRemarks(found)
  if (hits.length === 0) yield* nothingFound(hint)
})

export const query = Cli.define(
  {
    name: "query",
    summary: "Find passages",
    positional: positional,
    flags: {
      ...flags,
      explain: Cli.toggle("explain", {
        summary: "Show how each score was computed, and how long each stage took"
      }),
      files: Cli.toggle("files", {
        alias: "l",
        summary: "List documents instead of passages, each once; -k 5 lists five"
      })
    },
    examples: [
      "clew query how are passages ranked",
      "clew query -k 20 --files tides | xargs -d '\\n' wc -l",
      "clew query -k 10 --filter 'source=docs/*' \"C++\"",
      "clew query when is high tide --also 'time of high water' --since 30d",
      "clew query --filter 'year>=2020' --filter lang=en,de --json tides | jq .results"
    ],
    details: ["Exits with 3 if nothing is found, or only weak matches."]
  },
  function* (flags, words) {
    const request = yield* requestOf(flags, words)
    const engine = yield* Engine
    const asked = { ...request, explain: flags.explain, perDocument: flags.files ? 1 : undefined }
    const found = yield* Effect.flatMap(Search, (search) => search.run(asked)).pipe(Effect.provide(engine.read))
    yield* printFound(found, flags.files, found.readAs?.words ?? request.query, request.queries)
    if (found.weak === true) return yield* stop(exitCode.nothingFound)
  }
)
