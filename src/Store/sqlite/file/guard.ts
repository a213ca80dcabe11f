import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { StoreUnavailable } from "../../../Store.ts"
import { schemaVersion } from "../schema.ts"
import { ioReason } from "./inspect.ts"
import { markSql, walSalt, wasOverwritten } from "./marks.ts"
import { isSamePlace, statOf } from "./place.ts"
import type { RawFile } from "./RawFile.ts"

type Checked<E = never> = Effect.Effect<void, E | SqlError | StoreUnavailable>

/** Checks around each transaction, so that no write to a lost file is acknowledged. */
export interface Guard {
  /** Runs first in each transaction. */
  readonly reading: Checked
  /** The same, while the write lock is held. */
  readonly writing: Checked
  /** Runs after a commit; `again` runs a follow-up transaction. */
  readonly written: (again: (effect: Checked) => Checked) => Checked
}

export const none: Guard = { reading: Effect.void, writing: Effect.void, written: () => Effect.void }

const fail = (reason: string) => Effect.fail(new StoreUnavailable({ reason }))

const replaced = (filename: string): string =>
  `The index ${filename} was removed or replaced while it was open, and the write was not stored; try again`

const overwritten = (filename: string): string =>
  `The index ${filename} was overwritten in place while it was open. Stop whatever has it open, ` +
  `delete ${filename}-wal and ${filename}-shm, and restore a backup with \`clew restore\``

const newer = (filename: string, version: number): string =>
  `A newer Clew has migrated ${filename} to schema ${version}, but this one supports ${schemaVersion}: restart with the newer version`

/** The guard of a connection's transactions; each connection has its own state. */
export const make = (sql: SqlClient.SqlClient, filename: string, file: RawFile): Guard => {
  let [modified, size] = [-1n, 0n]
  let marked: string | undefined

  const trying = <A>(use: () => A) => Effect.try({ try: use, catch: (error) => ioReason(filename, error) })

  const atItsPlace = Effect.flatMap(
    trying(() => statOf(filename)),
    (stat) => (stat === undefined || !isSamePlace(stat, file) ? fail(replaced(filename)) : Effect.succeed(stat))
  )

  // The file only changes when a WAL is copied back, so this check is rare.
  const asItWas = Effect.flatMap(atItsPlace, (stat) =>
    stat.mtimeNs === modified && stat.size === size
      ? Effect.void
      : Effect.gen(function* () {
          const [row] = yield* sql.unsafe<{ readonly now: string }>("SELECT lower(hex(now)) AS now FROM file_mark")
          const shrunk = stat.size < size ? stat.size : undefined
          if (yield* trying(() => wasOverwritten(filename, file.fd, { mark: row?.now, shrunk }))) {
            return yield* fail(overwritten(filename))
          }
          modified = stat.mtimeNs
          size = stat.size
        })
  )

  const sameSchema = Effect.flatMap(
    sql.unsafe<{ readonly user_version: number }>("PRAGMA user_version"),
    ([{ user_version: version } = { user_version: 0 }]) =>
      version === schemaVersion ? Effect.void : fail(newer(filename, version))
  )

  const mark = Effect.asVoid(sql.unsafe(markSql.next))
  const salt = trying(() => walSalt(filename))
  let markedNow = false

  return {
    reading: asItWas,
    writing: Effect.gen(function* () {
      yield* asItWas
      yield* sameSchema
      const before = yield* salt
      markedNow = before === undefined || before !== marked
      if (markedNow) yield* mark
    }),
    written: (again) =>
      Effect.gen(function* () {
        yield* atItsPlace
        const after = yield* salt
        // The commit began a new WAL.
        if (after !== marked && !markedNow) yield* again(mark)
        marked = after
      })
  }
}
