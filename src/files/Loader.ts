import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { Format, Metadata } from "../model/Document.ts"
import type { FileStamp } from "../model/File.ts"
import type { Mark } from "../model/Locator.ts"

/** How to decode a text's bytes: a label of the WHATWG Encoding Standard. */
export type Encoding = string

/** What a file's first bytes show: text, or something else with its media type if known. */
export type Kind =
  | { readonly _tag: "Text"; readonly encoding: Encoding }
  | { readonly _tag: "Other"; readonly mime?: string | undefined; readonly reason: string }

/** A file to be read. */
export interface SourceFile {
  /** Absolute path, or the name given to a text that is in no file. */
  readonly path: string
  readonly size: number
  /** The first 64 KiB, or all of a shorter file; never empty. */
  readonly head: Uint8Array
  readonly kind: Kind
  /** The whole file; Unsupported if it exceeds the limit for files that are read whole. */
  readonly bytes: Effect.Effect<Uint8Array, Unreadable | Unsupported>
  /** The file from its start, in pieces, of any size. */
  readonly stream: Stream.Stream<Uint8Array, Unreadable>
}

/** A document read from a file. */
export interface LoadedDocument {
  readonly _tag: "Loaded"
  /** The record's name within a file of many; the document's source is then `<path>#<record>`. */
  readonly record?: string | undefined
  /** The record's line, if the file's records are lines: every passage is then cited by it. */
  readonly line?: number | undefined
  /** The decoded text, with its line ends and without a byte order mark; spans are offsets into it. */
  readonly content: string
  readonly format: Format
  readonly title?: string | undefined
  readonly metadata: Metadata
  /** Where parts of an extracted text come from, ordered by start; a text read as it is written has none. */
  readonly marks?: ReadonlyArray<Mark> | undefined
  /** Why a walk leaves it out, unless it is named: it is of use to programs, or only leads to other pages. */
  readonly aside?: string | undefined
}

/** A record or front matter that could not be read; the rest of its file is still read. */
export interface RejectedRecord {
  readonly _tag: "Rejected"
  readonly line: number
  readonly reason: string
  /** It could be read with higher limits. */
  readonly isLimit?: boolean | undefined
  /** It is only skipped: there is nothing to read in it. What was stored of this record before is gone, too. */
  readonly isEmpty?: boolean | undefined
  readonly record?: string | undefined
}

export type Loaded = LoadedDocument | RejectedRecord

/** The file could not be read at all. */
export class Unreadable extends Schema.TaggedError<Unreadable>()("Unreadable", {
  path: Schema.String,
  reason: Schema.String
}) {
  override get message() {
    return `${this.path}: ${this.reason}`
  }
}

/** The file is of a kind that Clew does not read: binary, empty, too large, or of an unknown type. */
export class Unsupported extends Schema.TaggedError<Unsupported>()("Unsupported", {
  path: Schema.String,
  reason: Schema.String,
  /** It could be read with higher limits. */
  isLimit: Schema.optional(Schema.Boolean)
}) {
  override get message() {
    return `${this.path}: ${this.reason}`
  }
}

/** A file format. The first format that accepts a file reads it; its bytes decide, its name only breaks ties. */
export interface FileFormat {
  readonly name: string
  /** Raised whenever it would read a file differently than before, so that its files are read again; 1 if unset. */
  readonly version?: number | undefined
  /** Decides by the head, the kind and the name; reads nothing further. */
  readonly accepts: (file: SourceFile) => boolean
  readonly load: (file: SourceFile) => Stream.Stream<Loaded, Unreadable | Unsupported>
}

/** An open file. */
export interface OpenedFile {
  /** Of the file that was opened: another may stand at its path by now. */
  readonly stamp: FileStamp
  readonly read: Effect.Effect<LoadedFile, Unreadable | Unsupported>
}

/** What is in a file, and what reads it. */
export interface LoadedFile {
  /** Names the format and its version; see `isCurrent`. */
  readonly reader: string
  /** In order; memory does not grow with the number of records. */
  readonly documents: Stream.Stream<Loaded, Unreadable | Unsupported>
}

/** Reads files into documents. */
export class Loader extends Context.Tag("clew/Loader")<
  Loader,
  {
    /** Opens a file until the scope closes, if it is in one of the folders `within`, which are paths without links. */
    readonly open: (
      path: string,
      within?: ReadonlyArray<string>
    ) => Effect.Effect<OpenedFile, Unreadable | Unsupported, Scope.Scope>
    /** The `reader` of a file that is `Unsupported`: names all formats. */
    readonly unsupported: string
    /** The `reader` of a file that is beyond a limit, or of which a part is: names all formats, and today's limits. */
    readonly limited: string
    /** Whether the same version of the same format would still read the file. */
    readonly isCurrent: (reader: string) => boolean
    /** The documents of bytes that are in no file, such as standard input; `name` replaces the path. */
    readonly fromText: (input: {
      readonly name: string
      readonly bytes: Uint8Array
    }) => Stream.Stream<Loaded, Unreadable | Unsupported>
  }
>() {}
