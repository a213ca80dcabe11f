import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { StoreUnavailable } from "../../Store.ts"
import { connect, type DatabaseOptions } from "./connect.ts"
import { typed } from "./errors.ts"
import { transaction } from "./transaction.ts"

/** One SQLite file, open, with what fails because of the file typed as `StoreUnavailable`. */
export class Database extends Context.Tag("clew/Store/Database")<
  Database,
  {
    readonly sql: SqlClient.SqlClient
    /** Runs in one snapshot. */
    readonly read: <A, E, R>(
      effect: Effect.Effect<A, E | SqlError, R>
    ) => Effect.Effect<A, Exclude<E, SqlError> | StoreUnavailable, R>
    /** Runs in one transaction that holds the write lock from its start. */
    readonly write: <A, E, R>(
      effect: Effect.Effect<A, E | SqlError, R>
    ) => Effect.Effect<A, Exclude<E, SqlError> | StoreUnavailable, R>
  }
>() {}

export const layer = (options: DatabaseOptions): Layer.Layer<Database, StoreUnavailable> =>
  Layer.scoped(
    Database,
    Effect.map(typed(options.filename)(connect(options)), (sql) => ({
      sql,
      read: (effect) => typed(options.filename)(transaction(sql, "BEGIN")(effect)),
      write: (effect) => typed(options.filename)(transaction(sql, "BEGIN IMMEDIATE")(effect))
    }))
  )
