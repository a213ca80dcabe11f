import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as RuntimeFlags from "effect/RuntimeFlags"
import { mayEnd } from "../../runtime/EventLoop.ts"

/** May be interrupted before each statement, never in one: a cancelled statement could be another's by then. */
const stepping = <A>(statement: Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> =>
  Effect.withFiberRuntime<A, SqlError>((fiber, { runtimeFlags }) => {
    const step = Cause.isEmpty(fiber.getFiberRef(FiberRef.interruptedCause))
      ? statement
      : Effect.zipRight(mayEnd, statement)
    return RuntimeFlags.interruption(runtimeFlags) ? Effect.uninterruptible(step) : step
  })

/** A connection whose users may be interrupted before each statement, also in an uninterruptible region. */
export const inSteps = (connection: Connection): Connection => ({
  ...connection,
  execute: (...args) => stepping(connection.execute(...args)),
  executeRaw: (...args) => stepping(connection.executeRaw(...args)),
  executeValues: (...args) => stepping(connection.executeValues(...args)),
  executeUnprepared: (...args) => stepping(connection.executeUnprepared(...args))
})
