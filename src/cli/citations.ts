import type { Verdict } from "../Answer.ts"
import type { Hit } from "../model/SearchResult.ts"
import { citation } from "../citations/prompt.ts"
import { way } from "./hits.ts"
import { harmless } from "./harmless.ts"
import { shown } from "./place.ts"
import type { Colors } from "./terminal.ts"

/** Numbers as they are cited: "[1] [3]". */
const numbers = (verdicts: ReadonlyArray<Verdict>): string =>
  [...new Set(verdicts.map(({ n }) => n))]
    .sort((a, b) => a - b)
    .map((n) => `[${n}]`)
    .join(" ")

const short = (text: string, most = 100): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text)

const isMentioned = ({ verdict }: Verdict): boolean => verdict === "mentioned"

/** The sources by number with `source:line`; a mark distinguishes those that the answer cites. */
export const renderSources = (
  hits: ReadonlyArray<Hit>,
  verdicts: ReadonlyArray<Verdict>,
  cwd: string,
  colors: Colors
): string =>
  hits
    .map((hit, index) => {
      const own = verdicts.filter(({ n }) => n === index + 1)
      const where = citation({ ...hit, document: { ...hit.document, source: shown(cwd, hit.document.source) } })
      const number = `[${index + 1}]`.padEnd(String(hits.length).length + 2)
      const verdict =
        own.length === 0
          ? colors.dim("not cited")
          : own.every(isMentioned)
            ? "mentioned"
            : own.some(({ verdict }) => verdict === "contradicted")
              ? colors.red("✗ contradicted")
              : own.some(isMentioned)
                ? colors.yellow("? mentioned in part")
                : own.every(({ verdict }) => verdict === "unclear")
                  ? colors.yellow("? unclear")
                  : colors.red("✗ not found in the source")
      const led = hit.via === undefined ? "" : colors.dim(`  ${short(`via ${harmless(way(hit.via))}`)}`)
      return `${number} ${colors.cyan(harmless(where))}  ${verdict}${led}`
    })
    .join("\n")

const doubts: Readonly<Record<Verdict["verdict"], string>> = {
  mentioned: "mentions this",
  not_found: "does not say this",
  contradicted: "says otherwise",
  unclear: "may say this in other words; look there"
}

/** The citations that do not hold, a line each; empty if all are mentioned. */
export const renderDoubts = (verdicts: ReadonlyArray<Verdict>, colors: Colors): ReadonlyArray<string> => {
  const missing = verdicts.filter(({ exists }) => !exists)
  const weak = verdicts.filter((verdict) => verdict.exists && !isMentioned(verdict))
  return [
    ...(missing.length === 0 ? [] : [colors.red(`✗ There is no passage ${numbers(missing)}`)]),
    ...weak.map(({ n, sentence, verdict }) => {
      const said = `[${n}] ${doubts[verdict]}`
      return `${verdict === "unclear" ? colors.yellow(`? ${said}`) : colors.red(`✗ ${said}`)}: ${harmless(short(sentence))}`
    })
  ]
}
