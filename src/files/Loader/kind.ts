import * as Effect from "effect/Effect"
import type { Kind } from "../Loader.ts"
import { extension } from "../../chunking/format.ts"
import { decode, detect } from "./decode.ts"
import { lazily } from "./lazily.ts"

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

/** What may precede a picture's element, each with its end. */
const preambles = [
  ["<!--", "-->"],
  ["<?xml", ">"],
  ["<!doctype", ">"]
] as const

/** Whether the text is an SVG picture, after any declarations and comments. */
const isSvg = (start: string): boolean => {
  const text = start.toLowerCase()
  for (let at = skipSpace(text, 0); ;) {
    const preamble = preambles.find(([begin]) => text.startsWith(begin, at))
    if (preamble === undefined) return text.startsWith("<svg", at) && /[\s>]/.test(text.charAt(at + 4))
    const end = text.indexOf(preamble[1], at + preamble[0].length)
    if (end < 0) return false
    at = skipSpace(text, end + preamble[1].length)
  }
}

const skipSpace = (text: string, from: number): number => {
  let at = from
  while (at < text.length && /\s/.test(text.charAt(at))) at++
  return at
}

/** Formats that consist of text but are not read as text. */
const textShaped = (name: string, start: string): string | undefined => {
  if (start.startsWith("%PDF-")) return "application/pdf"
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

const fileType = lazily(() => import("file-type/core"))

const mimeOf = (head: Uint8Array): Effect.Effect<string | undefined> =>
  // The library would unpack it to look inside.
  head[0] === 0x1f && head[1] === 0x8b
    ? Effect.succeed("application/gzip")
    : fileType.pipe(
        Effect.andThen(({ fileTypeFromBuffer }) => Effect.tryPromise(() => fileTypeFromBuffer(head))),
        Effect.map((found) => found?.mime),
        Effect.orElseSucceed(() => undefined)
      )

/**
 * A file's kind by its first bytes. Bytes that decode as text are text whatever signature they begin with ("BM25 is …" is
 * not a bitmap), except the few document formats that consist of text.
 */
export const kindOf = (name: string, head: Uint8Array): Effect.Effect<Kind> => {
  const encoding = detect(head)
  if (encoding === "binary") return Effect.map(mimeOf(head), other)
  if (encoding === "unrecognised") {
    return Effect.succeed({
      _tag: "Other",
      reason: "text in an encoding that is not recognised: save it as UTF-8 to have it read"
    })
  }
  const mime = textShaped(name, decode(head.subarray(0, 4096), encoding))
  return Effect.succeed(mime === undefined ? { _tag: "Text", encoding } : other(mime))
}
