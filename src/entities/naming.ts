import type { Passage } from "../model/Passage.ts"

/** A file name that says nothing: the folder's name is used instead. */
const nameless = /^(?:index|readme|mod|main|__init__|default|_index)$/i

const ending = /(?<=.)\.[\p{L}\p{N}]{1,10}$/u

/**
 * The text that is searched as a document's title: its title, and its file's name without the ending, if the source is
 * a file and not a record in one. Names that say nothing are not added.
 */
export const searchedTitle = (title: string | null | undefined, source: string | null | undefined): string => {
  const name = fileName(source)
  if (name === "") return title ?? ""
  return title ? `${title}\n${name}` : name
}

const fileName = (source: string | null | undefined): string => {
  if (!source || source.includes("#")) return ""
  const parts = source.slice(-300).split(/[/\\]/)
  const stem = parts.at(-1)!.replace(ending, "")
  return nameless.test(stem) ? (parts.at(-2) ?? "") : stem
}

/** The text that is searched as a passage's heading: its headings, and the column names of its table. */
export const searchedHeading = ({ heading, tableHeader }: Pick<Passage, "heading" | "tableHeader">): string =>
  (tableHeader === undefined ? heading : [...heading, tableHeader]).join(" > ")
