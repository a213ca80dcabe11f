import { SqlError } from "@effect/sql/SqlError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { StoreUnavailable } from "../../Store.ts"
import { Damaged } from "../../model/Damaged.ts"

const causeOf = (error: SqlError) => error.cause as { readonly code?: unknown; readonly message?: unknown } | undefined

/** The code of the database (SQLSTATE in PostgreSQL), else of the system, else empty. */
export const codeOf = (error: SqlError): string => {
  const code = causeOf(error)?.code
  return typeof code === "string" ? code : ""
}

/** The database's own message, which `SqlError` only has in its cause. */
export const messageOf = (error: SqlError): string => String(causeOf(error)?.message ?? error.message)

const damageOf = (cause: Cause.Cause<unknown>): Option.Option<Damaged> =>
  Cause.isDieType(cause) && cause.defect instanceof Damaged ? Option.some(cause.defect) : Option.none()

/** Errors with a reason become `StoreUnavailable`; any other SQL error is a defect. None shows an address. */
export const typedBy =
  (database: string, reasonOf: (error: SqlError) => string | undefined, repair = "") =>
  (name: string) =>
  <A, E, R>(given: Effect.Effect<A, E | SqlError, R>): Effect.Effect<A, Exclude<E, SqlError> | StoreUnavailable, R> =>
    Effect.catchAllCause(given, (cause): Effect.Effect<never, Exclude<E, SqlError> | StoreUnavailable> =>
      Option.match(Cause.find(cause, damageOf), {
        onSome: ({ message }) => new StoreUnavailable({ reason: `The index ${name} is damaged: ${message}${repair}` }),
        onNone: () =>
          Either.match(Cause.failureOrCause(cause), {
            onRight: Effect.failCause,
            onLeft: (error) => {
              if (!(error instanceof SqlError)) return Effect.failCause(cause as Cause.Cause<Exclude<E, SqlError>>)
              const reason = reasonOf(error)
              return reason === undefined
                ? Effect.die(new Error(`${database}: ${messageOf(error)}`, { cause: error }))
                : new StoreUnavailable({ reason: `The index ${name} is not available: ${reason}` })
            }
          })
      })
    )
