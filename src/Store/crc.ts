import * as zlib from "node:zlib"
import { damaged } from "../model/Damaged.ts"

/** The reversed polynomial of CRC-32, as in zlib, gzip and PNG. */
const polynomial = 0xedb88320

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ polynomial : value >>> 1
  return value
})

/** The checksum as a loop, for Node before 20.15. */
export const crc32ByTable = (data: Uint8Array, before = 0): number => {
  let crc = ~before
  for (let i = 0; i < data.length; i++) crc = (table[(crc ^ (data[i] as number)) & 255] as number) ^ (crc >>> 8)
  return ~crc >>> 0
}

type Crc32 = (data: Uint8Array | string, before?: number) => number

const native = (zlib as { readonly crc32?: Crc32 }).crc32

/** CRC-32 of bytes, or of a text in UTF-8, optionally continuing from the checksum of the bytes before them. */
export const crc32: Crc32 =
  native ?? ((data, before) => crc32ByTable(typeof data === "string" ? Buffer.from(data) : data, before))

const scratch = new Float64Array(2)
const namesOf = Array.from({ length: 3 }, (_, count) => new Uint8Array(scratch.buffer, 0, 8 * count))

/** CRC-32 of bytes, or of a text, and of the whole numbers that identify them, so that one row's bytes do not pass for another's. */
export const crcOf = (data: Uint8Array | string, ...names: ReadonlyArray<number>): number => {
  const bytes = namesOf[names.length]
  if (bytes === undefined) return crc32(data, crc32(new Uint8Array(Float64Array.from(names).buffer)))
  for (let i = 0; i < names.length; i++) scratch[i] = names[i]!
  return crc32(data, crc32(bytes))
}

/** Checks bytes against the checksum they were stored with; bytes that an older version stored have none. */
export const checked = <A extends Uint8Array>(
  data: A,
  crc: number | null,
  what: () => string,
  ...names: ReadonlyArray<number>
): A => (crc === null || crcOf(data, ...names) === crc ? data : damaged(`${what()} has changed`))
