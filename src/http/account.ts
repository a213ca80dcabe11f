import * as Effect from "effect/Effect"
import { LogConfig } from "../Config.ts"
import * as metrics from "./metrics.ts"

const methods = new Set(["GET", "HEAD", "POST", "DELETE", "OPTIONS"])

export interface Answered {
  readonly id: string
  readonly method: string
  /** The route's template; undefined if no route matches. */
  readonly route: string | undefined
  readonly status: number
  /** Milliseconds from the request's head to the end of the answer. */
  readonly took: number
}

/** Counts an answered request and logs it: as readable text, or with fields for programs. */
export const makeAccount = Effect.map(LogConfig, ({ format }) => (answered: Answered): Effect.Effect<void> => {
  const { id, route = "unmatched", status, took } = answered
  const method = methods.has(answered.method) ? answered.method : "other"
  metrics.answered(route, method, status, took / 1000)
  const ms = Math.round(took * 10) / 10
  return format === "json"
    ? Effect.annotateLogs(Effect.logInfo("request"), { request_id: id, method, route, status, ms })
    : Effect.logInfo(`${method} ${route} ${status} ${ms} ms ${id}`)
})
