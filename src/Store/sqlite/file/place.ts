import * as fs from "node:fs"

/** Which file a path names: another one there is another place. */
export interface Place {
  readonly dev: bigint
  readonly ino: bigint
}

/** What stands at a path, or nothing. */
export const statOf = (filename: string): fs.BigIntStats | undefined =>
  fs.statSync(filename, { bigint: true, throwIfNoEntry: false })

export const isSamePlace = (a: Place, b: Place): boolean => a.ino === b.ino && a.dev === b.dev

/** What is no regular file by its name, since opening it would wait for ever or do who knows what. */
export const kindOf = (stat: fs.BigIntStats): string | undefined =>
  stat.isFile()
    ? undefined
    : stat.isDirectory()
      ? "a directory"
      : stat.isFIFO()
        ? "a named pipe"
        : stat.isSocket()
          ? "a socket"
          : "a device"

/** Whether the file that was opened has been removed or replaced. */
export const hasMoved = (filename: string, opened: Place): boolean => {
  const now = statOf(filename)
  return now === undefined || !isSamePlace(now, opened)
}

/** Files that SQLite puts beside a database; they belong to it alone. */
export const besides = (filename: string): ReadonlyArray<string> =>
  ["-wal", "-shm", "-journal"].map((end) => filename + end)

/** Bytes that the disk of a file has left for us; unknown: as many as can be. */
export const roomFor = (filename: string): number => {
  try {
    const { bavail, bsize } = fs.statfsSync(filename)
    return bavail * bsize
  } catch {
    return Number.MAX_SAFE_INTEGER
  }
}

/**
 * A number from 0 up to 2^20 that tells one file at a path from the next, the same in every thread; two have the same
 * one in a million times.
 */
export const eraOf = (filename: string): number => {
  const stat = statOf(filename)
  if (stat === undefined) return 0
  const text = `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return (hash ^ (hash >>> 12)) & 0xfffff
}
