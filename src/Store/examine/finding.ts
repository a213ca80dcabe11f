import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { Cure, Finding, Told } from "../../upkeep/Examiner.ts"
import { nextTurnOrEnd } from "../../runtime/EventLoop.ts"
import { isUnreadable } from "../sqlite/errors.ts"

/** At most this many of a kind are named. */
const most = 5

export const ok = (name: string, detail: string): Finding => ({ name, status: "ok", detail })

export const warn = (name: string, detail: string, next?: string, cure?: Cure): Finding => ({
  name,
  status: "warn",
  detail,
  ...(next === undefined ? {} : { next }),
  ...(cure === undefined ? {} : { cure })
})

export const fixing = "run `clew doctor --fix`"

export const fail = (name: string, detail: string, next: string = fixing, cure?: Cure): Finding => ({
  name,
  status: "fail",
  detail,
  next,
  ...(cure === undefined ? {} : { cure })
})

/** The first few items, and how many more there are. */
export const some = (what: ReadonlyArray<string | number>): string =>
  `${what.slice(0, most).join(", ")}${what.length > most ? ` and ${what.length - most} more` : ""}`

/** The message of the error's cause, else its own. */
export const messageOf = (error: unknown): string => {
  const cause = (error as { readonly cause?: unknown }).cause ?? error
  return cause instanceof Error ? cause.message : String(cause)
}

/** The cure for pages that cannot be read. */
export const salvage: Cure = { _tag: "Salvage" }

/** Tells, lets signals and timers in, and may be interrupted. */
export const telling =
  (told: Told): Told =>
  (what, part) =>
    Effect.zipRight(told(what, part), nextTurnOrEnd)

/** Runs a check. If it fails because of what it reads, that is a finding too. */
export const guarded = (
  name: string,
  check: Effect.Effect<ReadonlyArray<Finding>, SqlError>,
  cure?: Cure
): Effect.Effect<ReadonlyArray<Finding>> =>
  check.pipe(
    Effect.catchAll((error) =>
      Effect.succeed([fail(name, messageOf(error), unreadable, isUnreadable(error) ? salvage : cure)])
    ),
    Effect.catchAllDefect((defect) => Effect.succeed([fail(name, messageOf(defect), fixing, cure)]))
  )

const unreadable = "run `clew doctor --fix`; if that does not help, restore a backup, or index into a new file"
