import { Unzip, UnzipInflate, UnzipPassThrough } from "fflate"
import { NotExtracted } from "./Extracted.ts"

/** Rejects names outside the archive; nothing is written here, but such an archive is not a document. */
const isSound = (name: string): boolean => !name.startsWith("/") && !name.split(/[/\\]/).includes("..")

/**
 * Unpacks the wanted files of an archive in memory; nothing is written to disk. An archive with more bytes or files than
 * `most` is a bomb.
 */
export const unzip = (
  bytes: Uint8Array,
  wanted: (name: string) => boolean,
  most = { all: 512 * 1024 * 1024, entries: 20_000 }
): ReadonlyMap<string, Uint8Array> => {
  const files = new Map<string, Uint8Array>()
  let total = 0
  let entries = 0
  const archive = new Unzip((file) => {
    if (++entries > most.entries) throw new NotExtracted(`the archive holds more than ${most.entries} files`)
    if (!isSound(file.name) || !wanted(file.name)) return
    const pieces: Array<Uint8Array> = []
    let length = 0
    file.ondata = (error, data, final) => {
      // The library passes on what is thrown below.
      if (error instanceof NotExtracted) throw error
      if (error !== null) throw new NotExtracted(`the archive is damaged at ${file.name}: ${error.message}`)
      length += data.length
      total += data.length
      if (total > most.all) throw new NotExtracted(`the archive unpacks to more than ${most.all / 1024 / 1024} MiB`)
      pieces.push(data)
      if (final) files.set(file.name, Buffer.concat(pieces, length))
    }
    file.start()
  })
  archive.register(UnzipInflate)
  archive.register(UnzipPassThrough)
  try {
    // In pieces, so that a bomb is noticed before it is unpacked.
    for (let at = 0; at < bytes.length; at += 65_536)
      archive.push(bytes.subarray(at, at + 65_536), at + 65_536 >= bytes.length)
  } catch (error) {
    if (error instanceof NotExtracted) throw error
    throw new NotExtracted(`the archive is damaged: ${(error as Error).message}`)
  }
  return files
}

export const utf8 = (bytes: Uint8Array | undefined): string =>
  bytes === undefined ? "" : new TextDecoder().decode(bytes)
