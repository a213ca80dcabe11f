import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { basename, dirname } from "node:path"
import { type FileFormat, Loader, type OpenedFile, type SourceFile, Unreadable, Unsupported } from "../Loader.ts"
import { bytesOf, kindOf, openBytes, pieces, readHead, tooLarge } from "./read.ts"
import * as Extractor from "./Extractor.ts"

export interface Options {
  /** In order of precedence. */
  readonly formats: (extract: Extractor.Extract) => ReadonlyArray<FileFormat>
  /** Size limit of a file that is read whole; streaming formats are exempt. */
  readonly maxFileBytes: number
  /** Limits of the worker that extracts foreign formats. */
  readonly extraction: Extractor.Limits
  /** The index, which is never read as a document: opening and closing its files would release SQLite's locks on them. */
  readonly index?: string | undefined
}

const ownFiles = /^(-watch(-[0-9a-f]{8})?)?(-wal|-shm|-journal)?$/

/** Whether this is a file of the index, whatever path led to it. */
const isOwn = Effect.fnUntraced(function* (fs: FileSystem.FileSystem, path: string, index: string) {
  const real = yield* fs.realPath(path)
  const name = basename(index)
  if (!basename(real).startsWith(name) || !ownFiles.test(basename(real).slice(name.length))) return false
  return (yield* fs.realPath(dirname(index))) === dirname(real)
})

const reasons: Record<string, string> = {
  NotFound: "no such file",
  PermissionDenied: "permission denied",
  Busy: "the file is busy",
  BadResource: "not a file that can be read"
}

const reasonOf = (error: PlatformError): string =>
  (error._tag === "SystemError" ? reasons[error.reason] : undefined) ?? error.description ?? error.message

const openFile = Effect.fn("Loader.open")(function* (
  fs: FileSystem.FileSystem,
  path: string,
  limit: number,
  index: string | undefined
) {
  const unreadable = (error: PlatformError) => new Unreadable({ path, reason: reasonOf(error) })
  if (index !== undefined && (yield* Effect.mapError(isOwn(fs, path, index), unreadable))) {
    return yield* new Unsupported({ path, reason: "a file of the index" })
  }
  const info = yield* Effect.mapError(fs.stat(path), unreadable)
  // Opening a pipe would block until a writer comes.
  if (info.type !== "File") {
    return yield* new Unsupported({ path, reason: info.type === "Directory" ? "a folder" : "not a regular file" })
  }
  const size = Number(info.size)
  const handle = yield* Effect.mapError(fs.open(path, { flag: "r" }), unreadable)
  const head = yield* Effect.mapError(readHead(handle, size), unreadable)
  if (head.length === 0) return yield* new Unsupported({ path, reason: "empty" })
  const stream = Stream.mapError(pieces(handle), unreadable)
  const rest = bytesOf(path, stream, limit)
  const bytes = size > limit ? tooLarge(path, size, limit) : head.length === size ? Effect.succeed(head) : rest
  return { path, size, head, kind: yield* kindOf(path, head), bytes, stream } satisfies SourceFile
})

const packed = new Set(["application/gzip", "application/zstd"])

const isPacked = ({ kind }: SourceFile): boolean => kind._tag === "Other" && packed.has(kind.mime ?? "")

/** Reads documents from the file system, and from given bytes, with these formats. */
export const layer = ({
  extraction,
  maxFileBytes,
  ...options
}: Options): Layer.Layer<Loader, never, FileSystem.FileSystem> =>
  Layer.scoped(
    Loader,
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const extract = yield* Extractor.make(extraction)
      const formats = options.formats(extract)
      // An earlier format may take files from a later one, so the names of the earlier ones count too.
      const readers = formats.map(({ name, version = 1 }, index) =>
        [`${name} ${version}`, ...formats.slice(0, index).map((before) => before.name)].join(", not ")
      )
      const versions = formats.map(({ name, version = 1 }) => `${name} ${version}`).join(", ")
      const unsupported = `none of ${versions}`
      const { parseMemoryMb, parseTimeoutMs } = extraction
      const limited = `limited to ${maxFileBytes} bytes, ${parseTimeoutMs} ms, ${parseMemoryMb} MiB; ${versions}`
      const current = new Set([...readers, unsupported, limited])
      /** Reads the file inside a gzip or zstd file, under its own name. */
      const unpacked = Effect.fnUntraced(function* (file: SourceFile) {
        const { attachments = [] } = yield* extract(file.path, "compressed", yield* file.bytes)
        return yield* openBytes(file.path.replace(/\.[^./\\]{1,10}$/, ""), attachments[0]!.bytes, maxFileBytes)
      })
      const read = (file: SourceFile): Effect.Effect<OpenedFile, Unreadable | Unsupported> => {
        if (!isPacked(file)) return readAs(file)
        const named = (error: Unreadable | Unsupported) =>
          error._tag === "Unsupported"
            ? new Unsupported({ path: file.path, reason: error.reason, isLimit: error.isLimit })
            : error
        return Effect.flatMap(unpacked(file), readAs).pipe(
          Effect.map(({ documents, reader }) => ({ reader, documents: Stream.mapError(documents, named) })),
          Effect.mapError(named)
        )
      }
      const readAs = Effect.fnUntraced(function* (file: SourceFile) {
        const index = formats.findIndex((format) => format.accepts(file))
        if (index >= 0) return { reader: readers[index]!, documents: formats[index]!.load(file) } satisfies OpenedFile
        const reason = file.kind._tag === "Other" ? file.kind.reason : "a kind of text that Clew does not read"
        return yield* new Unsupported({ path: file.path, reason })
      })
      return {
        open: (path) => Effect.flatMap(openFile(fs, path, maxFileBytes, options.index), read),
        unsupported,
        limited,
        isCurrent: (reader) => current.has(reader),
        fromText: ({ bytes, name }) =>
          openBytes(name, bytes, maxFileBytes).pipe(
            Effect.flatMap(read),
            Effect.map(({ documents }) => documents),
            Stream.unwrap
          )
      }
    })
  )
