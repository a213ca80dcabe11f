import { headerOf, readAt } from "./RawFile.ts"

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
const columns = (page: Buffer, start: number): ReadonlyArray<Buffer> => {
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
export const records = (page: Buffer, header: number): ReadonlyArray<ReadonlyArray<Buffer>> => {
  if (page[header] !== leafTable) return []
  const count = page.readUInt16BE(header + 3)
  const found: Array<ReadonlyArray<Buffer>> = []
  for (let index = 0; index < count && header + 10 + index * 2 <= page.length; index++) {
    const [, afterSize] = varint(page, page.readUInt16BE(header + 8 + index * 2))
    const [, afterId] = varint(page, afterSize)
    found.push(columns(page, afterId))
  }
  return found
}

/** The number of a table's first page in the file's own schema, whatever the WAL contains; undefined: not there. */
export const rootPage = (fd: number, table: string): number | undefined => {
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
