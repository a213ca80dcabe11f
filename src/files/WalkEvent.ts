import type { FileStamp } from "../model/File.ts"

export interface WalkOptions {
  /** Files and folders, absolute or relative to the working directory. */
  readonly paths: ReadonlyArray<string>
  /** Globs, of which a file or a folder above it has to match one. */
  readonly include?: ReadonlyArray<string> | undefined
  /** Globs of files and folders to pass over. */
  readonly exclude?: ReadonlyArray<string> | undefined
}

/**
 * Why an entry was passed over: `special` is a pipe, a socket or a device; `link` leads to what is read at its own
 * place, or back up; `lock file` and `generated` are what programs write for programs, by their names.
 */
export type SkipReason = "ignored" | "hidden" | "excluded" | "special" | "link" | "lock file" | "generated"

/** What a walk comes upon. Paths are absolute and normalised; a folder that is passed over is one event. */
export type WalkEvent =
  | {
      readonly _tag: "File"
      readonly path: string
      readonly size: number
      /** As it was before it was handed on. */
      readonly stamp: FileStamp
      /** The path given that led to it. */
      readonly root: string
    }
  | { readonly _tag: "Skipped"; readonly path: string; readonly reason: SkipReason }
  | { readonly _tag: "Unreadable"; readonly path: string; readonly reason: string }
  /** A path given that is not there. */
  | { readonly _tag: "RootMissing"; readonly path: string; readonly reason: string }
