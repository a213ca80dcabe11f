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
