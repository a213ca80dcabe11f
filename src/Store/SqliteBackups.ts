import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import * as path from "node:path"
import { endedBySignals } from "../runtime/signals.ts"
import { documents } from "./examine/documents.ts"
import { schemaVersion } from "./sqlite/schema.ts"
import * as collections from "./sql/collections.ts"
import { client, open } from "./sqlite/connect.ts"
import { filling, isBusy, isDamage, typed } from "./sqlite/errors.ts"
import { exclusively, inUse, move, partial } from "./sqlite/file/exchange.ts"
import { isPresent } from "./sql/tables.ts"
import * as RawFile from "./sqlite/file/place.ts"
import { belongs, markSql } from "./sqlite/file/marks.ts"
import { applicationId, descriptor, inspect, stated, trying, withoutPrograms } from "./sqlite/file/inspect.ts"
import type { SqliteClient } from "./sqlite/client.ts"
import { guarded, telling } from "./examine/findings.ts"
import { integrity } from "./examine/structure.ts"
import { vectors } from "./examine/derived.ts"
import { type Backup, BackupRefused, Backups, type Finding, StoreUnavailable } from "../Store.ts"
import { type Sql, first, only } from "./sql/rows.ts"

const refuse = (reason: string) => Effect.fail(new BackupRefused({ reason }))

/** Copies a database as of one transaction with SQLite's own backup, a few pages at a time. */
const copy = (sql: SqliteClient, made: string, target: string) =>
  Effect.gen(function* () {
    // Without a transaction, every concurrent write would restart the copy.
    yield* sql`BEGIN`
    yield* sql`SELECT count(*) FROM sqlite_schema`
    yield* Effect.ensuring(filling(target)(sql.backup(made)), Effect.ignore(sql`ROLLBACK`))
  })

const isWritable = (filename: string): boolean =>
  Option.isSome(Option.liftThrowable(fs.accessSync)(filename, fs.constants.W_OK))

/** Opens the index for writing if possible; others may write while the copy reads through the WAL. */
const copyOfIndex = (filename: string, made: string, target: string) =>
  Effect.scoped(
    Effect.flatMap(open({ filename, mode: isWritable(filename) ? "unchanged" : "readonly" }), ({ sql }) =>
      copy(sql, made, target)
    )
  )

const copyOfBackup = (filename: string, made: string, target: string) =>
  Effect.scoped(
    inspect(filename, "readonly").pipe(
      Effect.zipRight(client(filename, true)),
      Effect.tap((sql) => withoutPrograms(sql, filename)),
      Effect.flatMap((sql) => copy(sql, made, target))
    )
  )

const faultAmong = (findings: ReadonlyArray<Finding>): string | undefined =>
  findings.find(({ status }) => status === "fail")?.detail

/** What is wrong with pages and references; undefined: nothing. */
const brokenIn = (sql: Sql) => Effect.map(integrity(sql), faultAmong)

/** What of an index cannot be made again from the rest and differs from what was stored; undefined: nothing. */
const alteredIn = (sql: Sql) =>
  Effect.gen(function* () {
    // An older schema lacks some of the checksums.
    if ((yield* only<number>(sql, "PRAGMA user_version")) !== schemaVersion) return undefined
    const told = telling(() => Effect.void)
    const findings = [
      ...(yield* guarded("documents", documents(sql, told))),
      ...(yield* Effect.forEach(yield* collections.all(sql), (collection) =>
        guarded("vectors", vectors(sql, collection, told))
      )).flat()
    ]
    return faultAmong(findings.filter(({ name }) => name !== "languages")) ?? (yield* vectorlessIn(sql))
  })

/** A passage without a vector whose text should have one, in words; undefined: there is none. */
const vectorlessIn = Effect.fnUntraced(function* (sql: Sql) {
  for (const { id, name } of yield* collections.all(sql)) {
    const passage = yield* first<number>(
      sql,
      `SELECT p.id FROM documents AS d CROSS JOIN passages AS p ON p.document_id = d.id
       WHERE d.collection_id = ? AND NOT EXISTS (SELECT 1 FROM vectors_${id} WHERE passage_id = p.id)
         AND NOT EXISTS (SELECT 1 FROM vectorless WHERE passage_id = p.id AND generation = 'current') LIMIT 1`,
      [id]
    )
    if (passage !== undefined) return `collection ${name}: the vector of passage ${passage} is missing`
  }
  return undefined
})

const contentsOf = (sql: Sql, filename: string) =>
  Effect.map(
    sql.unsafe<Omit<Backup, "bytes">>(
      `SELECT count(*) AS collections, coalesce(sum(documents), 0) AS documents, coalesce(sum(passages), 0) AS passages
       FROM collections WHERE ${isPresent}`
    ),
    ([found]): Backup => ({ ...found!, bytes: fs.statSync(filename).size })
  )

/** Makes a copy an index of its own: one file without a WAL. Returns its contents, unless the check finds damage. */
const seal = (filename: string, ...checks: ReadonlyArray<typeof brokenIn>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const sql = yield* client(filename, false)
      for (const check of checks) {
        const found = yield* check(sql)
        if (found !== undefined) return yield* refuse(found)
      }
      yield* sql`PRAGMA journal_mode = DELETE`
      const [marked] = yield* sql.unsafe("SELECT 1 FROM sqlite_schema WHERE name = 'file_mark'")
      if (marked !== undefined) yield* sql.unsafe(markSql.fresh)
      return yield* contentsOf(sql, filename)
    })
  )

const isOurs = (filename: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const stat = RawFile.statOf(filename)
      if (stat === undefined || RawFile.kindOf(stat) !== undefined) return false
      const { fd } = yield* descriptor(filename, stat)
      return RawFile.headerOf(fd)?.applicationId === applicationId
    })
  )

const olderName = (target: string, n: number): string => (n === 0 ? target : `${target}.${n}`)

/** Older backups of a name, without a gap, up to the last that is kept. */
const olderOf = (target: string, keep: number) =>
  Effect.gen(function* () {
    let count = 0
    while (count < keep && (yield* stated(olderName(target, count))) !== undefined) {
      const name = olderName(target, count)
      if (!(yield* isOurs(name))) {
        return yield* refuse(`${name} already exists and is not a Clew backup; name another file, or move it away`)
      }
      count++
    }
    return count
  })

/** Gives older backups the next numbers; the last one to be kept replaces the one before. */
const shift = (target: string, count: number, keep: number): void => {
  for (let n = Math.min(count, keep - 1); n > 0; n--) {
    const [from, to] = [olderName(target, n - 1), olderName(target, n)]
    if (n > 1) fs.renameSync(from, to)
    else {
      // A second name, so that the first always names a whole backup.
      fs.rmSync(to, { force: true })
      try {
        fs.linkSync(from, to)
      } catch {
        fs.renameSync(from, to)
      }
    }
  }
}

/** Refuses damage, and whatever a check has refused, in words that tell what to do. */
const refusing =
  (say: (reason: string) => string) =>
  <A, E, R>(effect: Effect.Effect<A, E | SqlError | BackupRefused, R>) =>
    effect.pipe(
      Effect.catchIf(isDamage, (error) => refuse(String((error.cause as Error).message))),
      Effect.catchIf(
        (error): error is BackupRefused => error instanceof BackupRefused,
        ({ reason }) => refuse(say(reason))
      )
    )

/** Whether two paths lead to one file. */
const areSame = (a: string, b: string) =>
  Effect.zipWith(
    stated(a),
    stated(b),
    (one, other) => one !== undefined && other !== undefined && RawFile.isSamePlace(one, other)
  )

const backup = (filename: string, target: string, keep: number) =>
  Effect.scoped(
    Effect.gen(function* () {
      if (yield* areSame(target, filename)) return yield* refuse(`${target} is the index itself; name another file`)
      const folder = path.dirname(target)
      if (!fs.existsSync(folder))
        return yield* refuse(`${folder}, the folder of the backup, does not exist; make it first`)
      const older = yield* olderOf(target, keep)
      // A backup is one file; an index in use has a WAL beside it.
      if ((yield* stated(`${target}-wal`)) !== undefined) {
        return yield* refuse(`${target} is an index in use, or was not closed; name another file`)
      }
      const made = yield* partial(target)
      const backup = yield* Effect.zipRight(
        copyOfIndex(filename, made, target),
        filling(target)(seal(made, brokenIn, alteredIn))
      ).pipe(
        refusing(
          (reason) =>
            `The index ${filename} is damaged (${reason}), so ${target} was left as it was; run \`clew doctor --fix\` first, ` +
            `which copies the index before it repairs it`
        )
      )
      yield* trying(target, () => {
        shift(target, older, keep)
        move(made, target)
      })
      return backup
    })
  )

const check = (source: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      yield* givenBackup(source)
      yield* inspect(source, "readonly")
      const sql = yield* client(source, true)
      yield* withoutPrograms(sql, source)
      const found = (yield* endedBySignals(brokenIn(sql))) ?? (yield* alteredIn(sql))
      if (found !== undefined) return yield* refuse(found)
      return yield* contentsOf(sql, source)
    })
  ).pipe(
    refusing((reason) =>
      reason.includes(source)
        ? reason
        : `The backup ${source} is damaged (${reason}). Keep an older one, and make another with \`clew backup\``
    )
  )

/** A file that may be a backup, by what it is and how it begins. */
const givenBackup = (source: string) =>
  Effect.gen(function* () {
    const given = yield* stated(source)
    if (given === undefined) return yield* refuse(`There is no backup at ${source}`)
    const kind = given.size === 0n && given.isFile() ? "empty" : RawFile.kindOf(given)
    if (kind !== undefined || !(yield* isOurs(source))) {
      return yield* refuse(
        `${source} is ${kind ?? "not a Clew backup"}; name a file that \`clew backup\` made. Nothing was changed`
      )
    }
    return given
  })

/**
 * Holds the lock for writing the old index until the scope ends; other writers wait, and then find the new file. Does
 * nothing if the old index is damaged or its WAL belongs to another file: then there is nothing to lose.
 */
const holdOld = (filename: string): Effect.Effect<void, BackupRefused | StoreUnavailable, Scope.Scope> =>
  Effect.gen(function* () {
    const stat = yield* stated(filename)
    if (stat === undefined || stat.size === 0n) return
    if (!(yield* isOurs(filename))) {
      return yield* refuse(
        `${filename} is not a Clew index, or too damaged to recognise; move it away, then restore again`
      )
    }
    const { fd } = yield* descriptor(filename, stat)
    if (!belongs(filename, fd)) return
    yield* Effect.catchAll(exclusively(filename), (error) =>
      isBusy(error)
        ? refuse(`${inUse(filename)}; stop it, then restore again`)
        : Effect.logWarning(`The replaced index is damaged: ${String(error)}`)
    )
  })

const restore = (filename: string, source: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      if (yield* areSame(filename, source)) return yield* refuse(`${source} is the index itself; name a backup`)
      yield* givenBackup(source)
      const made = yield* partial(filename)
      const backup = yield* Effect.zipRight(
        copyOfBackup(source, made, filename),
        filling(filename)(seal(made, brokenIn))
      ).pipe(
        refusing(
          (reason) =>
            `The backup ${source} is damaged (${reason}) and was not restored. Use another one, or run ` +
            `\`clew doctor --db ${source}\` to see what can be repaired`
        )
      )
      yield* holdOld(filename)
      yield* trying(filename, () => {
        move(made, filename)
        for (const file of RawFile.besides(filename)) fs.rmSync(file, { force: true })
      })
      return backup
    })
  )

/** Backups of an index in an SQLite file, by its path. */
export const layer = (filename: string): Layer.Layer<Backups> =>
  Layer.succeed(Backups, {
    backup: Effect.fn("Backups.backup")((target, { keep = 1 } = {}) => typed(filename)(backup(filename, target, keep))),
    check: Effect.fn("Backups.check")((source) => typed(source)(check(source))),
    restore: Effect.fn("Backups.restore")((source) => typed(source)(restore(filename, source)))
  })
