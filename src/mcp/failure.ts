import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import { code, invalidParams, RpcError } from "./RpcError.ts"

/** What a model can do about an error, by the error's name. */
const advice: Readonly<Record<string, string>> = {
  EmbedderUnavailable:
    "Nothing was searched or indexed by meaning. A search with hybrid=true still finds by words; indexing must wait until the embedder is back."
}

/** Errors caused by an argument, with that argument. */
const blamed: Readonly<Record<string, string>> = {
  BudgetTooSmall: "max_tokens",
  CollectionNotFound: "collection",
  DocumentConflict: "documents"
}

const say = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The JSON-RPC error for an effect's failure. A defect shows only an id that is also in the log. */
export const toRpcError = (cause: Cause.Cause<unknown>): Effect.Effect<RpcError> => {
  const failure = Cause.failureOption(cause)
  if (Cause.isInterruptedOnly(cause)) {
    return Effect.succeed(new RpcError({ code: code.internal, message: "Cancelled: the server is shutting down" }))
  }
  if (failure._tag === "None") {
    const id = randomUUID()
    return Effect.as(
      Effect.logError(`Internal error ${id}`, cause),
      new RpcError({
        code: code.internal,
        message: `Internal error; see id ${id} in the server's log`,
        data: { id }
      })
    )
  }
  const error = failure.value
  if (error instanceof RpcError) return Effect.succeed(error)
  const tag = String((error as { readonly _tag?: unknown } | null)?._tag ?? "Error")
  const argument = blamed[tag]
  if (argument !== undefined) {
    const hint = tag === "CollectionNotFound" ? "; collection_info lists all" : ""
    const told = say(error)
    const message = told.startsWith(`${argument} `) ? told : `${argument}: ${told}`
    return Effect.succeed(invalidParams([{ path: argument, message: `${message}${hint}` }]))
  }
  const hint = advice[tag]
  const message = hint === undefined ? say(error) : `${say(error)}. ${hint}`
  return Effect.as(Effect.logWarning(say(error)), new RpcError({ code: code.internal, message, data: { _tag: tag } }))
}
