import * as Data from "effect/Data"

/** JSON-RPC's codes, and MCP's own for a resource that is not there. */
export const code = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  resourceNotFound: -32002
} as const
export type Code = (typeof code)[keyof typeof code]

/** What is wrong with one argument; the path has dots and `[n]`. */
export interface Problem {
  readonly path: string
  readonly message: string
}

/** A failure as JSON-RPC answers it. The SDK takes `code`, `message` and `data` as they stand here. */
export class RpcError extends Data.TaggedError("RpcError")<{
  readonly code: Code
  readonly message: string
  readonly data?: unknown
}> {}

/** -32602 with every problem in the message and, apart, in `data.errors`. */
export const invalidParams = (problems: ReadonlyArray<Problem>): RpcError =>
  new RpcError({
    code: code.invalidParams,
    message: problems.map(({ message }) => message).join("; "),
    data: { errors: problems }
  })
