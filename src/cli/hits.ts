import * as Effect from "effect/Effect"
import { stripVTControlCharacters } from "node:util"
import { fragment } from "../model/Locator.ts"
import { defaultCollection } from "../model/Collection.ts"
import type { Hit } from "../model/SearchResult.ts"
import { headingPath } from "../model/SearchResult.ts"
import { bestExcerpt, highlighter, type TextSpan } from "../citations/highlight.ts"
import { alike } from "../citations/prompt.ts"
import { explanationOf } from "./explanation.ts"
import { harmless } from "./harmless.ts"
import { Place, shown } from "./place.ts"
import { type Colors, Terminal } from "./terminal.ts"
import { wrapLine } from "./wrap.ts"

/** Characters of a passage that are shown. */
const excerptCharacters = 400

const oneLine = (text: string): string => harmless(text).replaceAll("\n", " ")

/** What stands behind the name of a passage's file. */
const placeOf = ({ locator, startLine }: Hit["passage"], line = startLine): string =>
  locator === undefined ? `:${line}` : oneLine(fragment(locator))

const newlines = (text: string): number => text.split("\n").length - 1

const marked = (text: string, spans: ReadonlyArray<TextSpan>, { end, start }: TextSpan, colors: Colors): string => {
  let shownText = ""
  let at = start
  for (const span of spans) {
    const from = Math.max(span.start, start)
    const to = Math.min(span.end, end)
    if (from >= to) continue
    shownText += `${harmless(text.slice(at, from))}${colors.bold(colors.yellow(harmless(text.slice(from, to))))}`
    at = to
  }
  return shownText + harmless(text.slice(at, end))
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
    [...new Set(hits.map(({ document }) => oneLine(shown(cwd, document.source))))].join("\n")
  )

/** The path by which the graph led to a passage. */
export const way = (via: NonNullable<Hit["via"]>): string =>
  via.map(({ entity, source }) => `${entity} (${source ?? "in the query"})`).join(", ")

/** Results for people: rank, score, `source:line`, title and headings, and the best part of the passage. */
export const renderHits = (hits: ReadonlyArray<Hit>, query: string) =>
  Effect.gen(function* () {
    const { cwd } = yield* Place
    const { colors, columns, isTerminal } = (yield* Terminal).out
    const find = highlighter(query)
    const gutter = " ".repeat(String(hits.length).length + 2)
    const fit = (line: string) => (isTerminal ? wrapLine(line, Math.max(20, columns - gutter.length)) : [line])
    return hits
      .map((hit, index) => {
        const { collection, document, explain, passage, relevance, score, via } = hit
        const same = alike(hit, ({ document, passage }) => `${shown(cwd, document.source)}${placeOf(passage)}`)
        const spans = find(passage.text)
        const excerpt = bestExcerpt(passage.text, spans, excerptCharacters)
        const cut = [excerpt.start > 0 ? "… " : "", excerpt.end < passage.text.length ? " …" : ""] as const
        const lines = marked(passage.text, spans, excerpt, colors)
          .split("\n")
          .filter((line) => line.trim() !== "")
        // Title and headings are already shown above.
        const repeated = new Set([document.title, ...passage.heading].flatMap((part) => (part ? [bare(part)] : [])))
        while (lines.length > 1 && (repeated.has(bare(lines[0]!)) || underline.test(lines[0]!))) lines.shift()
        const line = Math.min(passage.endLine, passage.startLine + newlines(passage.text.slice(0, excerpt.start)))
        const where = `${oneLine(shown(cwd, document.source))}${placeOf(passage, line)}`
        const title = [document.title, headingPath(passage.heading.filter((heading) => heading !== document.title))]
          .filter((part) => part !== undefined && part !== "")
          .join(" > ")
        return [
          `${`${index + 1}.`.padEnd(gutter.length)}${fit(`${colors.cyan(where)}  ${colors.dim(`${score.toFixed(3)}${relevance === undefined ? "" : `  relevance ${relevance.toFixed(2)}`}${collection === defaultCollection ? "" : `  in ${collection}`}`)}`).join(`\n${gutter}`)}`,
          ...(explain === undefined ? [] : fit(explanationOf(explain)).map(colors.dim)),
          ...(via === undefined ? [] : fit(oneLine(`via ${way(via)}`)).map(colors.dim)),
          ...(title === "" ? [] : fit(oneLine(title)).map(colors.bold)),
          ...(passage.tableHeader === undefined ? [] : fit(oneLine(passage.tableHeader)).map(colors.dim)),
          ...`${cut[0]}${lines.join("\n")}${cut[1]}`.split("\n").flatMap(fit),
          ...(same === "" ? [] : fit(oneLine(same)).map(colors.dim))
        ].join(`\n${gutter}`)
      })
      .join("\n\n")
  })
