import * as Effect from "effect/Effect"
import { defaultCollection } from "../model/Collection.ts"
import type { Hit, LegPlace } from "../model/SearchResult.ts"
import { headingPath } from "../model/SearchResult.ts"
import { bestExcerpt, highlighter, type TextSpan } from "../text/highlight.ts"
import { Place, shown } from "./place.ts"
import { type Colors, Terminal } from "./terminal.ts"

/** Of a passage, this much is shown. */
const excerptCharacters = 400

/** Control characters of a document would write on the terminal themselves. */
// oxlint-disable-next-line no-control-regex
export const harmless = (text: string): string => text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, " ")
const oneLine = (text: string): string => harmless(text).replaceAll("\n", " ")

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

const leg = (name: string, place: LegPlace | undefined): string =>
  place === undefined ? `${name} –` : `${name} #${place.rank} ${place.score.toFixed(3)}`

/** Results for people: rank, score, `source:line`, title and headings, and the best part of the passage. */
export const renderHits = (hits: ReadonlyArray<Hit>, query: string, explain: boolean) =>
  Effect.gen(function* () {
    const { cwd } = yield* Place
    const { colors } = (yield* Terminal).out
    const find = highlighter(query)
    const gutter = " ".repeat(String(hits.length).length + 2)
    return hits
      .map(({ collection, document, keyword, passage, score, vector }, index) => {
        const spans = find(passage.text)
        const excerpt = bestExcerpt(passage.text, spans, excerptCharacters)
        const cut = [excerpt.start > 0 ? "… " : "", excerpt.end < passage.text.length ? " …" : ""] as const
        const lines = marked(passage.text, spans, excerpt, colors)
          .split("\n")
          .filter((line) => line.trim() !== "")
        const line = Math.min(passage.endLine, passage.startLine + newlines(passage.text.slice(0, excerpt.start)))
        const where = `${oneLine(shown(cwd, document.source))}:${line}`
        const title = [document.title, headingPath(passage.heading.filter((heading) => heading !== document.title))]
          .filter((part) => part !== undefined && part !== "")
          .join(" > ")
        return [
          `${`${index + 1}.`.padEnd(gutter.length)}${colors.cyan(where)}  ${colors.dim(`${score.toFixed(3)}${collection === defaultCollection ? "" : `  in ${collection}`}`)}`,
          ...(explain ? [colors.dim(`${leg("vector", vector)}, ${leg("keyword", keyword)}`)] : []),
          ...(title === "" ? [] : [colors.bold(oneLine(title))]),
          `${cut[0]}${lines.join(`\n${gutter}`)}${cut[1]}`
        ].join(`\n${gutter}`)
      })
      .join("\n\n")
  })
