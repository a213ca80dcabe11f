import type { FileStamp } from "../model/File.ts"

export interface WalkOptions {
  /** Files and folders, absolute or relative to the working directory. */
  readonly paths: ReadonlyArray<string>
  /** Globs; a file, or a folder above it, must match one. */
  readonly include?: ReadonlyArray<string> | undefined
  /** Globs of files and folders to skip. */
  readonly exclude?: ReadonlyArray<string> | undefined
  /** Folders without links in their paths; links that lead out of them are not followed. */
  readonly within?: ReadonlyArray<string> | undefined
}

/**
 * Why an entry was skipped. `special` is a pipe, a socket or a device; `link` leads to something that is read at its own
 * place, or back up; `lock file` and `generated` are files that programs write for programs, by their names.
 */
export type SkipReason =
  | "ignored"
  | "hidden"
  | "excluded"
  | "special"
  | "link"
  | "lock file"
  | "generated"
  | "style sheet"

/** An event of a walk. Paths are absolute and normalised; a skipped folder is one event. */
export type WalkEvent =
  | {
      readonly _tag: "File"
      readonly path: string
      /** Taken before the file was handed on. */
      readonly stamp: FileStamp
      /** Whether it was given itself, or its own name is included: then it is read whatever it is. */
      readonly isNamed: boolean
    }
  | { readonly _tag: "Skipped"; readonly path: string; readonly reason: SkipReason }
  /** It cannot be read, or was given and does not exist. */
  | { readonly _tag: "Unreadable"; readonly path: string; readonly reason: string }
