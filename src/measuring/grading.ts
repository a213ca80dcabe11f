import type { Judgement } from "../model/Judgement.ts"

/** The location of a passage. */
export interface PassagePlace {
  readonly source: string
  readonly startLine: number
  readonly endLine: number
}

/** A path without the way up to it: `../docs/a.md` was written in a folder beside docs. */
export const withoutWay = (source: string): string => source.replace(/^(?:\.{1,2}[/\\])+/, "")

/** Whether a source is the judged one: equal, or a path that ends with it. */
export const isSource = (source: string, judged: string): boolean => {
  const end = withoutWay(judged)
  return (
    source === judged ||
    source === end ||
    (source.endsWith(end) && /[/\\]/.test(source.charAt(source.length - end.length - 1)))
  )
}

/** Whether a judgement is about a passage: about its document, or about lines where half of one lies in the other. */
export const isAbout = (judgement: Judgement, { endLine, source, startLine }: PassagePlace): boolean => {
  if (!isSource(source, judgement.source)) return false
  const { end_line: end, start_line: start } = judgement
  if (start === undefined || end === undefined) return true
  const common = Math.min(end, endLine) - Math.max(start, startLine) + 1
  return common > 0 && 2 * common >= Math.min(end - start, endLine - startLine) + 1
}

/** A ranking of passages turned into one of judged things, each once: the grades to compare it with, and the names. */
interface Graded {
  readonly ranking: ReadonlyArray<string>
  readonly grades: ReadonlyMap<string, number>
}

/** A passage counts as the best judged thing that it is about and that no better passage counts as already. */
export const graded = (passages: ReadonlyArray<PassagePlace>, judgements: ReadonlyArray<Judgement>): Graded => {
  const ordered = judgements
    .map((judgement, at) => ({ judgement, name: `#${at}` }))
    .sort((a, b) => b.judgement.grade - a.judgement.grade)
  const byLines = judgements.some(({ start_line: line }) => line !== undefined)
  const ranking = new Set<string>()
  for (const passage of passages) {
    const about = ordered.filter(({ judgement }) => isAbout(judgement, passage))
    const fresh = about.find(({ name }) => !ranking.has(name))
    if (fresh !== undefined) ranking.add(fresh.name)
    else if (about.length === 0) ranking.add(byLines ? JSON.stringify(passage) : passage.source)
  }
  return { ranking: [...ranking], grades: new Map(ordered.map(({ judgement, name }) => [name, judgement.grade])) }
}
