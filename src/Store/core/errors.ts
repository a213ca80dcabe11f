import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { StoreUnavailable } from "../../Store.ts"
import { Damaged } from "../../model/Damaged.ts"

const damageOf = (cause: Cause.Cause<unknown>): Option.Option<Damaged> =>
  Cause.isDieType(cause) && cause.defect instanceof Damaged ? Option.some(cause.defect) : Option.none()

/** What a store makes of the errors of its database. */
interface Typing<Own> {
  readonly database: string
  readonly isOwn: (error: unknown) => error is Own
  readonly messageOf: (error: Own) => string
  /** Why the index cannot be used now; undefined: it is a bug. */
  readonly reasonOf: (error: Own) => string | undefined
  /** What to do about damage. */
  readonly repair?: string
}

/** Errors with a reason become `StoreUnavailable`, damage too; any other error of the database is a defect. None shows an address. */
export const typedBy =
  <Own>({ database, isOwn, messageOf, reasonOf, repair = "" }: Typing<Own>) =>
  (name: string) =>
  <A, E, R>(given: Effect.Effect<A, E | Own, R>): Effect.Effect<A, Exclude<E, Own> | StoreUnavailable, R> =>
    Effect.catchAllCause(given, (cause): Effect.Effect<never, Exclude<E, Own> | StoreUnavailable> =>
      Option.match(Cause.find(cause, damageOf), {
        onSome: ({ message }) => new StoreUnavailable({ reason: `The index ${name} is damaged: ${message}${repair}` }),
        onNone: () =>
          Either.match(Cause.failureOrCause(cause), {
            onRight: Effect.failCause,
            onLeft: (error) => {
              if (!isOwn(error)) return Effect.failCause(cause as Cause.Cause<Exclude<E, Own>>)
              const reason = reasonOf(error)
              return reason === undefined
                ? Effect.die(new Error(`${database}: ${messageOf(error)}`, { cause: error }))
                : new StoreUnavailable({ reason: `The index ${name} is not available: ${reason}` })
            }
          })
      })
    )
