import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import { type Backup, BackupRefused, Backups } from "../upkeep/Backups.ts"
import { StoreUnavailable } from "../Store.ts"
import type { SqliteClient } from "./sqlite/client.ts"
import { client, open } from "./sqlite/connect.ts"
import { isBusy, isDamage, typed } from "./sqlite/errors.ts"
import { alone, inUse, move, partial, trying } from "./sqlite/file/exchange.ts"
import { applicationId, inspect } from "./sqlite/file/inspect.ts"
import { belongs, markSql } from "./sqlite/file/marks.ts"
import { besides, isSamePlace, kindOf, statOf } from "./sqlite/file/place.ts"
import * as RawFile from "./sqlite/file/RawFile.ts"
import { isPresent } from "./sqlite/sweep.ts"

const refuse = (reason: string) => Effect.fail(new BackupRefused({ reason }))

/** Copies a database as of one transaction with SQLite's own backup, a few pages at a time. */
const copy = (sql: SqliteClient, target: string) =>
  Effect.gen(function* () {
    // Without a transaction, every concurrent write would restart the copy.
    yield* sql`BEGIN`
    yield* sql`SELECT count(*) FROM sqlite_schema`
    yield* Effect.ensuring(sql.backup(target), Effect.ignore(sql`ROLLBACK`))
  })

const isWritable = (filename: string): boolean => {
  try {
    fs.accessSync(filename, fs.constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Opens the index for writing if possible; others may write while the copy reads through the WAL. */
const copyOfIndex = (filename: string, target: string) =>
  Effect.scoped(
    Effect.flatMap(open({ filename, mode: isWritable(filename) ? "unchanged" : "readonly" }), ({ sql }) =>
      copy(sql, target)
    )
  )

/** Only reads, whatever the schema version. */
const copyOfBackup = (filename: string, target: string) =>
  Effect.scoped(
    inspect(filename, "readonly").pipe(
      Effect.zipRight(client(filename, true)),
      Effect.flatMap((sql) => copy(sql, target))
    )
  )

/** Makes a copy an index of its own: one file without a WAL. Returns its contents; with `thorough`, refuses damage. */
const seal = (
  filename: string,
  thorough: boolean
): Effect.Effect<Backup, BackupRefused | StoreUnavailable | SqlError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const sql = yield* client(filename, false)
      if (thorough) {
        const found = [
          ...(yield* sql.unsafe<Record<string, string>>("PRAGMA integrity_check(1)")).map(
            (row) => Object.values(row)[0]
          ),
          ...(yield* sql.unsafe<{ readonly table: string }>("PRAGMA foreign_key_check")).map(
            ({ table }) => `a row of ${table} refers to a missing row`
          )
        ].filter((line) => line !== "ok")
        if (found.length > 0) return yield* refuse(found[0]!)
      }
      yield* sql`PRAGMA journal_mode = DELETE`
      const [marked] = yield* sql.unsafe("SELECT 1 FROM sqlite_schema WHERE name = 'file_mark'")
      if (marked !== undefined) yield* sql.unsafe(markSql.fresh)
      const [found] = yield* sql.unsafe<Omit<Backup, "bytes">>(
        `SELECT count(*) AS collections, coalesce(sum(documents), 0) AS documents, coalesce(sum(passages), 0) AS passages
         FROM collections WHERE ${isPresent}`
      )
      return { ...found!, bytes: fs.statSync(filename).size }
    })
  )

const isOurs = (filename: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const stat = statOf(filename)
      if (stat === undefined || kindOf(stat) !== undefined) return false
      const raw = yield* Effect.acquireRelease(
        trying(filename, () => RawFile.acquire(filename, stat)),
        (raw) => Effect.sync(() => RawFile.release(raw))
      )
      return RawFile.headerOf(raw.fd)?.applicationId === applicationId
    })
  )

const backup = (filename: string, target: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const there = yield* trying(target, () => statOf(target))
      const own = yield* trying(filename, () => statOf(filename))
      if (there !== undefined && own !== undefined && isSamePlace(there, own)) {
        return yield* refuse(`${target} is the index itself; name another file`)
      }
      if (there !== undefined && !(yield* isOurs(target))) {
        return yield* refuse(`${target} already exists and is not a Clew backup; name another file, or move it away`)
      }
      // A backup is one file; an index in use has a WAL beside it.
      if (yield* trying(target, () => statOf(`${target}-wal`) !== undefined)) {
        return yield* refuse(`${target} is an index in use, or was not closed; name another file`)
      }
      const made = yield* partial(target)
      yield* copyOfIndex(filename, made)
      const backup = yield* seal(made, false)
      yield* trying(target, () => move(made, target))
      return backup
    })
  )

/**
 * Holds the only connection to the old index, and its lock, until the scope ends; other processes wait, and then find
 * the new file. Does nothing if the old index is damaged or its WAL belongs to another file: then there is nothing to
 * lose.
 */
const holdOld = (filename: string): Effect.Effect<void, BackupRefused | StoreUnavailable, Scope.Scope> =>
  Effect.gen(function* () {
    const stat = yield* trying(filename, () => statOf(filename))
    if (stat === undefined || stat.size === 0n) return
    if (!(yield* isOurs(filename))) {
      return yield* refuse(
        `${filename} is not a Clew index, or too damaged to recognise; move it away, then restore again`
      )
    }
    const raw = yield* Effect.acquireRelease(
      trying(filename, () => RawFile.acquire(filename, stat)),
      (raw) => Effect.sync(() => RawFile.release(raw))
    )
    if (!belongs(filename, raw.fd)) return
    yield* Effect.catchAll(alone(filename), (error) =>
      isBusy(error)
        ? refuse(`${inUse(filename)}; stop it, then restore again`)
        : Effect.logWarning(`The replaced index is damaged: ${String(error)}`)
    )
  })

const restore = (filename: string, source: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const own = yield* trying(filename, () => statOf(filename))
      const given = yield* trying(source, () => statOf(source))
      if (own !== undefined && given !== undefined && isSamePlace(own, given)) {
        return yield* refuse(`${source} is the index itself; name a backup`)
      }
      if (given === undefined) return yield* refuse(`There is no backup at ${source}`)
      const kind = given.size === 0n && given.isFile() ? "empty" : kindOf(given)
      if (kind !== undefined || !(yield* isOurs(source))) {
        return yield* refuse(
          `${source} is ${kind ?? "not a Clew backup"}; name a file that \`clew backup\` made. Nothing was changed`
        )
      }
      const made = yield* partial(filename)
      const backup = yield* Effect.zipRight(copyOfBackup(source, made), seal(made, true)).pipe(
        Effect.catchIf(isDamage, (error) => refuse(String((error.cause as Error).message))),
        Effect.catchTag("BackupRefused", ({ reason }) =>
          refuse(
            `The backup ${source} is damaged (${reason}) and was not restored. Use another one, or run ` +
              `\`clew doctor --db ${source}\` to see what can be repaired`
          )
        )
      )
      yield* holdOld(filename)
      yield* trying(filename, () => {
        move(made, filename)
        for (const file of besides(filename)) fs.rmSync(file, { force: true })
      })
      return backup
    })
  )

/** Backups of an index in an SQLite file, by its path. */
export const layer = (filename: string): Layer.Layer<Backups> =>
  Layer.succeed(Backups, {
    backup: Effect.fn("Backups.backup")((target) => typed(filename)(backup(filename, target))),
    restore: Effect.fn("Backups.restore")((source) => typed(source)(restore(filename, source)))
  })
