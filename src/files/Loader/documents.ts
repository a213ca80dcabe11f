import * as Effect from "effect/Effect"
import type { FileFormat, SourceFile } from "../Loader.ts"
import { extension } from "../../chunking/format.ts"
import { charset, decodeAs } from "./charset.ts"
import { content } from "./content.ts"
import { decode } from "./decode.ts"
import type { Extract } from "./Extractor.ts"
import { asBytes, asText, type Extractable, format, mimes, named } from "./Extracting.ts"

const openXml = (kind: string) => `application/vnd.openxmlformats-officedocument.${kind}`
const oasis = (kind: string) => `application/vnd.oasis.opendocument.${kind}`

const htmlEndings = new Set(["html", "htm", "xhtml", "xht"])

/** HTML by its name, or by its first element if the name does not decide. */
const isHtml = (file: SourceFile): boolean => {
  const ending = extension(file.path) ?? ""
  if (htmlEndings.has(ending)) return file.kind._tag === "Text" || charset(file.head) !== undefined
  if (file.kind._tag !== "Text" || !(ending === "" || ending === "txt")) return false
  return /^\s*<(?:!doctype html|html)[\s>]/i.test(decode(file.head.subarray(0, 1024), file.kind.encoding))
}

/** A page's declared encoding applies only if the page is not UTF-8. */
const pageText: Extractable["source"] = (file) => {
  const label = charset(file.head)
  return label === undefined ? content(file) : Effect.map(file.bytes, (bytes) => decodeAs(bytes, label))
}

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

const extractables: ReadonlyArray<Extractable> = [
  { name: "html", kind: "html", version: 4, accepts: isHtml, source: pageText },
  { name: "pdf", kind: "pdf", version: 5, accepts: mimes(["pdf"], "application/pdf"), source: asBytes },
  {
    name: "docx",
    kind: "docx",
    version: 4,
    accepts: mimes(["docx"], openXml("wordprocessingml.document")),
    source: asBytes
  },
  {
    name: "opendocument",
    kind: "openDocument",
    version: 3,
    accepts: mimes(["odt", "odp", "ods"], oasis("text"), oasis("presentation"), oasis("spreadsheet")),
    source: asBytes
  },
  {
    name: "pptx",
    kind: "pptx",
    version: 2,
    accepts: mimes(["pptx"], openXml("presentationml.presentation")),
    source: asBytes
  },
  { name: "xlsx", kind: "xlsx", version: 2, accepts: mimes(["xlsx"], openXml("spreadsheetml.sheet")), source: asBytes },
  { name: "epub", kind: "epub", version: 4, accepts: mimes(["epub"], "application/epub+zip"), source: asBytes },
  { name: "fictionbook", kind: "fictionBook", version: 4, accepts: named("fb2"), source: asText },
  { name: "table", kind: "csv", version: 2, accepts: isTable, source: asText },
  {
    name: "notebook",
    kind: "notebook",
    accepts: ({ kind }) => kind._tag === "Other" && kind.mime === "application/x-ipynb+json",
    source: (file) => Effect.map(file.bytes, (bytes) => decode(bytes, "utf-8"))
  },
  { name: "latex", kind: "latex", version: 2, accepts: isLatex, source: asText },
  { name: "man", kind: "man", version: 2, accepts: isMan, source: asText },
  { name: "subtitles", kind: "subtitles", accepts: named("srt", "vtt"), source: asText }
]

/** Formats whose text a worker extracts. */
export const formats = (extract: Extract): ReadonlyArray<FileFormat> =>
  extractables.map((each) => format(extract, each))
