import * as Effect from "effect/Effect"
import { MalformedBody } from "../api/errors.ts"

/** Deeper than anyone means it, and shallow enough for code that recurs. */
const deepest = 100

/** What is wrong with a value, though it is JSON. */
const fault = (value: unknown, left = deepest): string | undefined => {
  if (typeof value !== "object" || value === null) return undefined
  if (left === 0) return `is nested deeper than ${deepest} levels`
  // Assigning to it sets an object's prototype: a filter would lose the key, and with it what it excludes.
  if (Object.hasOwn(value, "__proto__")) return 'has a key "__proto__", which cannot be kept'
  for (const inner of Array.isArray(value) ? value : Object.values(value)) {
    const found = fault(inner, left - 1)
    if (found !== undefined) return found
  }
  return undefined
}

/** JSON as a caller may send it; `what` names it in the error, which does not repeat more than 200 characters of it. */
export const parseJson = (what: string, text: string): Effect.Effect<unknown, MalformedBody> =>
  Effect.suspend(() => {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch (error) {
      return new MalformedBody({ reason: `${what} is not JSON: ${(error as Error).message.slice(0, 200)}` })
    }
    const wrong = fault(value)
    return wrong === undefined ? Effect.succeed(value) : new MalformedBody({ reason: `${what} ${wrong}` })
  })
