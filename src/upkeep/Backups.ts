import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { StoreUnavailable } from "../Store.ts"

/** What is in a backup. */
export interface Backup {
  readonly bytes: number
  readonly collections: number
  readonly documents: number
  readonly passages: number
}

/** A backup that cannot be made or put in place as asked; nothing was changed. */
export class BackupRefused extends Data.TaggedError("BackupRefused")<{ readonly reason: string }> {
  override get message() {
    return this.reason
  }
}

/** Copies a store out as a whole, and puts such a copy in its place; the store need not be open, nor in order. */
export class Backups extends Context.Tag("clew/Backups")<
  Backups,
  {
    /**
     * Writes the store as it is at this moment, while others write, to a file that only its owner can read. An older
     * backup there is replaced at once or not at all; any other file is refused.
     */
    readonly backup: (file: string) => Effect.Effect<Backup, BackupRefused | StoreUnavailable>
    /**
     * Verifies a backup and puts it in the store's place at once; until then the store stays as it was. Refuses while
     * another program has the store open for writing.
     */
    readonly restore: (file: string) => Effect.Effect<Backup, BackupRefused | StoreUnavailable>
  }
>() {}
