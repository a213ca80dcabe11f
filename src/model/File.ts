/**
 * A file's state as the file system reports it, without reading the file; decimal strings for numbers beyond
 * JavaScript's.
 */
export interface FileStamp {
  readonly size: number
  /** Nanoseconds since the epoch. */
  readonly modified: string
  readonly changed: string
  readonly inode: string
}

/** The outcome of reading a file; `unfinished` means that it must be read again. */
export type FileOutcome = "indexed" | "skipped" | "failed" | "unfinished"

/** A file as a run has found and read it. */
interface FileRecord {
  readonly path: string
  /** Taken before reading; undefined if it does not prove that the file is unchanged. */
  readonly stamp: FileStamp | undefined
  /** The format that read it, and its version; see `Loader`. */
  readonly reader: string | undefined
  /** How its documents were cut into passages. */
  readonly settings: string
  readonly outcome: FileOutcome
  /** Why it was skipped or failed. */
  readonly reason?: string | undefined
  readonly documents: number
  /** Its format holds many documents. */
  readonly many: boolean
}

/** The record of a file that was indexed, or skipped for its content. */
export interface KnownFile extends FileRecord {
  /** A small number that identifies it while the record exists. */
  readonly id: number
  /** The run that wrote this; 0 if its documents have changed since. */
  readonly run: number
}

/** What a run writes about a file, and the run recorded for it before. */
export interface FileChange extends FileRecord {
  readonly expected: number | undefined
}

export const sameStamp = (a: FileStamp, b: FileStamp): boolean =>
  a.size === b.size && a.modified === b.modified && a.changed === b.changed && a.inode === b.inode

/** The coarsest clock resolution of file systems, in milliseconds. */
const coarsest = 2000

/**
 * Whether an equal stamp proves that a file is unchanged. Not if it was written just before the stamp was taken: a
 * later change could fall into the same tick of the file system's clock (git's "racily clean").
 */
export const isProof = ({ changed, modified }: FileStamp, lookedAt: number): boolean =>
  [modified, changed].every((ns) => Number(BigInt(ns) / 1_000_000n) < lookedAt - coarsest)

/** A path given to `index`, with its globs. */
export interface IndexedRoot {
  readonly path: string
  readonly include: ReadonlyArray<string>
  readonly exclude: ReadonlyArray<string>
}
