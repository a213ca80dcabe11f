import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import { current } from "../Caller.ts"
import { LogConfig } from "../Config.ts"
import { idOf } from "./respond.ts"

/** What is written, beside what was done. */
interface Audited {
  readonly collection?: string | undefined
  readonly job?: string | undefined
}

/** A result's fields, an MCP tool's too. */
const fieldsOf = (exit: Exit.Exit<unknown, unknown>): Readonly<Record<string, unknown>> => {
  const result = Exit.isSuccess(exit) ? (exit.value as { readonly structuredContent?: object } | undefined) : undefined
  return { ...(result?.structuredContent ?? result) }
}

/** The whole numbers: how much was written. */
const countsOf = (fields: Readonly<Record<string, unknown>>): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(fields).filter(
      (entry): entry is [string, number] => Number.isInteger(entry[1]) && !entry[0].endsWith("_ms")
    )
  )

const outcomeOf = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isSuccess(exit) ? "done" : Cause.isInterruptedOnly(exit.cause) ? "interrupted" : "failed"

/**
 * Logs a write once it has ended: whose it was, what it did, and how much, if it did it. What was refused wrote nothing,
 * and is in the log of requests alone.
 */
export const makeAudit = Effect.map(
  LogConfig,
  ({ format }) =>
    (action: string, { collection, job }: Audited = {}) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.onExit(effect, (exit) =>
        Effect.gen(function* () {
          const { who = "anybody" } = yield* FiberRef.get(current)
          const request = yield* Effect.serviceOption(HttpServerRequest.HttpServerRequest)
          const fields = fieldsOf(exit)
          const where = collection ?? fields["collection"]
          const told = {
            key: who,
            ...(typeof where === "string" ? { collection: where } : {}),
            outcome: outcomeOf(exit),
            ...countsOf(fields),
            ...(job === undefined ? {} : { job }),
            ...(Option.isSome(request) ? { request_id: idOf(request.value) } : {})
          }
          yield* format === "json"
            ? Effect.annotateLogs(Effect.logInfo("write"), { action, ...told })
            : Effect.logInfo(
                `write ${action}: ${Object.entries(told)
                  .map(([name, value]) => `${name} ${value}`)
                  .join(", ")}`
              )
        })
      )
)

/** Wraps an effect that writes. */
export type Audit = Effect.Effect.Success<typeof makeAudit>
