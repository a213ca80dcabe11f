import picomatch from "picomatch"

/** Matches a path below the root; `name` is its last part. */
export type Glob = (path: string, name: string, isFolder: boolean) => boolean

/**
 * A glob below a root. Without a slash it matches names anywhere, else the path from the root; a final slash restricts it
 * to folders. `*` stays within a name, `**` crosses folders.
 */
const glob = (pattern: string): Glob => {
  const foldersOnly = pattern.length > 1 && pattern.endsWith("/")
  const body = foldersOnly ? pattern.slice(0, -1) : pattern
  const anchored = body.replace(/^(?:\.?\/)+/, "")
  const matches = picomatch(anchored === "" ? "**" : anchored, { dot: true })
  const byPath = body.includes("/")
  return (path, name, isFolder) => (!foldersOnly || isFolder) && matches(byPath ? path : name)
}

/** Whether any of the patterns matches. */
export const patterns = (globs: ReadonlyArray<string>): Glob => {
  const each = globs.filter((pattern) => pattern.trim() !== "").map(glob)
  return (path, name, isFolder) => each.some((matches) => matches(path, name, isFolder))
}
