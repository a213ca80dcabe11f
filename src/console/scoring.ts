import { ndcgAt } from "../measuring/evaluation.ts"
import { graded, isAbout, type PassagePlace } from "../measuring/grading.ts"
import type { Compared, Grade, Hit } from "./wire.ts"

export const keyOf = ({ metadata }: Hit): string =>
  `${metadata.collection}\n${metadata.doc_id}\n${metadata.chunk_index}`

/** The passages of both lists, each once, the best ranked first; of equally good ones that of a. */
export const pooled = ({ a, b }: Compared): ReadonlyArray<Hit> => {
  const all = new Map<string, Hit>()
  for (let at = 0; at < Math.max(a.results.length, b.results.length); at++) {
    for (const hit of [a.results[at], b.results[at]]) {
      if (hit !== undefined && !all.has(keyOf(hit))) all.set(keyOf(hit), hit)
    }
  }
  return [...all.values()]
}

const placeOf = ({ metadata }: Hit): PassagePlace => ({
  source: metadata.source,
  startLine: metadata.start_line,
  endLine: metadata.end_line
})

/** The grade of a passage, if it was judged: the latest one. */
export const gradeOf = (hit: Hit, grades: ReadonlyArray<Grade>): number | undefined =>
  grades.findLast((grade) => isAbout(grade, placeOf(hit)))?.grade

/** The latest grade of each place, as the server keeps them. */
export const latest = (grades: ReadonlyArray<Grade>): ReadonlyArray<Grade> => [
  ...new Map(grades.map((each) => [`${each.source}\n${each.start_line}\n${each.end_line}`, each])).values()
]

/** nDCG of the best ten; undefined if nothing judged answers. */
export const ndcg = (hits: ReadonlyArray<Hit>, judged: ReadonlyArray<Grade>): number | undefined => {
  const { grades, ranking } = graded(hits.map(placeOf), judged)
  return judged.some(({ grade }) => grade > 0) ? ndcgAt(10, ranking, grades) : undefined
}
