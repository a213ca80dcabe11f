import type { Coded } from "./encoder.ts"

/** Rows of a full block. */
export const blockRows = 1024

/** Rows that the kernel processes at once. */
const group = 32

const padded = (rows: number): number => Math.ceil(rows / group) * group

/** Groups of a block with this many rows. */
export const groupsOf = (rows: number): number => padded(rows) / group

/** Bytes of a block: a passage id, a factor and a code per row. */
export const bodyBytes = (rows: number, bytes: number): number => padded(rows) * (8 + bytes)

/** Concatenates codes. */
export const concat = (parts: ReadonlyArray<Coded>): Coded => {
  const count = parts.reduce((sum, { ids }) => sum + ids.length, 0)
  const bytes = parts.reduce((sum, { codes }) => sum + codes.length, 0)
  const all: Coded = {
    ids: new Uint32Array(count),
    factors: new Float32Array(count),
    codes: new Uint8Array(bytes)
  }
  let row = 0
  let byte = 0
  for (const { codes, factors, ids } of parts) {
    all.ids.set(ids, row)
    all.factors.set(factors, row)
    all.codes.set(codes, byte)
    row += ids.length
    byte += codes.length
  }
  return all
}

/** Rows `from` up to `to`. */
export const slice = ({ codes, factors, ids }: Coded, from: number, to: number): Coded => {
  const bytes = ids.length === 0 ? 0 : codes.length / ids.length
  return {
    ids: ids.subarray(from, to),
    factors: factors.subarray(from, to),
    codes: codes.subarray(from * bytes, to * bytes)
  }
}

/** The rows at the given places. */
export const pick = ({ codes, factors, ids }: Coded, rows: ReadonlyArray<number>): Coded => {
  const bytes = codes.length / Math.max(1, ids.length)
  const picked = new Uint8Array(rows.length * bytes)
  rows.forEach((row, at) => picked.set(codes.subarray(row * bytes, (row + 1) * bytes), at * bytes))
  return {
    ids: Uint32Array.from(rows, (row) => ids[row]!),
    factors: Float32Array.from(rows, (row) => factors[row]!),
    codes: picked
  }
}

/** The rows by rising ids. */
export const sorted = (coded: Coded): Coded => {
  const { ids } = coded
  let rising = true
  for (let row = 1; row < ids.length && rising; row++) rising = ids[row - 1]! < ids[row]!
  return rising
    ? coded
    : pick(
        coded,
        Array.from(ids.keys()).sort((a, b) => ids[a]! - ids[b]!)
      )
}

/**
 * A block as it is stored and as the kernel reads it, little-endian: u32 ids, f32 factors, then for each group of 32
 * rows and each byte of a code a line with that byte of every row. Padding rows have the factor NaN.
 */
export const pack = ({ codes, factors, ids }: Coded): Buffer => {
  const rows = padded(ids.length)
  const bytes = codes.length / ids.length
  const body = Buffer.alloc(bodyBytes(ids.length, bytes))
  const view = new DataView(body.buffer, body.byteOffset)
  for (let row = 0; row < rows; row++) {
    view.setUint32(row * 4, ids[row] ?? 0, true)
    view.setFloat32((rows + row) * 4, factors[row] ?? Number.NaN, true)
  }
  const start = rows * 8
  for (let row = 0; row < ids.length; row++) {
    const line = start + Math.floor(row / group) * group * bytes + (row % group)
    for (let byte = 0; byte < bytes; byte++) body[line + byte * group] = codes[row * bytes + byte]!
  }
  return body
}

/** The passage ids of a block. */
export const idsIn = (body: Uint8Array, count: number): Uint32Array => {
  const view = new DataView(body.buffer, body.byteOffset)
  return Uint32Array.from({ length: count }, (_, row) => view.getUint32(row * 4, true))
}

/** The rows of a packed block, given their number and the bytes of a code. */
export const unpack = (body: Uint8Array, count: number, bytes: number): Coded => {
  const view = new DataView(body.buffer, body.byteOffset)
  const rows = padded(count)
  const codes = new Uint8Array(count * bytes)
  const start = rows * 8
  for (let row = 0; row < count; row++) {
    const line = start + Math.floor(row / group) * group * bytes + (row % group)
    for (let byte = 0; byte < bytes; byte++) codes[row * bytes + byte] = body[line + byte * group]!
  }
  return {
    ids: idsIn(body, count),
    factors: Float32Array.from({ length: count }, (_, row) => view.getFloat32((rows + row) * 4, true)),
    codes
  }
}
