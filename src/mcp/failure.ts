import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import { code, invalidParams, RpcError } from "./RpcError.ts"

/** What a model can do about an error, by the error's name. */
const advice: Readonly<Record<string, string>> = {
  EmbedderUnavailable:
    "Nothing was searched or indexed by meaning. A search with hybrid=true still answers by words; indexing has to wait until the embedder is back."
}

/** Errors that a caller's argument is to blame for, with that argument. */
const blamed: Readonly<Record<string, string>> = {
  BudgetTooSmall: "max_tokens",
  CollectionNotFound: "collection",
  DocumentConflict: "documents"
}

const say = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** What an effect failed with, as JSON-RPC answers it. A defect gets an id that the log carries, and no more. */
export const toRpcError = (cause: Cause.Cause<unknown>): Effect.Effect<RpcError> => {
  const failure = Cause.failureOption(cause)
  if (Cause.isInterruptedOnly(cause)) {
    return Effect.succeed(new RpcError({ code: code.internal, message: "Broken off: the server is ending" }))
  }
  if (failure._tag === "None") {
    const id = randomUUID()
    return Effect.as(
      Effect.logError(`Internal error ${id}`, cause),
      new RpcError({
        code: code.internal,
        message: `Internal error; the server's log says more under ${id}`,
        data: { id }
      })
    )
  }
  const error = failure.value
  if (error instanceof RpcError) return Effect.succeed(error)
  const tag = String((error as { readonly _tag?: unknown } | null)?._tag ?? "Error")
  const argument = blamed[tag]
  if (argument !== undefined) {
    const hint = tag === "CollectionNotFound" ? "; collection_info names those there are" : ""
    const told = say(error)
    const message = told.startsWith(`${argument} `) ? told : `${argument}: ${told}`
    return Effect.succeed(invalidParams([{ path: argument, message: `${message}${hint}` }]))
  }
  const hint = advice[tag]
  const message = hint === undefined ? say(error) : `${say(error)}. ${hint}`
  return Effect.as(Effect.logWarning(say(error)), new RpcError({ code: code.internal, message, data: { _tag: tag } }))
}
