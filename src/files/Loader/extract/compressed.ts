import { Decompress } from "fzstd"
import { gunzipSync } from "node:zlib"
import { type Attachment, type Extracted, NotExtracted } from "./Extracted.ts"

/** Most bytes that a file may unpack to; more is a bomb. */
const most = 512 * 1024 * 1024

const tooMuch = () => new NotExtracted(`it unpacks to more than ${most / 1024 / 1024} MiB`)

/** The largest window that the zstd program accepts by default. */
const widestWindow = 2 ** 27

/** The window in a frame's header, in bytes; see RFC 8878, 3.1.1.1. */
const windowOf = (bytes: Uint8Array): number => {
  const descriptor = bytes[4] ?? 0
  const isSingle = (descriptor & 0x20) !== 0
  if (!isSingle) return 2 ** (10 + ((bytes[5] ?? 0) >> 3))
  const at = 5 + [0, 1, 2, 4][descriptor & 3]!
  const length = [1, 2, 4, 8][descriptor >> 6]!
  let size = 0
  for (let i = length - 1; i >= 0; i--) size = size * 256 + (bytes[at + i] ?? 0)
  return size
}

const zstd = (bytes: Uint8Array): Uint8Array => {
  if (windowOf(bytes) > most || (((bytes[4] ?? 0) & 0x20) === 0 && windowOf(bytes) > widestWindow)) throw tooMuch()
  const pieces: Array<Uint8Array> = []
  let total = 0
  const stream = new Decompress((piece) => {
    total += piece.length
    if (total > most) throw tooMuch()
    pieces.push(piece.slice())
  })
  for (let at = 0; at < bytes.length; at += 65_536)
    stream.push(bytes.subarray(at, at + 65_536), at + 65_536 >= bytes.length)
  return Buffer.concat(pieces, total)
}

const gzip = (bytes: Uint8Array): Uint8Array => {
  try {
    return gunzipSync(bytes, { maxOutputLength: most })
  } catch (error) {
    if ((error as { readonly code?: string }).code === "ERR_BUFFER_TOO_LARGE") throw tooMuch()
    throw error
  }
}

/** The file inside gzip or zstd. */
export const compressed = (bytes: Uint8Array): Extracted & { readonly attachments: ReadonlyArray<Attachment> } => {
  const unpacked = bytes[0] === 0x1f ? gzip(bytes) : zstd(bytes)
  return { text: "", metadata: {}, marks: [], attachments: [{ name: "", bytes: unpacked }] }
}
