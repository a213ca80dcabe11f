import { bounded } from "../citations/line.ts"

/** The folder that contains all paths, with its slash; empty if there is none. */
const common = (paths: ReadonlyArray<string>): string => {
  let prefix = paths[0] ?? ""
  for (const path of paths) while (!path.startsWith(prefix)) prefix = prefix.slice(0, -1)
  return prefix.slice(0, prefix.lastIndexOf("/") + 1)
}

/**
 * The folders of sources, those with the most sources first: one level below their common folder, with a slash. Sources
 * that are not paths, or have no folder of their own, have none.
 */
export const folders = (sources: ReadonlyArray<string>, most: number): ReadonlyArray<string> => {
  const paths = sources.filter((source) => source.includes("/"))
  const shared = common(paths)
  const counts = new Map<string, number>()
  for (const path of paths) {
    const end = path.indexOf("/", shared.length)
    const folder = end === -1 ? shared : path.slice(0, end + 1)
    if (folder !== "") counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  return [...counts]
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .slice(0, most)
    .map(([folder]) => folder)
}

/** What an index holds, at a glance. */
export interface Glance {
  readonly collections: ReadonlyArray<{ readonly name: string; readonly documents: number }>
  /** A sample of sources, spread over the index. */
  readonly sources: ReadonlyArray<string>
}

/** What a client's model learns about the index before its first question. */
export interface Overview {
  /** Names the index within a sentence: "the user's 12 indexed documents in …". */
  readonly what: string
  /** Further sentences. */
  readonly details: ReadonlyArray<string>
  /** The path of the index, if it did not exist when the server started. */
  readonly missing?: string | undefined
  /** The paths that the server watches. */
  readonly watched: ReadonlyArray<string>
}

const mostFolders = 5
const mostCollections = 10

/** Most characters shown of a folder, so that a name cannot carry instructions for a model. */
const folderCharacters = 80

const quoted = (names: ReadonlyArray<string>): string =>
  names.map((name) => JSON.stringify(bounded(name, folderCharacters))).join(", ")

/** The overview: the user's name and description of the index, its counts and folders. */
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
      ...(watched.length === 0 ? [] : [`Changes of files are followed: ${quoted(watched.slice(0, mostFolders))}.`]),
      ...(where.length === 0 ? [] : [`Folders: ${quoted(where)}.`])
    ]
  }
}
