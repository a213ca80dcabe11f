import * as fs from "node:fs"
import { isMainThread, workerData } from "node:worker_threads"
import { crc32 } from "../../crc.ts"

/** Identifies the file at a path: a different file there has a different place. */
export interface Place {
  readonly dev: bigint
  readonly ino: bigint
}

/** The stat of a path; undefined: nothing is there. */
export const statOf = (filename: string): fs.BigIntStats | undefined =>
  fs.statSync(filename, { bigint: true, throwIfNoEntry: false })

/** The same, undefined too if the folder may not be entered, or the disk fails. */
const reached = (filename: string): fs.BigIntStats | undefined => {
  try {
    return statOf(filename)
  } catch {
    return undefined
  }
}

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

/** Whether the file that was opened has been removed or replaced, or its folder can no longer be entered. */
export const hasMoved = (filename: string, opened: Place): boolean => {
  const now = reached(filename)
  return now === undefined || !isSamePlace(now, opened)
}

/** Files that SQLite puts beside a database; they belong to it only. */
export const besides = (filename: string): ReadonlyArray<string> =>
  ["-wal", "-shm", "-journal"].map((end) => filename + end)

/**
 * A number from 0 up to 2^20 that distinguishes files at the same path, equal in every thread; two files have the same
 * number once in a million times.
 */
export const eraOf = (filename: string): number => {
  const stat = reached(filename)
  if (stat === undefined) return 0
  return crc32(`${stat.dev}:${stat.ino}:${stat.birthtimeNs}`) & 0xfffff
}

/** A descriptor of the database beside SQLite's own, to read the file itself, whatever the WAL contains. */
export interface RawFile extends Place {
  readonly fd: number
}

/**
 * Closing any descriptor of a file gives up every lock that the process has on it, SQLite's too. So each file has one
 * raw descriptor, which is closed only after the last connection; threads use their parent's.
 */
const openFiles = new Map<string, { readonly raw: RawFile; uses: number }>()

const keyOf = ({ dev, ino }: Place): string => `${dev}:${ino}`

/** A thread's parent may have closed its descriptor since, and a file system gives a new file the number of a deleted one. */
const isOpenAt = (fd: number, place: Place): boolean => {
  try {
    return isSamePlace(fs.fstatSync(fd, { bigint: true }), place)
  } catch {
    return false
  }
}

const ofParent = (): RawFile | undefined => (workerData as { readonly raw?: RawFile } | null)?.raw

/** The file's descriptor, opened if necessary; call `release` after SQLite's connection is closed. */
export const acquire = (filename: string, place: Place): RawFile => {
  const parents = isMainThread ? undefined : ofParent()
  if (parents !== undefined && isSamePlace(parents, place) && isOpenAt(parents.fd, place)) return parents
  const known = openFiles.get(keyOf(place))
  if (known !== undefined) {
    known.uses++
    return known.raw
  }
  const fd = fs.openSync(filename, "r")
  const { dev, ino } = fs.fstatSync(fd, { bigint: true })
  const raw = { fd, dev, ino }
  openFiles.set(keyOf(raw), { raw, uses: 1 })
  return raw
}

export const release = (raw: RawFile): void => {
  const known = openFiles.get(keyOf(raw))
  // A thread cannot know who else uses the file, so the process's end closes it.
  if (known === undefined || !isMainThread) return
  known.uses--
  if (known.uses > 0) return
  openFiles.delete(keyOf(raw))
  fs.closeSync(raw.fd)
}

/** The descriptor for a thread of this process. */
export const held = (filename: string): RawFile | undefined => {
  const place = reached(filename)
  return place && openFiles.get(keyOf(place))?.raw
}

/** `length` bytes at an offset, or fewer at the end of the file. */
export const readAt = (fd: number, offset: number, length: number): Buffer => {
  const bytes = Buffer.alloc(length)
  return bytes.subarray(0, fs.readSync(fd, bytes, 0, length, offset))
}

const headerBytes = 100

/** The parts of SQLite's header that we use. */
export interface Header {
  readonly pageBytes: number
  readonly pages: number
  /** Whether readers look for a WAL. */
  readonly isWal: boolean
  readonly applicationId: number
  readonly userVersion: number
}

/** The header in the file; undefined: it has none. */
export const headerOf = (fd: number): Header | undefined => {
  const bytes = readAt(fd, 0, headerBytes)
  if (bytes.length < headerBytes || bytes.toString("latin1", 0, 15) !== "SQLite format 3") return undefined
  const size = bytes.readUInt16BE(16)
  return {
    pageBytes: size === 1 ? 65_536 : size,
    pages: bytes.readUInt32BE(28),
    isWal: bytes[18] === 2,
    applicationId: bytes.readUInt32BE(68),
    userVersion: bytes.readUInt32BE(60)
  }
}
