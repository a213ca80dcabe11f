import { limits } from "../model/Limits.ts"
import type { Similar } from "../model/SearchResult.ts"
import { WhyReport } from "../model/Why.ts"
import { toWhyReport, why as explained } from "../Why.ts"
import { way } from "../citations/remarks.ts"
import { flags, requestOf } from "./asking.ts"
import { define } from "./command.ts"
import { lookForCited, notIndexed, theOne } from "./document.ts"
import { Place, reading, displayPath } from "./engine.ts"
import { exitCode, stop } from "./exit.ts"
import { count, printJson } from "./output.ts"
import { whereIn } from "./query.ts"
import { printableLine, Terminal } from "./terminal.ts"
import { wrapped } from "./wrap.ts"

export const why = define(
  {
    name: "why",
    summary: "Explain a document's rank for a question, or why it is not indexed",
    positional: { name: '"QUESTION" SOURCE', summary: "A question in quotes, and a document", min: 2, max: 2 },
    flags: { filter: flags.filter, collection: flags.collection, fusion: flags.fusion },
    examples: ['clew why "when is high tide" docs/tides.md'],
    details: [
      "Takes a document as query prints it, also with the line, which does not count. Shows whether the document is indexed and, if not, why; whether the filter excludes it; its rank and score by meaning, by words and fused, with the parts that add up to each; how relevant it is, and whether the knowledge graph led to it; and the results above it.",
      "Exits with 3 if it is not indexed."
    ]
  },
  function* ({ collection, filter, fusion }, [question = "", given = ""]) {
    const { cwd, globals } = yield* Place
    const { note, out, print } = yield* Terminal
    const request = yield* requestOf({ fusion, filter, collection }, [question])
    yield* reading(function* () {
      const { found: matching, source: asked } = yield* lookForCited(given, collection)
      if (matching.length === 0) {
        const reason = yield* notIndexed(asked, collection)
        if (globals.json) yield* printJson(WhyReport, { source: asked, indexed: false, reason })
        else yield* note(`clew: ${asked} is not indexed: ${reason}`)
        return yield* stop(exitCode.nothingFound)
      }
      const found = yield* theOne(matching, asked, collection)
      const outcome = yield* explained(request, found)
      const report = toWhyReport(found, outcome)
      if (globals.json) return yield* printJson(WhyReport, report)

      const { document, filteredOut, hint, hybrid, keyword, vector } = outcome
      const byWords = keyword.own?.explain?.keyword
      const source = document.source ?? document.docId
      const { bold, cyan, dim } = out.colors
      const placeOf = (hit: Similar) => `${displayPath(cwd, hit.document.source)}${whereIn(hit.passage)}`
      const legText = ({ into, leg: { rank, score } }: typeof hybrid) =>
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
          ...(via === undefined ? [] : [`  by the knowledge graph, via ${printableLine(way(via))}`]),
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
            `${cyan(displayPath(cwd, source))} in collection ${found.collection}, ${count(document.passages.length, "passage")}`,
            ...(filteredOut ? [`The filter excludes it${hint === undefined ? "" : `: ${hint}`}.`] : []),
            row(
              "fused",
              hybrid.leg.rank === undefined && (vector.own ?? keyword.own) !== undefined
                ? `not in the top ${limits.topK.max}`
                : legText(hybrid)
            ),
            ...fused(),
            row(
              "meaning",
              vector.mode === "keyword"
                ? `not searched: ${vector.degraded}`
                : [legText(vector), vector.degraded ?? []].flat().join("; ")
            ),
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
