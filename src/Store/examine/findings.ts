import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as checks from "../../model/Check.ts"
import type { Check } from "../../model/Check.ts"
import { nextTurnOrEnd } from "../../runtime/EventLoop.ts"
import type { Cure, Finding, StoreUnavailable, Told } from "../../Store.ts"
import { codeOf } from "../sql/errors.ts"
import { isUnreadable } from "../sqlite/errors.ts"

const withCure = (check: Check, cure: Cure | undefined): Finding => (cure === undefined ? check : { ...check, cure })

export const warn = (name: string, detail: string, next?: string, cure?: Cure): Finding =>
  withCure(checks.warn(name, detail, next), cure)

const fixing = "run `clew doctor --fix`"
const unreadable = "run `clew doctor --fix`; if that does not help, restore a backup, or index into a new file"

export const fail = (name: string, detail: string, next: string = fixing, cure?: Cure): Finding =>
  withCure(checks.fail(name, detail, next), cure)

const mostNamed = 5

/** The first few items, and how many more there are. */
export const someOf = (what: ReadonlyArray<string | number>): string =>
  `${what.slice(0, mostNamed).join(", ")}${what.length > mostNamed ? ` and ${what.length - mostNamed} more` : ""}`

/** Nothing, or a failure that names what is wrong. */
export const wrongly = (
  name: string,
  detail: string,
  wrong: ReadonlyArray<string | number>,
  cure?: Cure,
  next?: string
): ReadonlyArray<Finding> => (wrong.length === 0 ? [] : [fail(name, `${detail}: ${someOf(wrong)}`, next, cure)])

/** The findings; if there are none, all is well. */
export const orOk = (findings: ReadonlyArray<Finding>, name: string, detail: string): ReadonlyArray<Finding> =>
  findings.length === 0 ? [checks.ok(name, detail)] : findings

/** The message of the error's cause, else its own. */
export const messageOf = (error: unknown): string => {
  const cause = (error as { readonly cause?: unknown }).cause ?? error
  return cause instanceof Error ? cause.message : String(cause)
}

/** The cures for rows that contradict each other, and for pages that cannot be read. */
export const mending: Cure = { _tag: "Rows" }
export const salvaging: Cure = { _tag: "Salvage" }

/** Tells, lets signals and timers in, and may be interrupted. */
export const telling =
  (told: Told): Told =>
  (what, part) =>
    Effect.zipRight(told(what, part), nextTurnOrEnd)

/** Whether a server could not do what it was asked, as on a full disk or after too long, whatever it would have read. */
const isRefusal = (error: SqlError): boolean => /^5[37]\w{3}$/.test(codeOf(error))

/** Runs a check. If it fails because of what it reads, that is a finding too. */
export const guarded = (
  name: string,
  check: Effect.Effect<ReadonlyArray<Finding>, SqlError>,
  cure?: Cure
): Effect.Effect<ReadonlyArray<Finding>, SqlError> =>
  check.pipe(
    Effect.catchAll((error) =>
      isRefusal(error)
        ? error
        : Effect.succeed([fail(name, messageOf(error), unreadable, isUnreadable(error) ? salvaging : cure)])
    ),
    Effect.catchAllDefect((defect) => Effect.succeed([fail(name, messageOf(defect), fixing, cure)]))
  )

/** What an examination finds, or one failure where the store does not answer, or gives what cannot be. */
export const orFailed = (
  name: string,
  next: string,
  found: Effect.Effect<ReadonlyArray<Finding>, StoreUnavailable>
): Effect.Effect<ReadonlyArray<Finding>> =>
  found.pipe(
    Effect.catchAll(({ reason }) => Effect.succeed([fail(name, reason, next)])),
    Effect.catchAllDefect((defect) => Effect.succeed([fail(name, messageOf(defect), next)]))
  )
