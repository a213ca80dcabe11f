import * as fs from "node:fs"

/** Identifies the file at a path: a different file there has a different place. */
export interface Place {
  readonly dev: bigint
  readonly ino: bigint
}

/** The stat of a path; undefined: nothing is there. */
export const statOf = (filename: string): fs.BigIntStats | undefined =>
  fs.statSync(filename, { bigint: true, throwIfNoEntry: false })

export const isSamePlace = (a: Place, b: Place): boolean => a.ino === b.ino && a.dev === b.dev

/** The kind of a path that is not a regular file: opening it could block forever. */
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

/** Files that SQLite puts beside a database; they belong to it only. */
export const besides = (filename: string): ReadonlyArray<string> =>
  ["-wal", "-shm", "-journal"].map((end) => filename + end)

/** Bytes that the disk of a file has free for us; if unknown, effectively unlimited. */
export const roomFor = (filename: string): number => {
  try {
    const { bavail, bsize } = fs.statfsSync(filename)
    return bavail * bsize
  } catch {
    return Number.MAX_SAFE_INTEGER
  }
}

/**
 * A number from 0 up to 2^20 that distinguishes files at the same path, equal in every thread; two files have the same
 * number once in a million times.
 */
export const eraOf = (filename: string): number => {
  const stat = statOf(filename)
  if (stat === undefined) return 0
  const text = `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return (hash ^ (hash >>> 12)) & 0xfffff
}
