import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { randomUUID } from "node:crypto"
import type { FieldError } from "../api/Problem.ts"
import { NotPermitted } from "../Caller.ts"
import { replaced } from "../runtime/installation.ts"

/** JSON-RPC's codes, and MCP's own for a missing resource. */
export const code = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  sessionNotFound: -32001,
  resourceNotFound: -32002
} as const
export type Code = (typeof code)[keyof typeof code]

/** A failure as a JSON-RPC error. The SDK sends `code`, `message` and `data` unchanged. */
export class RpcError extends Data.TaggedError("RpcError")<{
  readonly code: Code
  readonly message: string
  readonly data?: unknown
}> {}

/** -32602 with every fault in the message and in `data.errors`. */
export const invalidParams = (
  faults: ReadonlyArray<FieldError>,
  message = faults.map(({ message }) => message).join("; ")
): RpcError => new RpcError({ code: code.invalidParams, message, data: { errors: faults } })

/** -32602 for one argument. */
export const refuse = (path: string, message: string): RpcError => invalidParams([{ path, message }])

/** What a model can do about an error, by the error's name. */
const advice: Readonly<Record<string, string>> = {
  EmbedderUnavailable:
    "Nothing was searched or indexed by meaning. A search with hybrid=true still finds by words; indexing must wait until the embedder is back."
}

/** Errors caused by the argument `collection`. */
const ofCollection: ReadonlySet<string> = new Set(["CollectionNotFound", "NotPermitted"])

/** A collection of others is a defect to the store, and a wrong argument to who named it. */
const isNotPermitted = (error: unknown): error is NotPermitted => error instanceof NotPermitted

const say = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The JSON-RPC error for an effect's failure. A defect shows only an id that is also in the log. */
export const toRpcError = (cause: Cause.Cause<unknown>): Effect.Effect<RpcError> => {
  const failure = Option.orElse(Cause.failureOption(cause), () => Option.filter(Cause.dieOption(cause), isNotPermitted))
  if (Cause.isInterruptedOnly(cause)) {
    return Effect.succeed(new RpcError({ code: code.internal, message: "Cancelled: the server is shutting down" }))
  }
  if (failure._tag === "None") {
    const id = randomUUID()
    return Effect.as(
      Effect.logError(`Internal error ${id}`, cause),
      new RpcError({
        code: code.internal,
        message: replaced() ?? `Internal error; see id ${id} in the server's log`,
        data: { id }
      })
    )
  }
  const error = failure.value
  if (error instanceof RpcError) return Effect.succeed(error)
  const tag = String((error as { readonly _tag?: unknown } | null)?._tag ?? "Error")
  if (tag === "DocumentConflict") {
    const [first, second] = (error as unknown as { readonly places: ReadonlyArray<number> }).places
    const path = `documents[${second ?? first}]`
    const other = second === undefined ? "" : `; the other is documents[${first}]`
    return Effect.succeed(refuse(path, `${path}: ${say(error)}${other}`))
  }
  if (ofCollection.has(tag)) {
    const hint = tag === "CollectionNotFound" ? "; collection_info lists all" : ""
    const reason = say(error)
    const message = reason.startsWith("collection ") ? reason : `collection: ${reason}`
    return Effect.succeed(refuse("collection", `${message}${hint}`))
  }
  const hint = advice[tag]
  const message = hint === undefined ? say(error) : `${say(error)}. ${hint}`
  return Effect.as(Effect.logWarning(say(error)), new RpcError({ code: code.internal, message, data: { _tag: tag } }))
}
