import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { extension } from "../../chunking/format.ts"
import { type Kind, type SourceFile, type Unreadable, Unsupported } from "../Loader.ts"
import type { DiskFailure, OpenFile } from "../Disk.ts"
import { decode, detect, guess, guessDoubtful } from "./decode.ts"

export const headBytes = 64 * 1024
const pieceBytes = 256 * 1024

/** The first bytes of an open file: 64 KiB, or all of a shorter one. */
export const readHead = Effect.fnUntraced(function* ({ read }: OpenFile, size: number) {
  // A file without a size may have content, as under /proc, and is read to its end.
  const wanted = size > 0 ? Math.min(size, headBytes) : headBytes
  const buffer = new Uint8Array(wanted)
  let filled = 0
  while (filled < wanted) {
    const added = yield* read(buffer.subarray(filled), filled)
    if (added === 0) break
    filled += added
  }
  return buffer.subarray(0, filled)
})

/** An open file from its start, in pieces of at most 256 KiB. */
export const pieces = ({ read }: OpenFile): Stream.Stream<Uint8Array, DiskFailure> =>
  Stream.unfoldEffect(0, (position) => {
    const buffer = new Uint8Array(pieceBytes)
    return Effect.map(read(buffer, position), (added) =>
      added === 0 ? Option.none() : Option.some([buffer.subarray(0, added), position + added] as const)
    )
  })

/** A whole stream of about this size, up to `limit`: a file may grow while it is read. */
export const bytesOf = <E>(
  path: string,
  stream: Stream.Stream<Uint8Array, E>,
  size: number,
  limit: number
): Effect.Effect<Uint8Array, E | Unsupported> =>
  Effect.suspend(() => {
    let bytes = new Uint8Array(Math.min(size, limit))
    let read = 0
    const keep = (part: Uint8Array) => {
      const end = read + part.length
      if (end > limit) return tooLarge(path, end, limit)
      return Effect.sync(() => {
        if (end > bytes.length) {
          const before = bytes
          bytes = new Uint8Array(Math.min(limit, 2 * end))
          bytes.set(before)
        }
        bytes.set(part, read)
        read = end
      })
    }
    return Effect.map(Stream.runForEach(stream, keep), () => bytes.subarray(0, read))
  })

/** A size in readable units, such as 1.5 MiB. */
const sizeText = (bytes: number): string => {
  if (bytes < 1024) return `${bytes} bytes`
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), 4)
  const amount = bytes / 1024 ** power
  return `${Number.isInteger(amount) ? amount : amount.toFixed(1)} ${["", "KiB", "MiB", "GiB", "TiB"][power]}`
}

const documents = new Set([
  "application/pdf",
  "application/rtf",
  "application/postscript",
  "application/epub+zip",
  "application/x-cfb",
  "application/x-ipynb+json",
  "application/x-mobipocket-ebook",
  "application/vnd.ms-outlook"
])
const isDocument = (mime: string): boolean =>
  documents.has(mime) || mime.startsWith("application/vnd.openxmlformats") || mime.startsWith("application/vnd.oasis")

/** Whether the text is an SVG picture, after any declarations and comments. */
const isSvg = (start: string): boolean =>
  /^\s*(?:<[?!][^>]*>\s*)*<svg[\s>]/i.test(start.replace(/<!--[^]*?(?:-->|$)/g, ""))

/** Readers of PDF accept up to 1,024 bytes before its first line; other texts may mention it. */
const isPdf = (name: string, start: string): boolean =>
  extension(name) === "pdf" ? start.slice(0, 1029).includes("%PDF-") : /^\s{0,1024}%PDF-/.test(start)

/** Formats that consist of text but are not read as text. */
const textShaped = (name: string, start: string): string | undefined => {
  if (isPdf(name, start)) return "application/pdf"
  if (start.startsWith("{\\rtf")) return "application/rtf"
  if (start.startsWith("%!PS-Adobe")) return "application/postscript"
  if (isSvg(start)) return "image/svg+xml"
  if (extension(name) === "ipynb" && /^\s*\{/.test(start)) return "application/x-ipynb+json"
  return undefined
}

const archives = new Set([
  "application/x-tar",
  "application/zip",
  "application/x-7z-compressed",
  "application/x-rar-compressed",
  "application/vnd.ms-cab-compressed"
])

const other = (mime: string | undefined): Kind =>
  mime === undefined
    ? { _tag: "Other", reason: "binary" }
    : archives.has(mime)
      ? { _tag: "Other", mime, reason: "an archive of many files: unpack it first" }
      : { _tag: "Other", mime, reason: isDocument(mime) ? `${mime} is not read yet` : `binary (${mime})` }

const mimeOf = (head: Uint8Array): Effect.Effect<string | undefined> =>
  // The library would unpack it to look inside.
  head[0] === 0x1f && head[1] === 0x8b
    ? Effect.succeed("application/gzip")
    : Effect.promise(() => import("file-type/core")).pipe(
        Effect.andThen(({ fileTypeFromBuffer }) => Effect.tryPromise(() => fileTypeFromBuffer(head))),
        Effect.map((found) => found?.mime),
        Effect.orElseSucceed(() => undefined)
      )

/** GNU's manuals for `info`, whose nodes follow a separator. */
const isInfo = (start: string): boolean =>
  /^This is [^\0]{1,300}?,\s+produced\s+by\s+makeinfo/.test(start) && start.includes("\x1f")

/** What stands in a checkout for a file that Git LFS has not fetched. */
const isPointer = (text: string): boolean =>
  text.length < 1024 && text.startsWith("version https://git-lfs.github.com/spec/")

/** Marks of indexes and pictures in them. */
const infoMarks = /\0\x08\[[^\0]{0,10000}(?:\0\x08\]|$)/g

/** Without what only `info` has, for the rest to be judged as text. */
const withoutInfo = (head: Uint8Array): Uint8Array => {
  const text = Buffer.from(head).toString("latin1")
  return isInfo(text) ? Buffer.from(text.replace(infoMarks, "").replace(/[\x1f\x7f]/g, ""), "latin1") : head
}

/**
 * A file's kind by its first bytes. Bytes that decode as text are text whatever signature they begin with ("BM25 is …" is
 * not a bitmap), except the few document formats that consist of text.
 */
export const kindOf = Effect.fnUntraced(function* (name: string, head: Uint8Array): Effect.fn.Return<Kind> {
  const detected = detect(withoutInfo(head))
  if (detected === "binary") {
    const start = Buffer.from(head.subarray(0, 1029)).toString("latin1")
    return other(isPdf(name, start) ? "application/pdf" : yield* mimeOf(head))
  }
  const guessing = detected === "unrecognised" ? guess : detected === "doubtful" ? guessDoubtful : undefined
  const encoding = guessing === undefined ? detected : yield* Effect.promise(() => guessing(head))
  if (encoding === undefined) {
    return { _tag: "Other", reason: "text in an encoding that is not recognised: save it as UTF-8 to have it read" }
  }
  const start = decode(head.subarray(0, 4096), encoding)
  if (isPointer(start)) return { _tag: "Other", reason: "Git LFS pointer" }
  const mime = textShaped(name, start)
  return mime === undefined ? { _tag: "Text", encoding } : other(mime)
})

export const tooLarge = (path: string, size: number, limit: number): Unsupported =>
  new Unsupported({
    path,
    reason: `${sizeText(size)}, more than limits.max_file_bytes allows (${sizeText(limit)})`,
    isLimit: true
  })

/** Opens bytes that have no file of their own: standard input, unpacked files, mail attachments. */
export const openBytes = Effect.fnUntraced(function* (path: string, all: Uint8Array, limit: number) {
  if (all.length === 0) return yield* new Unsupported({ path, reason: "empty" })
  const head = all.subarray(0, headBytes)
  const bytes = all.length > limit ? tooLarge(path, all.length, limit) : Effect.succeed(all)
  return {
    path,
    size: all.length,
    head,
    kind: yield* kindOf(path, head),
    bytes,
    stream: Stream.make(all)
  } satisfies SourceFile
})

/** The longest string V8 makes, in UTF-16 units; no encoding here has more units than bytes. */
const longestString = 0x1fffffe8

/** A text without marks that only `info` reads, on its lines. */
const written = (text: string): string =>
  text.includes("\0") && isInfo(text) ? text.replace(infoMarks, (mark) => mark.replace(/[^\n]+/g, "")) : text

/** A text file's whole content, decoded. */
export const content = (file: SourceFile): Effect.Effect<string, Unreadable | Unsupported> =>
  Effect.flatMap(file.bytes, (bytes) => {
    if (file.kind._tag === "Other") return new Unsupported({ path: file.path, reason: file.kind.reason })
    return bytes.length > longestString
      ? new Unsupported({ path: file.path, reason: "larger than 512 MiB, the most that can be held as one text" })
      : Effect.filterOrFail(
          Effect.succeed(written(decode(bytes, file.kind.encoding))),
          (text) => /\S/.test(text),
          () => new Unsupported({ path: file.path, reason: "it holds no text" })
        )
  })
