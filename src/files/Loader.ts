import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { Format, Metadata } from "../model/Document.ts"
import type { Mark } from "../model/Locator.ts"

/** How a text's bytes are to be read. */
export type Encoding = "utf-8" | "utf-16le" | "utf-16be" | "windows-1252"

/** What a file's first bytes say it is: text, or something else, with its media type where that is known. */
export type Kind =
  | { readonly _tag: "Text"; readonly encoding: Encoding }
  | { readonly _tag: "Other"; readonly mime?: string | undefined; readonly reason: string }

/** A file on its way in. */
export interface SourceFile {
  /** Absolute path, or the name a text from elsewhere was given. */
  readonly path: string
  readonly size: number
  /** The first 64 KiB, or all of a shorter file; never empty. */
  readonly head: Uint8Array
  readonly kind: Kind
  /** The whole file; Unsupported when it is larger than the limit for files that are read whole. */
  readonly bytes: Effect.Effect<Uint8Array, Unreadable | Unsupported>
  /** The file from its start, in pieces, whatever its size. */
  readonly stream: Stream.Stream<Uint8Array, Unreadable>
}

/** A document read out of a file. */
export interface LoadedDocument {
  readonly _tag: "Loaded"
  /** Names the record within a file of many; the document's source is then `<path>#<record>`. */
  readonly record?: string | undefined
  /** The record's line, for files whose records are lines: every passage is then cited by it. */
  readonly line?: number | undefined
  /** The decoded text, line ends as they are, without a byte order mark; spans are offsets into it. */
  readonly content: string
  readonly format: Format
  readonly title?: string | undefined
  readonly metadata: Metadata
  /** Where stretches of an extracted text come from, in order of their start; a text read as it is written has none. */
  readonly marks?: ReadonlyArray<Mark> | undefined
}

/** A record, or a document's front matter, that could not be read; the rest of its file goes on. */
export interface RejectedRecord {
  readonly _tag: "Rejected"
  readonly line: number
  readonly reason: string
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

/** The file is of no kind that is read: binary, empty, too large, or of an unknown type. */
export class Unsupported extends Schema.TaggedError<Unsupported>()("Unsupported", {
  path: Schema.String,
  reason: Schema.String
}) {
  override get message() {
    return `${this.path}: ${this.reason}`
  }
}

/** One kind of file. The first format that accepts a file reads it; its bytes decide, its name only breaks ties. */
export interface FileFormat {
  readonly name: string
  /** Raised whenever a file would come out otherwise than before, so that files it has read are read again; 1 if unset. */
  readonly version?: number | undefined
  /** Judges by the head, the kind and the name; reads nothing further. */
  readonly accepts: (file: SourceFile) => Effect.Effect<boolean>
  readonly load: (file: SourceFile) => Stream.Stream<Loaded, Unreadable | Unsupported>
}

/** A file that was opened, and by whom it is read. */
export interface OpenedFile {
  /** Names the format and its version; see `isCurrent`. */
  readonly reader: string
  readonly documents: Stream.Stream<Loaded, Unreadable | Unsupported>
}

/** Bytes to documents. */
export class Loader extends Context.Tag("clew/Loader")<
  Loader,
  {
    /** A file, open as long as the scope. */
    readonly open: (path: string) => Effect.Effect<OpenedFile, Unreadable | Unsupported, Scope.Scope>
    /** Who has read a file that is `Unsupported`: all formats there are, within today's limits. */
    readonly nobody: string
    /** Whether a file would still be read by the same format in the same version. */
    readonly isCurrent: (reader: string) => boolean
    /** The documents of one file, in order; memory does not grow with a file of many records. */
    readonly load: (path: string) => Stream.Stream<Loaded, Unreadable | Unsupported>
    /** The documents of bytes that are in no file, such as standard input; `name` plays the part of a path. */
    readonly fromText: (input: {
      readonly name: string
      readonly bytes: Uint8Array
    }) => Stream.Stream<Loaded, Unreadable | Unsupported>
  }
>() {}
