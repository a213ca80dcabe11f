/** Whether a path is one of the folders, or is in one. */
export const isBelow = (path: string, folders: Iterable<string>): boolean => {
  for (const folder of folders) {
    if (path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`)) return true
  }
  return false
}

/** Whether a path is in another of these. */
export const isWithinAnother = (path: string, paths: ReadonlyArray<string>): boolean =>
  paths.some((other) => other !== path && isBelow(path, [other]))
