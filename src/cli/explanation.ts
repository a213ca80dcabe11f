import type { Explanation, SearchExplanation } from "../model/Explain.ts"
import { harmless } from "./harmless.ts"
import { numberText } from "./output.ts"
import type { Face } from "./terminal.ts"
import { wrapped } from "./wrap.ts"

type Keyword = NonNullable<Explanation["keyword"]>

const fieldsOf = ({ heading, text, title }: Keyword["terms"][number]): string =>
  [title > 0 ? "title" : "", heading > 0 ? "heading" : "", text > 0 ? "text" : ""]
    .filter((field) => field !== "")
    .join("+")

const termsOf = ({ name_bonus: bonus = 0, others, terms }: Keyword): string => {
  const said = [
    ...terms.map(
      (term) => `${term.near === true ? "~" : ""}${term.term} ${term.score.toFixed(2)} in ${fieldsOf(term)}`
    ),
    ...(others === undefined ? [] : [`others ${others.toFixed(2)}`]),
    ...(bonus === 0 ? [] : [`names +${Math.round(100 * bonus)} %`])
  ]
  return said.length === 0 ? "" : ` (${said.join(", ")})`
}

const legOf = (
  name: string,
  leg: { rank?: number | undefined; score: number; beside?: number | undefined; contribution: number } | undefined
): string =>
  leg === undefined
    ? `${name} –`
    : `${name} ${leg.rank === undefined ? "unranked" : `#${leg.rank}`} ${leg.score.toFixed(3)}${leg.beside === undefined ? "" : ` beside ${leg.beside.toFixed(3)}`} adds ${leg.contribution.toFixed(3)}`

/** How a result's score was computed, on one line. */
export const explanationOf = ({ keyword, recency, rerank, vector }: Explanation): string => {
  const before = rerank === undefined ? "" : `reranked from #${rerank.rank} ${rerank.score.toFixed(3)}: `
  const terms = keyword === undefined ? "" : termsOf(keyword)
  const age =
    recency === undefined
      ? ""
      : `, age of ${Math.round(recency.age_days)} days takes ${(0 - recency.contribution).toFixed(3)}`
  return harmless(`${before}${legOf("vector", vector)}, ${legOf("keyword", keyword)}${terms}${age}`)
}

/** How the search went, for people. */
export const renderExplanation = (explain: SearchExplanation, out: Face): string => {
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
