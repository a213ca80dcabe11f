import * as Effect from "effect/Effect"
import { InvalidRequest, MalformedBody } from "../api/errors.ts"
import { nextTurn, turnMs } from "../runtime/EventLoop.ts"
import { JsonFault, readJson } from "../model/readJson.ts"

const toError = (what: string, { path, reason }: JsonFault): MalformedBody | InvalidRequest =>
  path === undefined
    ? new MalformedBody({ reason: `${what} ${reason}` })
    : new InvalidRequest({ errors: [{ path: path.join("."), message: reason }] })

/** Parses a caller's JSON, yielding to others meanwhile; `what` names it in errors. */
export const parseJson = (what: string, bytes: Buffer): Effect.Effect<unknown, MalformedBody | InvalidRequest> =>
  Effect.suspend(() => {
    const reading = readJson(bytes)
    const go = (): Effect.Effect<unknown, MalformedBody | InvalidRequest> => {
      const until = performance.now() + turnMs
      try {
        do {
          const { done, value } = reading.next()
          if (done === true) return Effect.succeed(value)
        } while (performance.now() < until)
      } catch (error) {
        if (error instanceof JsonFault) return toError(what, error)
        throw error
      }
      return Effect.flatMap(nextTurn, go)
    }
    return go()
  })
