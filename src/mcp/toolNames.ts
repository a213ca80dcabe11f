import * as Either from "effect/Either"
import { didYouMean } from "../terms/nearest.ts"

/** Separate from the tools, so that the server's start loads none of them. A test keeps the two in step. */
export const toolNames = [
  "search",
  "similar",
  "get_prompt",
  "get_document",
  "list_sources",
  "collection_info",
  "graph_query",
  "index_documents",
  "index_paths",
  "sync",
  "delete_document"
] as const

/** Tools that a read-only server does not have. */
export const writingTools: ReadonlyArray<string> = ["index_documents", "index_paths", "sync", "delete_document"]

/** Tools for files, which only a server has whose user names folders. */
const filingTools: ReadonlySet<string> = new Set(writingTools.slice(1))

const list = (names: ReadonlyArray<string>): string => names.join(", ")

/**
 * The tools that `--filter a,b` selects, in the catalogue's order, or its mistake. The graph's tool is included only if
 * the filter names it or the graph joins documents, since every tool listed costs tokens.
 */
export const selectTools = (
  filter: string | undefined,
  readOnly: boolean,
  { joined = false, writes = false }: { readonly joined?: boolean | undefined; readonly writes?: boolean } = {}
): Either.Either<ReadonlyArray<string>, string> => {
  const served = toolNames.filter(
    (name) => (!readOnly || !writingTools.includes(name)) && (writes || !filingTools.has(name))
  )
  if (filter === undefined) return Either.right(served.filter((name) => joined || name !== "graph_query"))
  const wanted = filter.split(",").map((name) => name.trim())
  if (wanted.every((name) => name === "")) return Either.left(`--filter names no tool; available: ${list(toolNames)}`)
  for (const name of wanted) {
    if (name === "")
      return Either.left(`--filter has an empty name in ${JSON.stringify(filter)}; separate names by one comma`)
    if (!toolNames.some((known) => known === name)) {
      return Either.left(
        `--filter: there is no tool ${JSON.stringify(name)}${didYouMean(name, toolNames)}; available: ${list(toolNames)}`
      )
    }
    if (readOnly && writingTools.includes(name)) {
      return Either.left(`--filter: ${name} writes, and the server is read-only; leave out one of the two`)
    }
    if (!writes && filingTools.has(name)) {
      return Either.left(`--filter: ${name} needs the folders that it may write to the index: --allow-write DIR`)
    }
  }
  return Either.right(served.filter((name) => wanted.includes(name)))
}
