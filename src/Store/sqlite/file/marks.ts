import * as fs from "node:fs"
import { headerOf, readAt } from "./place.ts"

/**
 * Each WAL's first transaction gives the database a new random mark and keeps the previous one. The file itself gets
 * the mark when the WAL is copied back. So the file has the mark from which its WAL began, or one that the WAL gave it.
 * Otherwise the two do not belong together, and SQLite would write pages of one database into another.
 */
interface Mark {
  readonly before: string
  readonly now: string
}

const markTable = "file_mark"

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

/** The marks that a WAL writes to a page, in order. It has up to sixteen thousand frames, so ask for no more than needed. */
function* marksOfWal(fd: number, page: number, pageBytes: number): Generator<Mark> {
  const header = readAt(fd, 0, walHeaderBytes)
  if (header.length < walHeaderBytes || header.readUInt32BE(8) !== pageBytes) return
  const step = frameHeaderBytes + pageBytes
  for (let at = walHeaderBytes; ; at += step) {
    const frame = readAt(fd, at, frameHeaderBytes)
    // The remaining frames belong to the previous WAL.
    if (frame.length < frameHeaderBytes || !frame.subarray(8, 16).equals(header.subarray(16, 24))) return
    if (frame.readUInt32BE(0) !== page) continue
    const mark = markIn(readAt(fd, at + frameHeaderBytes, pageBytes))
    if (mark === undefined) return
    yield mark
  }
}

/**
 * Whether the WAL beside a file began from the file's own mark, or gave it the mark; "none": the WAL gives no marks.
 * Undefined: the file has no mark, or a WAL being copied back hides it.
 */
const walKnows = (filename: string, fd: number, isEnough: (own: Mark) => boolean = () => false) => {
  const header = headerOf(fd)
  const page = rootPage(fd, markTable)
  if (header === undefined || page === undefined) return undefined
  const own = markIn(readAt(fd, (page - 1) * header.pageBytes, header.pageBytes))
  if (own === undefined) return undefined
  if (isEnough(own)) return true
  return (
    withWal(filename, (wal): boolean | "none" => {
      let found: false | "none" = "none"
      for (const { before, now } of marksOfWal(wal, page, header.pageBytes)) {
        if (now === own.now || (found === "none" && before === own.now)) return true
        found = false
      }
      return found
    }) ?? "none"
  )
}

/** A WAL may be copied back and restarted between two readings. */
const attempts = 3

/** Whether a file and the WAL beside it belong together, as far as can be determined. */
export const belongs = (filename: string, fd: number): boolean => {
  for (let attempt = 0; attempt < attempts; attempt++) if (walKnows(filename, fd) !== false) return true
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
    const knows = walKnows(filename, fd, ({ now }) => now === known.mark)
    if (knows === undefined || knows === true) return false
  }
  return true
}

const leafTable = 13
const interiorTable = 5
/** Deeper than any schema's tree. */
const deepest = 8
/** More tables than any index has. */
const mostPages = 10_000

/** SQLite's varint, and where it ends. */
const varint = (page: Buffer, at: number): readonly [number, number] => {
  let value = 0
  for (let index = 0; index < 8; index++) {
    const byte = page[at + index] ?? 0
    value = value * 128 + (byte & 127)
    if (byte < 128) return [value, at + index + 1]
  }
  return [value * 256 + (page[at + 8] ?? 0), at + 9]
}

const sizeOf = (type: number): number => [0, 1, 2, 3, 4, 6, 8, 8, 0, 0][type] ?? Math.floor((type - 12) / 2)

/** The columns of a record, as far as they are on the page. */
const columnsOf = (page: Buffer, start: number): ReadonlyArray<Buffer> => {
  const [headerSize, first] = varint(page, start)
  const found: Array<Buffer> = []
  let value = start + headerSize
  for (let at = first; at < start + headerSize && found.length < 8;) {
    const [type, next] = varint(page, at)
    at = next
    found.push(page.subarray(value, value + sizeOf(type)))
    value += sizeOf(type)
  }
  return found
}

/** The records of a leaf page. */
const records = (page: Buffer, header: number): ReadonlyArray<ReadonlyArray<Buffer>> => {
  if (page[header] !== leafTable) return []
  const count = page.readUInt16BE(header + 3)
  const found: Array<ReadonlyArray<Buffer>> = []
  for (let index = 0; index < count && header + 10 + index * 2 <= page.length; index++) {
    const [, afterSize] = varint(page, page.readUInt16BE(header + 8 + index * 2))
    const [, afterId] = varint(page, afterSize)
    found.push(columnsOf(page, afterId))
  }
  return found
}

/** The number of a table's first page in the file's own schema, whatever the WAL contains; undefined: not there. */
const rootPage = (fd: number, table: string): number | undefined => {
  const header = headerOf(fd)
  if (header === undefined) return undefined
  let level: ReadonlyArray<number> = [1]
  let read = 0
  for (let depth = 0; depth < deepest && level.length > 0; depth++) {
    const below: Array<number> = []
    for (const number of level) {
      if (++read > mostPages) return undefined
      const page = readAt(fd, (number - 1) * header.pageBytes, header.pageBytes)
      if (page.length < header.pageBytes) return undefined
      const start = number === 1 ? 100 : 0
      for (const [type, , of, root] of records(page, start)) {
        if (type?.toString() !== "table" || of?.toString() !== table || root === undefined) continue
        return root.readUIntBE(0, Math.min(root.length, 6))
      }
      if (page[start] !== interiorTable) continue
      const count = page.readUInt16BE(start + 3)
      for (let index = 0; index < count && start + 14 + index * 2 <= page.length; index++) {
        const at = page.readUInt16BE(start + 12 + index * 2)
        if (at + 4 <= page.length) below.push(page.readUInt32BE(at))
      }
      below.push(page.readUInt32BE(start + 8))
    }
    level = below
  }
  return undefined
}
