import { Unzip, UnzipInflate, UnzipPassThrough } from "fflate"
import { Decompress } from "fzstd"
import { posix } from "node:path"
import { gunzipSync } from "node:zlib"
import { type Extracted, NotExtracted } from "./Extracted.ts"
import { oneLine } from "./MarkdownWriter.ts"
import { decodeXml } from "./decoding.ts"
import { all, child, textIn, xml, type XmlElement } from "./xml.ts"

/** Rejects names outside the archive; nothing is written here, but such an archive is not a document. */
const isSound = (name: string): boolean => !name.startsWith("/") && !name.split(/[/\\]/).includes("..")

/** Most bytes that a file may unpack to; more is a bomb. */
const largest = 512 * 1024 * 1024

/** Unpacks the wanted files of an archive in memory; one with more bytes or files than `most` is a bomb. */
export const unzip = (
  bytes: Uint8Array,
  wanted: (name: string) => boolean,
  most = { all: largest, entries: 20_000 }
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

/** A book has each of its chapters once, a presentation each slide; a list that repeats one is a bomb. */
const mostReads = 100

/** The wanted parts of a document in an archive, as text and as XML; undefined if they are missing. */
export const partsOf = (bytes: Uint8Array, wanted: RegExp) => {
  const files = unzip(bytes, (name) => wanted.test(name))
  const reads = new Map<string, number>()
  const text = (name: string): string | undefined => {
    const part = files.get(name)
    if (part === undefined) return undefined
    const times = (reads.get(name) ?? 0) + 1
    if (times > mostReads) throw new NotExtracted(`it names its part ${name} more than ${mostReads} times`)
    reads.set(name, times)
    return decodeXml(part)
  }
  return {
    text,
    part: (name: string, taken?: (element: XmlElement) => boolean): XmlElement | undefined => {
      const source = text(name)
      return source === undefined ? undefined : xml(source, taken)
    }
  }
}

/** What a document says of itself: without what is empty. */
export const about = (
  given: Readonly<Record<string, string | undefined>> & { readonly title?: string | undefined }
): Pick<Extracted, "title" | "metadata"> => {
  const { title, ...metadata } = Object.fromEntries(
    Object.entries(given).flatMap(([key, value]) => (value?.trim() ? [[key, oneLine(value)]] : []))
  )
  return { title: title as string | undefined, metadata }
}

/** Title and author of an Office Open XML document. */
export const coreOf = (core: XmlElement | undefined): Pick<Extracted, "title" | "metadata"> => {
  const said = (name: string) => textIn(child(core, name))
  return about({ title: said("dc:title"), author: said("dc:creator"), modified: said("dcterms:modified") })
}

const tooMuch = () => new NotExtracted(`it unpacks to more than ${largest / 1024 / 1024} MiB`)

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
  if (windowOf(bytes) > largest || (((bytes[4] ?? 0) & 0x20) === 0 && windowOf(bytes) > widestWindow)) throw tooMuch()
  const pieces: Array<Uint8Array> = []
  let total = 0
  const stream = new Decompress((piece) => {
    total += piece.length
    if (total > largest) throw tooMuch()
    pieces.push(piece.slice())
  })
  for (let at = 0; at < bytes.length; at += 65_536)
    stream.push(bytes.subarray(at, at + 65_536), at + 65_536 >= bytes.length)
  return Buffer.concat(pieces, total)
}

const gzip = (bytes: Uint8Array): Uint8Array => {
  try {
    return gunzipSync(bytes, { maxOutputLength: largest })
  } catch (error) {
    if ((error as { readonly code?: string }).code === "ERR_BUFFER_TOO_LARGE") throw tooMuch()
    throw error
  }
}

/** The file inside gzip or zstd. */
export const compressed = (bytes: Uint8Array): Extracted => {
  const unpacked = bytes[0] === 0x1f ? gzip(bytes) : zstd(bytes)
  return { text: "", metadata: {}, marks: [], attachments: [{ name: "", bytes: unpacked }] }
}

/** The targets of a part's relations within the archive, by id; targets outside it are left out. */
export const relations = (
  part: XmlElement | undefined,
  folder: string
): ReadonlyMap<string, { readonly target: string; readonly type: string }> =>
  new Map(
    all(part, "Relationship")
      .filter(({ attributes }) => attributes["TargetMode"] !== "External")
      .map(({ attributes }) => [
        attributes["Id"] ?? "",
        { target: resolve(folder, attributes["Target"] ?? ""), type: attributes["Type"] ?? "" }
      ])
  )

/** Resolves a path within the archive against a folder. */
export const resolve = (folder: string, target: string): string => posix.resolve("/", folder, target).slice(1)
