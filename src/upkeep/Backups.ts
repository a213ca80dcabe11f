import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { StoreUnavailable } from "../Store.ts"

/** The contents of a backup. */
export interface Backup {
  readonly bytes: number
  readonly collections: number
  readonly documents: number
  readonly passages: number
}

/** A backup could not be made or restored; nothing was changed. */
export class BackupRefused extends Data.TaggedError("BackupRefused")<{ readonly reason: string }> {
  override get message() {
    return this.reason
  }
}

/** Copies a whole store, and restores such a copy; the store need not be open or intact. */
export class Backups extends Context.Tag("clew/Backups")<
  Backups,
  {
    /**
     * Writes the store's current state, while others write, to a file that only its owner can read, and checks it. It
     * then replaces an older backup atomically; one that is damaged replaces nothing. With `keep`, older ones stay as
     * FILE.1, FILE.2 and so on, so many in all. Refuses to replace any other file.
     */
    readonly backup: (
      file: string,
      options?: { readonly keep?: number | undefined }
    ) => Effect.Effect<Backup, BackupRefused | StoreUnavailable>
    /** Checks a backup: its pages, references, and the checksums of documents and vectors. Writes nothing. */
    readonly check: (file: string) => Effect.Effect<Backup, BackupRefused | StoreUnavailable>
    /**
     * Verifies a backup and replaces the store with it atomically; until then the store stays as it was. Refuses while
     * another program has the store open for writing.
     */
    readonly restore: (file: string) => Effect.Effect<Backup, BackupRefused | StoreUnavailable>
  }
>() {}
