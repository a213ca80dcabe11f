import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { extension, formatOf, formatOfName } from "../../chunking/format.ts"
import { decoderOf } from "../../extraction/decoding.ts"
import type { Extracted } from "../../extraction/Extracted.ts"
import type { Kind, Source } from "../../extraction/extract.ts"
import { withinLimits } from "../../model/Document.ts"
import type { FileFormat, LoadedDocument, SourceFile, Unreadable, Unsupported } from "../Loader.ts"
import { charset, decode } from "./decode.ts"
import type { Extract } from "./Extractor.ts"
import * as JsonLines from "./JsonLines.ts"
import * as Mail from "./Mail.ts"
import * as Markdown from "./Markdown.ts"
import * as Records from "./Records.ts"
import { content } from "./read.ts"

const names = new Set(
  (
    "makefile gnumakefile dockerfile containerfile jenkinsfile vagrantfile rakefile gemfile brewfile podfile fastfile " +
    "guardfile justfile procfile pkgbuild build workspace cmakelists.txt meson.build sconstruct sconscript"
  ).split(" ")
)

/** In addition to those that decide the layout of any text (chunking/format.ts). */
const extensions = new Set(
  (
    "bzl bazel star cu cuh glsl hlsl wgsl vert frag ipp inl tpp ino cljd coffee litcoffee purs idr lean agda fsi fsx " +
    "hx cr pony odin vala jsonnet libsonnet rego dockerfile mjml pug ejs erb haml slim twig sbt gant ksh csh vim " +
    "bas cls for f03 f08 ada adb ads cob cbl prolog apl sas do jsm es6 cjsx pxd pyx rbi dhall cue bicep kql cypher"
  ).split(" ")
)

const shebang = [0x23, 0x21]

const isCode = (file: SourceFile): boolean => {
  const name = file.path.slice(file.path.lastIndexOf("/") + 1).toLowerCase()
  const ending = extension(file.path)
  if (names.has(name) || formatOfName(name) === "code") return true
  if (ending !== undefined) return extensions.has(ending)
  return shebang.every((byte, i) => file.head[i] === byte)
}

/** What generators write into the first lines of code, as Go and others agreed. */
const notice = /^\W{0,10}(?:Code generated .{1,200} DO NOT EDIT\.|@generated\b)/m
/** Longer lines on average are not written by people. */
const longLines = 500

/** Whether a program wrote a text of code: it says so, or its lines are too long to read. */
const isGenerated = (path: string, text: string): boolean => {
  const head = text.slice(0, 4096)
  if (notice.test(head)) return formatOfName(path) === "code" || extensions.has(extension(path) ?? "")
  if (!/\.(?:[mc]?js|css)$/.test(path) || text.length < 4096) return false
  return head.length / head.split("\n").length > longLines
}

/** A text as one document, as it is written. */
const asWritten = (
  { accepts, name, version }: Pick<FileFormat, "accepts" | "name" | "version">,
  formatOf: (path: string, text: string) => LoadedDocument["format"]
): FileFormat => ({
  name,
  version,
  accepts,
  load: (file) =>
    Stream.fromEffect(
      Effect.map(content(file), (text): LoadedDocument => ({
        _tag: "Loaded",
        content: text,
        format: formatOf(file.path, text),
        metadata: {},
        ...(isGenerated(file.path, text) && { aside: "generated" })
      }))
    )
})

const isText = (file: SourceFile): boolean => file.kind._tag === "Text"

/** Source code, by the file's name, or by `#!` if it has no extension. */
export const code = asWritten(
  { name: "code", version: 3, accepts: (file) => isText(file) && isCode(file) },
  () => "code"
)

/** Every text that no other format takes. Without an extension (README, standard input), the content decides. */
export const plain = asWritten({ name: "text", version: 7, accepts: isText }, (path, text) =>
  extension(path) === undefined
    ? formatOf(undefined, text)
    : formatOfName(path) === undefined
      ? "text"
      : formatOf(path, text)
)

/** Accepts text with one of these extensions. */
const named =
  (...endings: ReadonlyArray<string>) =>
  (file: SourceFile): boolean =>
    isText(file) && endings.includes(extension(file.path) ?? "")

/** Accepts bytes of this media type, or an archive whose name has one of these extensions. */
const mimes =
  (endings: string, types: RegExp) =>
  ({ kind, path }: SourceFile): boolean =>
    kind._tag === "Other" &&
    (types.test(kind.mime ?? "") ||
      (kind.mime === "application/zip" && endings.split(" ").includes(extension(path) ?? "")))

const htmlEndings = new Set(["html", "htm", "xhtml", "xht"])

/** HTML by its name, or by its first element if the name does not decide. */
const isHtml = (file: SourceFile): boolean => {
  const ending = extension(file.path) ?? ""
  if (htmlEndings.has(ending)) return file.kind._tag === "Text" || charset(file.head) !== undefined
  if (file.kind._tag !== "Text" || !(ending === "" || ending === "txt")) return false
  return /^\s*<(?:!doctype html|html)[\s>]/i.test(decode(file.head.subarray(0, 1024), file.kind.encoding))
}

/** A page's declared encoding applies only if the page is not UTF-8. */
const pageText = (file: SourceFile) => {
  const label = charset(file.head)
  return label === undefined ? content(file) : Effect.map(file.bytes, decoderOf(label))
}

/** MHTML: a page that a browser or an office program saved as one file, as mails carry them. */
const isSavedPage = (file: SourceFile): boolean =>
  /^mht(?:ml)?$/.test(extension(file.path) ?? "") && /^content-type:\s{0,9}multipart\/related\b/im.test(headText(file))

/** OpenDocument in one XML text, by its name and its first element. */
const isFlatOpenDocument = (file: SourceFile): boolean =>
  named("fodt", "fods", "fodp")(file) && /<office:document\s/.test(headText(file))

const isTable = (file: SourceFile): boolean => {
  if (!named("csv", "tsv", "tab")(file) || file.kind._tag !== "Text") return false
  return /[,;\t|]/.test(decode(file.head, file.kind.encoding))
}

const headText = (file: SourceFile): string =>
  file.kind._tag === "Text" ? decode(file.head.subarray(0, 8192), file.kind.encoding) : ""

const isLatex = (file: SourceFile): boolean =>
  named("ltx", "latex")(file) ||
  (named("tex")(file) && /\\(?:documentclass|documentstyle|begin|(?:sub)*section|chapter|input)\b/.test(headText(file)))

/** Named by its section of the manual (`ls.1`, `printf.3p`), and with a manual's macros. */
const isMan = (file: SourceFile): boolean =>
  /^(?:[1-9n][a-z]{0,4}|man|mdoc|roff|me|ms|mm)$/.test(extension(file.path) ?? "") &&
  /^[.'][ \t]*(?:TH|Dd|Dt|SH|Sh|NH|PP|LP|TL)\b/m.test(headText(file))

/** DocBook, Mallard or DITA, but no map of topics, by what its first lines declare; a part of a book need not declare anything. */
const isDocbook = (file: SourceFile): boolean => {
  if (!named("xml", "sgml", "docbook", "dbk", "page", "dita")(file)) return false
  const head = headText(file)
  if (/<(?:\w{0,20}map|subjectScheme)[\s>]/.test(head)) return false
  return (
    /\sxmlns(?::\w{1,40})?=["']http:\/\/(?:docbook\.org\/ns\/docbook|projectmallard\.org\/)/.test(head) ||
    /<!DOCTYPE\s[^>"'[]{0,80}["']-\/\/[^>"'[]{0,100}\b(?:DocBook|DITA)\b/i.test(head) ||
    /<refnamediv[\s>]/i.test(head) ||
    (/<para[\s>]/i.test(head) && /<title[\s>]/i.test(head) && !/<doxygen[\s>]/.test(head))
  )
}

const bytes = (file: SourceFile) => file.bytes

/** A format that a worker extracts; its source is bytes if it is not text. */
type Extractable = readonly [
  name: Kind | "opendocument" | "flatOpenDocument" | "fictionbook" | "table",
  version: number,
  accepts: (file: SourceFile) => boolean,
  source: (file: SourceFile) => Effect.Effect<Source, Unreadable | Unsupported>,
  kind?: Kind
]

const extractables: ReadonlyArray<Extractable> = [
  ["html", 9, isHtml, pageText],
  ["savedPage", 2, isSavedPage, bytes],
  ["pdf", 7, mimes("pdf", /^application\/pdf$/), bytes],
  // Documents, templates and shows, with macros or without.
  ["docx", 6, mimes("docx docm dotx dotm", /wordprocessingml|ms-word\./), bytes],
  [
    "opendocument",
    7,
    mimes("odt odp ods ott otp ots", /opendocument\.(?:text|presentation|spreadsheet)(?:-template)?$/),
    bytes,
    "openDocument"
  ],
  ["flatOpenDocument", 1, isFlatOpenDocument, content, "openDocument"],
  ["pptx", 6, mimes("pptx pptm ppsx ppsm potx potm", /presentationml|ms-powerpoint\./), bytes],
  ["xlsx", 6, mimes("xlsx xlsm xltx xltm", /spreadsheetml|ms-excel\.(?:sheet|template)\.macro/), bytes],
  ["oldOffice", 3, mimes("", /^application\/x-cfb$/), bytes],
  ["epub", 8, mimes("epub", /^application\/epub\+zip$/), bytes],
  ["fictionbook", 4, named("fb2"), content, "fictionBook"],
  ["evernote", 2, named("enex"), content],
  ["table", 5, isTable, content, "csv"],
  [
    "notebook",
    1,
    ({ kind }) => kind._tag === "Other" && kind.mime === "application/x-ipynb+json",
    (file) => Effect.map(file.bytes, (source) => decode(source, "utf-8"))
  ],
  ["docbook", 1, isDocbook, content],
  ["latex", 6, isLatex, content],
  ["man", 5, isMan, content],
  ["rtf", 3, ({ kind }) => kind._tag === "Other" && kind.mime === "application/rtf", bytes],
  ["subtitles", 2, named("srt", "vtt"), content]
]

/** Longest title, in characters: it is embedded with each passage, and a longer one is a markup error. */
const longestTitle = 300

const toDocument = ({ isLinks, marks, metadata, text, title }: Extracted): LoadedDocument => ({
  _tag: "Loaded",
  content: text,
  format: "markdown",
  title: title?.slice(0, longestTitle).replace(/[\ud800-\udbff]$/, ""),
  metadata: withinLimits(metadata),
  marks,
  ...(isLinks === true && { aside: "only links" })
})

/** All formats; the first that accepts a file reads it, so the last one takes the rest. */
export const formats = (extract: Extract): ReadonlyArray<FileFormat> => {
  const extracted = extractables.map(([name, version, accepts, source, kind = name as Kind]): FileFormat => ({
    name,
    version,
    accepts,
    load: (file) =>
      Stream.fromEffect(
        Effect.flatMap(source(file), (given) => Effect.map(extract(file.path, kind, given), toDocument))
      )
  }))
  const before = [JsonLines.format, Records.format, ...extracted]
  const after = [Markdown.format, code, plain]
  return [...before, Mail.format(extract, toDocument, [...before, ...after]), ...after]
}
