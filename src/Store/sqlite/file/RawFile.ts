import * as fs from "node:fs"
import { isMainThread, workerData } from "node:worker_threads"
import { isSamePlace, type Place, statOf } from "./place.ts"

/** A descriptor of the database beside SQLite's own, to read the file itself, whatever the WAL contains. */
export interface RawFile extends Place {
  readonly fd: number
}

/**
 * Closing any descriptor of a file gives up every lock that the process has on it, SQLite's too. So each file has one
 * raw descriptor, which is closed only after the last connection; threads use their parent's.
 */
const open = new Map<string, { readonly raw: RawFile; uses: number }>()

const key = ({ dev, ino }: Place): string => `${dev}:${ino}`

const ofParent = (): RawFile | undefined => (workerData as { readonly raw?: RawFile } | null)?.raw

/** The file's descriptor, opened if necessary; call `release` after SQLite's connection is closed. */
export const acquire = (filename: string, place: Place): RawFile => {
  const parents = isMainThread ? undefined : ofParent()
  if (parents !== undefined && isSamePlace(parents, place)) return parents
  const known = open.get(key(place))
  if (known !== undefined) {
    known.uses++
    return known.raw
  }
  const fd = fs.openSync(filename, "r")
  const { dev, ino } = fs.fstatSync(fd, { bigint: true })
  const raw = { fd, dev, ino }
  open.set(key(raw), { raw, uses: 1 })
  return raw
}

export const release = (raw: RawFile): void => {
  const known = open.get(key(raw))
  // A thread cannot know who else uses the file, so the process's end closes it.
  if (known === undefined || !isMainThread) return
  known.uses--
  if (known.uses > 0) return
  open.delete(key(raw))
  fs.closeSync(raw.fd)
}

/** The descriptor for a thread of this process. */
export const held = (filename: string): RawFile | undefined => {
  const place = statOf(filename)
  return place && open.get(key(place))?.raw
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
