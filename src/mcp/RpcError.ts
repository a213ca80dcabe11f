import * as Data from "effect/Data"

/** JSON-RPC's codes, and MCP's own for a missing resource. */
export const code = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  resourceNotFound: -32002
} as const
export type Code = (typeof code)[keyof typeof code]

/** A fault of one argument; the path uses dots and `[n]`. */
export interface Problem {
  readonly path: string
  readonly message: string
}

/** A failure as a JSON-RPC error. The SDK sends `code`, `message` and `data` unchanged. */
export class RpcError extends Data.TaggedError("RpcError")<{
  readonly code: Code
  readonly message: string
  readonly data?: unknown
}> {}

/** -32602 with every problem in the message and in `data.errors`. */
export const invalidParams = (problems: ReadonlyArray<Problem>): RpcError =>
  new RpcError({
    code: code.invalidParams,
    message: problems.map(({ message }) => message).join("; "),
    data: { errors: problems }
  })
