import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { basename, dirname } from "node:path"
import {
  type FileFormat,
  type Loaded,
  Loader,
  type LoadedFile,
  type SourceFile,
  Unreadable,
  Unsupported
} from "../Loader.ts"
import { isBelow } from "../below.ts"
import { Disk, type DiskFailure, type FileTree, inWords, leadingOut, type OpenFile } from "../Disk.ts"
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
const isOwn = Effect.fnUntraced(function* ({ real }: FileTree, path: string, index: string) {
  const found = yield* real(path)
  const name = basename(index)
  if (!basename(found).startsWith(name) || !ownFiles.test(basename(found).slice(name.length))) return false
  return (yield* real(dirname(index))) === dirname(found)
})

const unreadable = (path: string) => (failure: DiskFailure) => new Unreadable({ path, reason: inWords(failure) })

const openFile = Effect.fn("Loader.open")(function* (
  path: string,
  within: ReadonlyArray<string> | undefined,
  index: string | undefined
) {
  const disk = yield* Disk
  if (index !== undefined && (yield* Effect.mapError(isOwn(disk, path, index), unreadable(path)))) {
    return yield* new Unsupported({ path, reason: "a file of the index" })
  }
  const file = yield* Effect.mapError(disk.open(path), unreadable(path))
  // What stood at the path when it was found may have been exchanged for something else since.
  const { type } = file.entry
  if (type !== "file")
    return yield* new Unreadable({ path, reason: type === "folder" ? "a folder" : "not a regular file" })
  if (within !== undefined && !isBelow(yield* Effect.mapError(file.real, unreadable(path)), within)) {
    return yield* new Unreadable({ path, reason: leadingOut })
  }
  return file
})

const sourceOf = Effect.fnUntraced(function* (path: string, file: OpenFile, limit: number) {
  const { size } = file.entry.stamp
  const head = yield* Effect.mapError(readHead(file, size), unreadable(path))
  if (head.length === 0) return yield* new Unsupported({ path, reason: "empty" })
  const stream = Stream.mapError(pieces(file), unreadable(path))
  const rest = bytesOf(path, stream, size, limit)
  const bytes = size > limit ? tooLarge(path, size, limit) : head.length === size ? Effect.succeed(head) : rest
  return { path, size, head, kind: yield* kindOf(path, head), bytes, stream } satisfies SourceFile
})

const packed = new Set(["application/gzip", "application/zstd"])

/** Refuses a text whose passages would take more memory than there is: the system would end the process, without a word. */
const bearable =
  (longest: number) =>
  (loaded: Loaded): Loaded =>
    loaded._tag === "Loaded" && loaded.content.length > longest
      ? {
          _tag: "Rejected",
          line: loaded.line ?? 1,
          reason:
            `its text has ${loaded.content.length} characters, and this process has the memory to index ${longest} at once: ` +
            "split the file, or give its container or machine more",
          isLimit: true
        }
      : loaded

const isPacked = ({ kind }: SourceFile): boolean => kind._tag === "Other" && packed.has(kind.mime ?? "")

/** Reads documents from the file system, and from given bytes, with these formats. */
export const layer = ({ extraction, maxFileBytes, ...options }: Options): Layer.Layer<Loader> =>
  Layer.scoped(
    Loader,
    Effect.gen(function* () {
      const extract = yield* Extractor.make(extraction)
      const formats = options.formats(extract)
      // An earlier format may take files from a later one, so the names of the earlier ones count too.
      const readers = formats.map(({ name, version = 1 }, index) =>
        [`${name} ${version}`, ...formats.slice(0, index).map((before) => before.name)].join(", not ")
      )
      const versions = formats.map(({ name, version = 1 }) => `${name} ${version}`).join(", ")
      const unsupported = `none of ${versions}`
      const { parseMemoryMb, parseTimeoutMs } = extraction
      const longest = Extractor.longest()
      const limited = `limited to ${maxFileBytes} bytes, ${parseTimeoutMs} ms, ${Extractor.allowance(parseMemoryMb)} MiB, ${longest} characters; ${versions}`
      const current = new Set([...readers, unsupported, limited])
      /** Reads the file inside a gzip or zstd file, under its own name. */
      const unpacked = Effect.fnUntraced(function* (file: SourceFile) {
        const { attachments = [] } = yield* extract(file.path, "compressed", yield* file.bytes)
        return yield* openBytes(file.path.replace(/\.[^./\\]{1,10}$/, ""), attachments[0]!.bytes, maxFileBytes)
      })
      const read = (file: SourceFile): Effect.Effect<LoadedFile, Unreadable | Unsupported> => {
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
        if (index >= 0) {
          const documents = Stream.map(formats[index]!.load(file), bearable(longest))
          return { reader: readers[index]!, documents } satisfies LoadedFile
        }
        const reason = file.kind._tag === "Other" ? file.kind.reason : "a kind of text that Clew does not read"
        return yield* new Unsupported({ path: file.path, reason })
      })
      return {
        open: (path, within) =>
          Effect.map(openFile(path, within, options.index), (file) => ({
            stamp: file.entry.stamp,
            read: Effect.flatMap(sourceOf(path, file, maxFileBytes), read)
          })),
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
