import type { Passage } from "../model/Passage.ts"

/** A file whose name says nothing: the folder's name is meant. */
const nameless = /^(?:index|readme|mod|main|__init__|default|_index)$/i

const ending = /(?<=.)\.[\p{L}\p{N}]{1,10}$/u

/**
 * What names a document beside its text, to be searched as its title: its title, and the name of its file without the
 * ending, where its source is a file's and not a record in one. Nothing is done to names that say nothing.
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

/** What stands above a passage, to be searched as its heading: its headings, and the names of a table's columns. */
export const searchedHeading = ({ heading, tableHeader }: Pick<Passage, "heading" | "tableHeader">): string =>
  (tableHeader === undefined ? heading : [...heading, tableHeader]).join(" > ")
