import * as fs from "node:fs"
import { headerOf, readAt } from "./RawFile.ts"
import { records, rootPage } from "./schemaPage.ts"

/**
 * Each WAL's first transaction gives the database a new random mark and keeps the previous one. The file itself gets
 * the mark when the WAL is copied back. So the file has the mark from which its WAL began, or one that the WAL gave it.
 * Otherwise the two do not belong together, and SQLite would write pages of one database into another.
 */
export interface Mark {
  readonly before: string
  readonly now: string
}

export const markTable = "file_mark"

/** SQL that sets marks. */
export const markSql = {
  next: `UPDATE file_mark SET before = now, now = randomblob(16) WHERE id = 1`,
  /** Follows no WAL. */
  fresh: `UPDATE file_mark SET before = randomblob(16), now = randomblob(16) WHERE id = 1`
}

const markIn = (page: Buffer): Mark | undefined => {
  const [row, ...others] = records(page, 0)
  if (row === undefined || others.length > 0) return undefined
  const [, before, now] = row
  if (before?.length !== 16 || now?.length !== 16) return undefined
  return { before: before.toString("hex"), now: now.toString("hex") }
}

const walHeaderBytes = 32
const frameHeaderBytes = 24

/** Opens a WAL by its path: locks are on other files, so it may be opened and closed freely. */
const withWal = <A>(filename: string, use: (fd: number) => A): A | undefined => {
  let fd
  try {
    fd = fs.openSync(`${filename}-wal`, "r")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
  try {
    return use(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/**
 * Identifies a WAL among those that overwrite each other in the same file; undefined: there is none, or it is empty.
 */
export const walSalt = (filename: string): string | undefined =>
  withWal(filename, (fd) => {
    const header = readAt(fd, 0, walHeaderBytes)
    return header.length < walHeaderBytes ? undefined : header.toString("hex", 16, 24)
  })

/** The marks that a WAL writes to a page, in order. */
const marksOfWal = (fd: number, page: number, pageBytes: number): ReadonlyArray<Mark> => {
  const header = readAt(fd, 0, walHeaderBytes)
  const found: Array<Mark> = []
  if (header.length < walHeaderBytes || header.readUInt32BE(8) !== pageBytes) return found
  const step = frameHeaderBytes + pageBytes
  for (let at = walHeaderBytes; ; at += step) {
    const frame = readAt(fd, at, frameHeaderBytes)
    // The remaining frames belong to the previous WAL.
    if (frame.length < frameHeaderBytes || !frame.subarray(8, 16).equals(header.subarray(16, 24))) return found
    if (frame.readUInt32BE(0) !== page) continue
    const mark = markIn(readAt(fd, at + frameHeaderBytes, pageBytes))
    if (mark === undefined) return found
    found.push(mark)
  }
}

/** The mark in the file itself, and those in its WAL. Undefined: the file has none, or a WAL being copied back hides it. */
const marksOf = (filename: string, fd: number) => {
  const header = headerOf(fd)
  const page = rootPage(fd, markTable)
  if (header === undefined || page === undefined) return undefined
  const own = markIn(readAt(fd, (page - 1) * header.pageBytes, header.pageBytes))
  const wal = withWal(filename, (wal) => marksOfWal(wal, page, header.pageBytes)) ?? []
  return own && { own, wal }
}

/** A WAL may be copied back and restarted between two readings. */
const attempts = 3

/** Whether a file and the WAL beside it belong together, as far as can be determined. */
export const belongs = (filename: string, fd: number): boolean => {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const marks = marksOf(filename, fd)
    if (marks === undefined) return true
    const [first] = marks.wal
    if (first === undefined || first.before === marks.own.now) return true
    if (marks.wal.some(({ now }) => now === marks.own.now)) return true
  }
  return false
}

/**
 * Whether an open file was overwritten: it has no header, is too short, or has a mark that neither the connection nor
 * the WAL knows. `shrunk` is its size if it is smaller than before.
 */
export const wasOverwritten = (
  filename: string,
  fd: number,
  known: { readonly mark: string | undefined; readonly shrunk: bigint | undefined }
): boolean => {
  const header = headerOf(fd)
  if (header === undefined) return true
  if (known.shrunk !== undefined && BigInt(header.pages) * BigInt(header.pageBytes) > known.shrunk) return true
  for (let attempt = 0; attempt < attempts; attempt++) {
    const marks = marksOf(filename, fd)
    if (marks === undefined || marks.own.now === known.mark) return false
    const [first] = marks.wal
    if (first?.before === marks.own.now || marks.wal.some(({ now }) => now === marks.own.now)) return false
  }
  return true
}
