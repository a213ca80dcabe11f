import * as Effect from "effect/Effect"
import { extension } from "../../text/format.ts"
import { decode } from "./decode.ts"
import type { Source } from "./extract/extract.ts"
import type { Attachment } from "./extract/Extracted.ts"
import type { Kind } from "./extract/kinds.ts"
import { kindOf } from "./kind.ts"
import { headBytes } from "./read.ts"

const byMime: Readonly<Record<string, Kind>> = {
  "application/pdf": "pdf",
  "application/epub+zip": "epub",
  "application/x-ipynb+json": "notebook",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
  "application/vnd.oasis.opendocument.text": "openDocument",
  "application/vnd.oasis.opendocument.presentation": "openDocument",
  "application/vnd.oasis.opendocument.spreadsheet": "openDocument"
}

const byName: Readonly<Record<string, Kind>> = {
  html: "html",
  htm: "html",
  csv: "csv",
  tsv: "csv",
  srt: "subtitles",
  vtt: "subtitles"
}

/** How an attachment is read; undefined where it is not, as pictures are. */
export const attachmentKind = ({
  bytes,
  name
}: Attachment): Effect.Effect<{ readonly kind: Kind; readonly source: Source } | undefined> =>
  Effect.map(kindOf(name, bytes.subarray(0, headBytes)), (found) => {
    if (found._tag === "Other") {
      const kind = byMime[found.mime ?? ""]
      return kind === undefined ? undefined : { kind, source: kind === "notebook" ? decode(bytes, "utf-8") : bytes }
    }
    const kind = byName[extension(name) ?? ""]
    return kind === undefined ? undefined : { kind, source: decode(bytes, found.encoding) }
  })
