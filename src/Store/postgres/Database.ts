import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import { StoreUnavailable, inPostgres } from "../../Store.ts"
import { BlockCache } from "../../codes/BlockCache.ts"
import { Scanner } from "../../codes/Scanner.ts"
import { step } from "../../postings/mergeStep.ts"
import { makeTurns } from "../../runtime/Turn.ts"
import { type Database, makeSearching } from "../sql/Database.ts"
import { mergeStep } from "../sql/keyword.ts"
import { forAWhile, rebuildAll, sweepAll, upkeepStep } from "../sql/upkeep.ts"
import { makeMemory } from "../sql/scoring.ts"
import type { VectorOptions } from "../sql/vectors.ts"
import { Ahead } from "./ahead.ts"
import { make as makeClient, transaction } from "./client.ts"
import { retryBusy, typed } from "./errors.ts"
import { type Begun, begun, makeLives } from "./lives.ts"
import { migrate, schemaVersion } from "./schema.ts"
import { makeScoring } from "./scoring.ts"
import { type Sql, column, first, only } from "../sql/rows.ts"

export interface DatabaseOptions {
  /** With user, password and TLS, as libpq writes it. */
  readonly url: Redacted.Redacted
  /** The schema of the database in which the index is, so that several indexes share a database. */
  readonly schema: string
  /** Connections at most. */
  readonly pool: number
  /** `create` makes the tables if there are none; `existing` fails; `readonly` fails, and never writes. */
  readonly mode: "create" | "existing" | "readonly"
  readonly vectors?: VectorOptions | undefined
  readonly graph?: boolean | undefined
  /** Milliseconds after which the server ends a statement; default: a minute. */
  readonly patience?: number | undefined
}

const bytesOf = (sql: Sql): Effect.Effect<number, SqlError> =>
  only(
    sql,
    `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) AS bytes FROM pg_class AS c
     JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relkind = 'r'`
  )

/** Deletes dropped rows, merges all postings and computes codes again; the server's own vacuum frees the space. */
const compact = Effect.fnUntraced(function* (sql: Sql, read: Database["read"], write: Database["write"]) {
  const before = yield* read(bytesOf(sql))
  yield* sweepAll(sql, write)
  yield* rebuildAll(sql, write)
  return { before, after: yield* read(bytesOf(sql)), complete: inPostgres.purge }
})

/** Searches of a process at once: more would only share its processor. */
const mostLanes = 4

/** Connects to a database and brings its schema to the present; closed with the scope. */
export const open = (options: DatabaseOptions) =>
  Effect.gen(function* () {
    const { mode, patience = 60_000, pool, schema, url } = options
    const errors = typed(`in the schema ${schema} of PostgreSQL`)
    // A server that is there ends a statement, and says so, before its silence counts.
    const sql = yield* errors(makeClient({ url, pool, silence: 1.25 * patience }))
    // The client reads bytes as hexadecimal digits, and the limits are Clew's, whatever the database or the user has set.
    const local = `SET LOCAL search_path TO "${schema}"; SET LOCAL statement_timeout TO ${patience}; SET LOCAL bytea_output TO hex`
    // One writer at a time, in all processes. The lock belongs to the transaction, and ends with its connection: a process
    // that has stopped, or whose machine is gone, would hold it for longer than others wait for it.
    const lock = `SET LOCAL idle_in_transaction_session_timeout TO ${Math.ceil(patience / 3)}; SET LOCAL lock_timeout TO '1s'; SELECT pg_advisory_xact_lock(hashtextextended('clew ${schema}', 0))`
    /** Another process may have brought the tables to a newer schema since this one began. */
    const admitting =
      (follow: (now: Begun) => void) =>
      ([row]: ReadonlyArray<Begun>) => {
        if (row !== undefined) follow(row)
        return refuseNewer(schema, row?.version ?? 0)
      }
    const lives = makeLives()
    const reading = (follow: (now: Begun) => void) =>
      transaction(sql, `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${local}; ${begun}`, {
        admit: admitting(follow),
        ahead: new Ahead()
      })
    const writing = transaction(
      sql,
      mode === "readonly"
        ? `BEGIN READ ONLY; ${local}; ${begun}`
        : `BEGIN ISOLATION LEVEL READ COMMITTED; ${local}; ${lock}; ${begun}`,
      { admit: admitting(lives()) }
    )
    yield* errors(
      retryBusy(
        transaction(
          sql,
          mode === "readonly" ? `BEGIN READ ONLY; ${local}` : `BEGIN ISOLATION LEVEL READ COMMITTED; ${local}; ${lock}`
        )(upToDate(sql, schema, mode))
      )
    )
    const blocks = BlockCache.make()
    const vectors = makeMemory()
    const writers = makeTurns(1)
    const write: Database["write"] = (effect) => writers.urgent(errors(retryBusy(writing(effect))))
    /** Searches one at a time, with codes and masks of its own; the codes' memory and the vectors are those of all. */
    const lane = Effect.gen(function* () {
      const codes = yield* Effect.acquireRelease(
        Effect.sync(() => new Scanner(blocks.admit(), 0, options.vectors?.finerBytes)),
        (scanner) => Effect.sync(() => scanner.close())
      )
      let era = 0
      const scoring = makeScoring(vectors, () => era)
      const searching = makeSearching(codes, scoring, options.vectors)
      const eraOf = lives()
      const follow = (now: Begun) => {
        const before = era
        era = eraOf(now)
        if (era === before) return
        codes.enter(era)
        Object.assign(searching, makeSearching(codes, scoring, options.vectors))
      }
      const turn = makeTurns(1)
      const inTurn = (transaction: ReturnType<typeof reading>): Database["read"] => {
        // A standby ends a search that needs rows which its primary has removed since.
        return (effect) => turn.urgent(errors(retryBusy(transaction(effect))))
      }
      const read = inTurn(reading(follow))
      return {
        sql,
        graph: options.graph ?? true,
        searching,
        look: inTurn(reading(follow)),
        read,
        write,
        about: Effect.map(
          sql.unsafe<{ readonly version: string; readonly database: string }>(
            "SELECT current_setting('server_version') AS version, current_database()::text AS database"
          ),
          ([row]) => ({ backend: "postgres", ...row!, schema, capabilities: inPostgres }) as const
        ),
        bytes: bytesOf(sql),
        upkeep: {
          settle: () => Effect.as(forAWhile(write(upkeepStep(sql))), true),
          purge: () => Effect.as(forAWhile(write(mergeStep(sql, { ...step, extent: "clean" }))), inPostgres.purge),
          compact: () => compact(sql, read, write)
        }
      } satisfies Database as Database
    })
    // One connection is left for writing.
    return yield* Effect.all(Array.from({ length: Math.max(1, Math.min(mostLanes, pool - 1)) }, () => lane))
  })

/** Refuses a user who may only read, or a standby: work that finds nothing to do would seem done. */
const mayWrite = Effect.fnUntraced(function* (sql: Sql, schema: string) {
  const [row] = yield* sql.unsafe<{ readonly missing: string | null; readonly standby: number }>(
    `SELECT string_agg(DISTINCT needed, ', ') AS missing, pg_is_in_recovery() AS standby
     FROM pg_tables, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS needed
     WHERE schemaname = ? AND NOT has_table_privilege(format('%I.%I', schemaname, tablename), needed)`,
    [schema]
  )
  const reason =
    row!.standby === 1
      ? "this server is a standby, and refuses writes: name the primary in store.url"
      : row!.missing === null
        ? undefined
        : `the user needs ${row!.missing} on all its tables (docs/postgres.md)`
  if (reason === undefined) return
  return yield* new StoreUnavailable({
    reason: `Cannot write to the index in the schema ${schema} of PostgreSQL: ${reason}, or use what only reads, as \`clew query\` and \`clew serve --read-only\` do`
  })
})

const refuseNewer = (schema: string, version: number): Effect.Effect<void, StoreUnavailable> =>
  version <= schemaVersion
    ? Effect.void
    : new StoreUnavailable({
        reason: `The index in the schema ${schema} was made by a newer Clew (schema ${version}; this one knows ${schemaVersion}): update Clew`
      })

/** Encodings of databases that hold every text; SQL_ASCII takes any bytes. */
const unicode: ReadonlySet<string> = new Set(["UTF8", "SQL_ASCII"])

/** Makes the schema if there is none, and refuses a newer one. */
const upToDate = Effect.fnUntraced(function* (sql: Sql, schema: string, mode: DatabaseOptions["mode"]) {
  const [known] = yield* sql.unsafe<{ readonly encoding: string; readonly usable: number | null }>(
    `SELECT current_setting('server_encoding') AS encoding,
       (SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = ?) AS usable`,
    [schema]
  )
  const { encoding, usable } = known!
  // An index in another encoding can still be read, and so exported.
  if (mode !== "readonly" && !unicode.has(encoding)) {
    return yield* new StoreUnavailable({
      reason: `The database in store.url has the encoding ${encoding}, which cannot hold every text: make another one, as with CREATE DATABASE clew TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'`
    })
  }
  const none = new StoreUnavailable({ reason: `There is no index in the schema ${schema}` })
  if (usable === null) {
    if (mode !== "create") return yield* none
    yield* sql.unsafe(`CREATE SCHEMA "${schema}"`)
  }
  if (usable === 0) {
    return yield* new StoreUnavailable({
      reason: `Cannot use the schema ${schema} of PostgreSQL: the user needs USAGE on it (docs/postgres.md)`
    })
  }
  const tables = yield* column<string>(sql, "SELECT tablename::text AS name FROM pg_tables WHERE schemaname = ?", [
    schema
  ])
  const isOurs = tables.includes("clew")
  if (!isOurs && tables.length > 0) {
    return yield* new StoreUnavailable({
      reason: `The schema ${schema} has tables of another program, and was left untouched; set store.schema to another name`
    })
  }
  if (!isOurs && mode !== "create") return yield* none
  const version = isOurs ? ((yield* first<number>(sql, "SELECT version FROM clew")) ?? 0) : 0
  yield* refuseNewer(schema, version)
  if (version === schemaVersion) return mode === "readonly" ? undefined : yield* mayWrite(sql, schema)
  if (mode === "readonly") {
    return yield* new StoreUnavailable({
      reason: `The index in the schema ${schema} was made by an older Clew: \`clew doctor --fix\`, or a command that writes, brings it up to date; running servers of the older Clew then refuse it`
    })
  }
  yield* migrate(sql, version)
})
