import type { PackedMention } from "../../../entities/pack.ts"

/** The parts of a passage that may name an entity. */
interface Naming {
  readonly text: string
  /** The heading path, as JSON. */
  readonly heading: string
  readonly title: string | null
  readonly source: string
}

/**
 * The words by which a passage names an entity: in its text, else its last heading, else its document's title or
 * source.
 */
export const nameOf = ({ end, relation, start }: PackedMention, { heading, source, text, title }: Naming): string => {
  if (end > start) return text.slice(start, end).replace(/\s+/gu, " ")
  const headings = JSON.parse(heading) as ReadonlyArray<string>
  return relation === "heads" ? (headings.at(-1) ?? "") : (title ?? headings[0] ?? source)
}
