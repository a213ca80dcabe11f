/** What the file system tells of a file's state without reading it; decimal where JavaScript's numbers end. */
export interface FileStamp {
  readonly size: number
  /** Nanoseconds since the epoch. */
  readonly modified: string
  readonly changed: string
  readonly inode: string
}

/** What became of a file: `unfinished` means that it has to be read again. */
export type FileOutcome = "indexed" | "skipped" | "failed" | "unfinished"

/** A file as a run has found and read it. */
export interface FileRecord {
  readonly path: string
  /** From before it was read; unset where it does not prove that the file is as it was. */
  readonly stamp: FileStamp | undefined
  /** Who read it, and in which version; see `Loader`. */
  readonly reader: string | undefined
  /** How its documents were cut into passages. */
  readonly settings: string
  readonly outcome: FileOutcome
  /** Why it was skipped or failed. */
  readonly reason?: string | undefined
  readonly documents: number
  /** It is of the kind that holds many documents. */
  readonly many: boolean
}

/** What is known of a file that was indexed, or passed over for what is in it. */
export interface KnownFile extends FileRecord {
  /** A small number of its own, for as long as it is known. */
  readonly id: number
  /** The run that wrote this; 0: something has changed its documents since. */
  readonly run: number
}

/** What a run writes of a file, and the run that the file was of when this one looked. */
export interface FileChange extends FileRecord {
  readonly expected: number | undefined
}

export const sameStamp = (a: FileStamp, b: FileStamp): boolean =>
  a.size === b.size && a.modified === b.modified && a.changed === b.changed && a.inode === b.inode

/** The coarsest steps in which file systems count time, in milliseconds. */
const coarsest = 2000

/**
 * Whether a file that still looks like this must be the same. Not where it was written just before it was looked at: a
 * later change could fall into the same tick of the file system's clock (git's "racily clean").
 */
export const isProof = ({ changed, modified }: FileStamp, lookedAt: number): boolean =>
  [modified, changed].every((ns) => Number(BigInt(ns) / 1_000_000n) < lookedAt - coarsest)

/** A path that was given to `index`, with what else was said. */
export interface IndexedRoot {
  readonly path: string
  readonly include: ReadonlyArray<string>
  readonly exclude: ReadonlyArray<string>
}
