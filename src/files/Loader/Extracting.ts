import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { FileFormat, Loaded, LoadedDocument, SourceFile, Unreadable, Unsupported } from "../Loader.ts"
import { extension } from "../../chunking/format.ts"
import { content } from "./content.ts"
import type { Source } from "./extract/extract.ts"
import type { Read } from "./extract/Extracted.ts"
import type { Kind } from "./extract/kinds.ts"
import type { Extract } from "./Extractor.ts"

/** A format that a worker extracts, and how to recognise its files. */
export interface Extractable {
  readonly name: string
  readonly kind: Kind
  /** See `FileFormat`. */
  readonly version?: number
  readonly accepts: (file: SourceFile) => boolean
  /** Bytes if the format is not text. */
  readonly source: (file: SourceFile) => Effect.Effect<Source, Unreadable | Unsupported>
}

const isText = (file: SourceFile): boolean => file.kind._tag === "Text"

/** Accepts text with one of these extensions. */
export const named =
  (...endings: ReadonlyArray<string>) =>
  (file: SourceFile): boolean =>
    isText(file) && endings.includes(extension(file.path) ?? "")

/** Accepts bytes of this media type, or an archive whose name has one of these extensions. */
export const mimes =
  (ending: ReadonlyArray<string>, ...types: ReadonlyArray<string>) =>
  ({ kind, path }: SourceFile): boolean =>
    kind._tag === "Other" &&
    (types.includes(kind.mime ?? "") || (kind.mime === "application/zip" && ending.includes(extension(path) ?? "")))

export const asText = (file: SourceFile): Effect.Effect<Source, Unreadable | Unsupported> => content(file)
export const asBytes = (file: SourceFile): Effect.Effect<Source, Unreadable | Unsupported> => file.bytes

/** Longest title, in characters: it is embedded with each passage, and a longer one is a markup error. */
const longestTitle = 300

export const toDocument = ({ marks, metadata, text, title }: Read): LoadedDocument => ({
  _tag: "Loaded",
  content: text,
  format: "markdown",
  title: title?.slice(0, longestTitle).replace(/[\ud800-\udbff]$/, ""),
  metadata,
  marks
})

/** One document a file. */
export const format = (extract: Extract, { accepts, kind, name, source, version }: Extractable): FileFormat => ({
  name,
  version,
  accepts: (file) => Effect.sync(() => accepts(file)),
  load: (file) =>
    Stream.fromEffect(
      Effect.flatMap(source(file), (given) => extract(file.path, kind, given)).pipe(
        Effect.map((read): Loaded => toDocument(read))
      )
    )
})
