import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Examiner, type Finding, StoreUnavailable, type Told } from "../Store.ts"
import { ok } from "../model/Check.ts"
import * as derived from "./examine/derived.ts"
import { documents } from "./examine/documents.ts"
import { type Run, examinedRows } from "./examine/rows.ts"
import { cured } from "./examine/mend.ts"
import { fail, guarded, mending, orFailed, telling, warn } from "./examine/findings.ts"
import * as structure from "./examine/structure.ts"
import { make as makeClient } from "./postgres/client.ts"
import { type DatabaseOptions, open } from "./postgres/Database.ts"
import { schemaVersion } from "./postgres/schema.ts"
import { codeOf } from "./sql/errors.ts"
import { type Sql, first } from "./sql/rows.ts"

interface Server {
  readonly version: string
  readonly number: number
  readonly standby: number
  readonly refuses: number
  readonly lag: number | null
  readonly writes: number
  readonly creates: number
}

/** The oldest version whose statements Clew uses. */
const oldest = 140_000

/** Milliseconds without an answer after which a server counts as gone. */
const mostSilent = 75_000

/** Seconds that a standby may be behind. */
const mostLag = 10

/** The server, what the user may do there, and how far replicas are behind. */
const server = (sql: Sql, schema: string): Effect.Effect<ReadonlyArray<Finding>, SqlError> =>
  Effect.gen(function* () {
    const [found] = yield* sql.unsafe<Server>(
      `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
         pg_is_in_recovery() AS standby, current_setting('default_transaction_read_only')::bool AS refuses,
         extract(epoch FROM now() - pg_last_xact_replay_timestamp())::float8 AS lag,
         (SELECT bool_and(has_table_privilege('documents', needed)) FROM unnest(ARRAY['INSERT', 'UPDATE', 'DELETE']) AS needed) AS writes,
         has_schema_privilege(?, 'CREATE') AS creates`,
      [schema]
    )
    const { creates, lag, number, refuses, standby, version, writes } = found!
    const replicas = yield* sql.unsafe<{ readonly name: string; readonly behind: number | null }>(
      "SELECT application_name::text AS name, extract(epoch FROM replay_lag)::float8 AS behind FROM pg_stat_replication"
    )
    const vector = yield* first<string>(
      sql,
      "SELECT extversion::text AS version FROM pg_extension WHERE extname = 'vector'"
    )
    const about = `PostgreSQL ${version}${vector === undefined ? "" : `, pgvector ${vector}`}`
    const late = replicas.filter(({ behind }) => (behind ?? 0) > mostLag)
    return [
      number < oldest ? fail("server", `${about}: Clew needs 14 or later`, "update the server") : ok("server", about),
      standby === 1
        ? warn("rights", "this server is a standby: it answers queries and refuses writes", "write to the primary")
        : refuses === 1
          ? warn(
              "rights",
              "the server refuses writes: default_transaction_read_only is on for it, the database or the user",
              "turn it off, or start Clew with --read-only"
            )
          : writes === 0
            ? warn(
                "rights",
                "the user may only read",
                "grant INSERT, UPDATE and DELETE, or start Clew with --read-only"
              )
            : creates === 0
              ? warn(
                  "rights",
                  "the user may not create tables",
                  "a newer Clew needs that once, to bring the schema up to date"
                )
              : ok("rights", "the user may read, write and bring the schema up to date"),
      ...(standby === 1 && (lag ?? 0) > mostLag
        ? [warn("replication", `this standby is ${Math.round(lag!)} s behind the primary`, "see pg_stat_wal_receiver")]
        : late.length > 0
          ? [
              warn(
                "replication",
                late.map(({ behind, name }) => `${name} is ${Math.round(behind!)} s behind`).join(", "),
                "see pg_stat_replication"
              )
            ]
          : replicas.length > 0
            ? [ok("replication", `standbys: ${replicas.length}, none more than ${mostLag} s behind`)]
            : [])
    ]
  })

const elsewhere = (what: string) =>
  Effect.fail(new StoreUnavailable({ reason: `${what}: PostgreSQL has tools of its own, pg_dump and pg_restore` }))

const make = (options: DatabaseOptions) => {
  const opened = (mode: "readonly" | "existing") =>
    Effect.map(open({ ...options, mode, pool: 2 }), ([database]) => database!)
  const read: Run = (use) => Effect.scoped(Effect.flatMap(opened("readonly"), ({ read, sql }) => read(use(sql))))
  const write: Run = (use) => Effect.scoped(Effect.flatMap(opened("existing"), ({ sql, write }) => write(use(sql))))

  const look = Effect.fnUntraced(function* (sql: Sql, told: Told) {
    const findings = [
      ...(yield* guarded("server", server(sql, options.schema))),
      ...(yield* guarded("sequences", structure.sequences(sql), mending)),
      ...(yield* guarded("records", structure.records(sql), mending)),
      ...(yield* guarded("documents", documents(sql, told))),
      ...(yield* derived.everyCollection(sql, told))
    ]
    // A connection that was lost makes every check fail, of which none is damage.
    yield* Effect.catchIf(
      sql.unsafe("SELECT 1"),
      (error) => codeOf(error) !== "",
      () => Effect.void
    )
    return findings
  })

  /** What can be said of an index of an older version before it is brought up to date; undefined: it is of this one. */
  const older = Effect.scoped(
    Effect.flatMap(makeClient({ ...options, pool: 1, silence: mostSilent }), (sql) =>
      first<number>(sql, `SELECT version FROM "${options.schema}".clew`)
    )
  ).pipe(
    // What is wrong with the server is told where it is opened.
    Effect.orElseSucceed(() => undefined),
    Effect.map((version = schemaVersion) =>
      version >= schemaVersion
        ? undefined
        : [
            warn(
              "schema",
              `the index was made by an older Clew (schema ${version}, this one has ${schemaVersion}); it is not damaged by that`,
              "run `clew doctor --fix`, which brings it up to date; running servers of the older Clew then refuse it",
              { _tag: "Migrate" }
            )
          ]
    )
  )

  return Examiner.of({
    examine: Effect.fn("Examiner.examine")((listener) =>
      orFailed(
        "server",
        "see docs/postgres.md",
        Effect.flatMap(older, (before) =>
          before === undefined ? read((sql) => look(sql, telling(listener))) : Effect.succeed(before)
        )
      )
    ),
    migrate: write(() => Effect.succeed(true)),
    copy: Effect.succeed("none: a backup of the database is pg_dump's"),
    salvage: elsewhere("Clew cannot salvage an index in PostgreSQL"),
    mend: Effect.fn("Examiner.mend")((cures) => cured(write, cures)),
    ...examinedRows(read, write)
  })
}

/** Examines an index in PostgreSQL. */
export const layer = (options: DatabaseOptions): Layer.Layer<Examiner> => Layer.sync(Examiner, () => make(options))
