import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { StoreUnavailable } from "../../Store.ts"
import * as Turn from "../../runtime/Turn.ts"
import { Scanner } from "../../codes/Scanner.ts"
import { type DatabaseOptions, open, walBytes } from "./connect.ts"
import { typed } from "./errors.ts"
import * as Guard from "./file/guard.ts"
import { eraOf, type Place } from "./file/place.ts"
import { Linkages } from "./graph/linkage.ts"
import * as checkedVectors from "./checkedVectors.ts"
import { Masks } from "./Masks.ts"
import { single, transaction } from "./transaction.ts"
import { defaults, type VectorOptions } from "./vectors.ts"
import { walKeeper } from "./walKeeper.ts"

/** How a connection searches, and what it keeps in memory for that. */
export interface Searching {
  readonly codes: Scanner
  readonly masks: Masks
  readonly linkages: Linkages
  readonly checked: checkedVectors.CheckedVectors
  readonly vectors: VectorOptions
}

/** One open SQLite file. Errors caused by the file are `StoreUnavailable`. */
export class Database extends Context.Tag("clew/Store/Database")<
  Database,
  {
    readonly sql: SqlClient.SqlClient
    /** Identifies the file; undefined: a database in memory. */
    readonly place: Place | undefined
    readonly searching: Searching
    /** Whether passages are added to the graph when they are stored. */
    readonly graph: boolean
    /** Runs in one snapshot. */
    readonly read: <A, E, R>(
      effect: Effect.Effect<A, E | SqlError, R>
    ) => Effect.Effect<A, Exclude<E, SqlError> | StoreUnavailable, R>
    /** Runs a single read, which is a snapshot by itself. */
    readonly look: <A, E, R>(
      effect: Effect.Effect<A, E | SqlError, R>
    ) => Effect.Effect<A, Exclude<E, SqlError> | StoreUnavailable, R>
    /** Runs outside of a transaction. */
    readonly typed: <A, E, R>(
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
    Effect.gen(function* () {
      const { filename } = options
      const { file, sql } = yield* typed(filename)(open(options))
      const { reading, writing, written } = file === undefined ? Guard.none : Guard.make(sql, filename, file)
      const turn = Turn.make()
      const keep =
        file === undefined || options.mode === "readonly"
          ? Effect.void
          : yield* walKeeper(sql, turn, filename, walBytes)
      const immediate = transaction(sql, "BEGIN IMMEDIATE")
      const codes = yield* Effect.acquireRelease(
        Effect.sync(
          () => new Scanner(options.cache, file === undefined ? 0 : eraOf(filename), options.vectors?.finerBytes)
        ),
        (scanner) => Effect.sync(() => scanner.close())
      )
      return Database.of({
        sql,
        place: file,
        graph: options.graph ?? true,
        searching: {
          codes,
          masks: new Masks(),
          linkages: new Linkages(),
          checked: checkedVectors.make(),
          vectors: options.vectors ?? defaults
        },
        typed: (effect) => turn(typed(filename)(effect)),
        look: (effect) => turn(typed(filename)(single(sql)(Effect.zipRight(reading, effect)))),
        read: (effect) => turn(typed(filename)(transaction(sql, "BEGIN")(Effect.zipRight(reading, effect)))),
        write: (effect) =>
          turn(
            typed(filename)(
              Effect.zipLeft(immediate(Effect.zipRight(writing, effect)), Effect.zipRight(written(immediate), keep))
            )
          )
      })
    })
  )
