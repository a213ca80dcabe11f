import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { StoreUnavailable } from "../../Store.ts"
import { Damaged } from "../../model/Damaged.ts"

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
    given.pipe(
      Effect.catchSomeDefect((defect) =>
        defect instanceof Damaged
          ? Option.some(new StoreUnavailable({ reason: `The index ${name} is damaged: ${defect.message}${repair}` }))
          : Option.none()
      ),
      Effect.catchIf(isOwn, (error) => {
        const reason = reasonOf(error)
        return reason === undefined
          ? Effect.die(new Error(`${database}: ${messageOf(error)}`, { cause: error }))
          : Effect.fail(new StoreUnavailable({ reason: `The index ${name} is not available: ${reason}` }))
      })
    )
