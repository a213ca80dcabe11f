import * as Either from "effect/Either"
import { didYouMean } from "../text/nearest.ts"

/** Apart from the tools themselves, so that the server's start needs none of them. A test holds the two together. */
export const toolNames = [
  "search",
  "get_prompt",
  "get_document",
  "list_sources",
  "collection_info",
  "graph_query",
  "index_documents"
] as const

/** Tools that a read-only server does not have. */
export const writingTools: ReadonlyArray<string> = ["index_documents"]

const list = (names: ReadonlyArray<string>): string => names.join(", ")

/**
 * The tools that `--filter a,b` leaves, in the catalogue's order; else what is wrong with it. What asks
 * the graph is there where the filter names it or the graph joins documents, since every listing costs a client's model.
 */
export const selectTools = (
  filter: string | undefined,
  readOnly: boolean,
  joined = false
): Either.Either<ReadonlyArray<string>, string> => {
  const served = toolNames.filter((name) => !readOnly || !writingTools.includes(name))
  if (filter === undefined) return Either.right(served.filter((name) => joined || name !== "graph_query"))
  const wanted = filter.split(",").map((name) => name.trim())
  if (wanted.every((name) => name === "")) return Either.left(`--filter names no tool; there are ${list(toolNames)}`)
  for (const name of wanted) {
    if (name === "")
      return Either.left(`--filter has an empty name in ${JSON.stringify(filter)}; separate names by one comma`)
    if (!toolNames.some((known) => known === name)) {
      return Either.left(
        `--filter: there is no tool ${JSON.stringify(name)}${didYouMean(name, toolNames)}; there are ${list(toolNames)}`
      )
    }
    if (readOnly && writingTools.includes(name)) {
      return Either.left(`--filter: ${name} writes, and the server is read-only; leave out one of the two`)
    }
  }
  return Either.right(served.filter((name) => wanted.includes(name)))
}
