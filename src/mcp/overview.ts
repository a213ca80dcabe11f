import { folders } from "../text/folders.ts"
import { bounded } from "../text/prompt.ts"

/** What an index holds, at a glance. */
export interface Glance {
  readonly collections: ReadonlyArray<{ readonly name: string; readonly documents: number }>
  /** Sources of some of the documents, from all over the index. */
  readonly sources: ReadonlyArray<string>
}

/** What a client's model is told of the index before it asks anything. */
export interface Overview {
  /** Names the index within a sentence: "the user's 12 indexed documents in …". */
  readonly what: string
  /** More of it, in sentences. */
  readonly details: ReadonlyArray<string>
  /** Where the index would be, were there one when the server started. */
  readonly missing?: string | undefined
  /** What is followed beside answering. */
  readonly watched: ReadonlyArray<string>
}

const mostFolders = 5
const mostCollections = 10

/** Letters of a folder that are shown, so that a name made up to instruct a model stays a name. */
const folderCharacters = 80

const quoted = (names: ReadonlyArray<string>): string =>
  names.map((name) => JSON.stringify(bounded(name, folderCharacters))).join(", ")

/** The index by the name and description that its user gave, its counts and its folders. */
export const overviewOf = (
  glance: Glance | undefined,
  {
    description,
    missing,
    name,
    watched = []
  }: {
    readonly name?: string | undefined
    readonly description?: string | undefined
    readonly missing?: string | undefined
    readonly watched?: ReadonlyArray<string>
  }
): Overview => {
  const full = (glance?.collections ?? []).filter(({ documents }) => documents > 0)
  const total = full.reduce((sum, { documents }) => sum + documents, 0)
  const counted = total === 0 ? "indexed documents" : `${total} indexed ${total === 1 ? "document" : "documents"}`
  const where = folders(glance?.sources ?? [], mostFolders)
  const shown = full.slice(0, mostCollections)
  return {
    missing,
    watched,
    what: `the user's ${counted}${name === undefined ? "" : ` (${bounded(name, 100)})`}`,
    details: [
      ...(missing === undefined || watched.length > 0 ? [] : [`There is no index at ${missing} yet.`]),
      ...(description === undefined ? [] : [bounded(description, 1000).replace(/[^.!?]$/, "$&.")]),
      ...(full.length < 2
        ? []
        : [
            `Collections, all searched unless one is named: ${shown.map((each) => `${each.name} (${each.documents})`).join(", ")}${full.length > shown.length ? ", …" : ""}.`
          ]),
      ...(watched.length === 0 ? [] : [`Files are followed as they change: ${quoted(watched.slice(0, mostFolders))}.`]),
      ...(where.length === 0 ? [] : [`Folders: ${quoted(where)}.`])
    ]
  }
}
