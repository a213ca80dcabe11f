import { isObject } from "../model/kinds.ts"
import { type Code, code } from "./RpcError.ts"
import { type Id, isId } from "./wire.ts"

export interface Request {
  readonly _tag: "Request"
  readonly id: Id
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

export interface Notification {
  readonly _tag: "Notification"
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

/** An invalid message; the id is null if it is unknown. */
export interface Invalid {
  readonly _tag: "Invalid"
  readonly id: Id | null
  readonly code: Code
  readonly message: string
}

/** A response to a request of ours; we send none. */
export interface Response {
  readonly _tag: "Response"
}

export type Message = Request | Notification | Response | Invalid

/** Some clients and models send null for absent fields. */
export const withoutNulls = (params: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null))

/** The same in `_meta`. A server without tasks must overlook that a request asks for one; the SDK refuses it. */
const paramsOf = (params: Readonly<Record<string, unknown>>) => {
  const { _meta: meta, task: _, ...rest } = withoutNulls(params)
  return meta === undefined ? rest : { ...rest, _meta: isObject(meta) ? withoutNulls(meta) : meta }
}

/** One JSON value as a JSON-RPC 2.0 message. Unknown members are dropped. */
export const readValue = (value: unknown): Message => {
  const id = isObject(value) && isId(value["id"]) ? value["id"] : null
  const invalid = (message: string, of: Code = code.invalidRequest): Invalid => ({
    _tag: "Invalid",
    id,
    code: of,
    message
  })
  if (!isObject(value)) return invalid("A message must be a JSON object")
  if (value["jsonrpc"] !== "2.0") return invalid('jsonrpc must be "2.0"')
  if (!("method" in value) && ("result" in value || "error" in value)) return { _tag: "Response" }
  const { method, params } = value
  if (typeof method !== "string") return invalid("method must be a string")
  if ("id" in value && id === null) return invalid("id must be a string or an integer")
  if (params !== undefined && params !== null && !isObject(params)) {
    return invalid("params must be an object", code.invalidParams)
  }
  const call = { method, ...(isObject(params) ? { params: paramsOf(params) } : {}) }
  return id === null ? { _tag: "Notification", ...call } : { _tag: "Request", id, ...call }
}

export const wantsAnswer = ({ _tag }: Message) => _tag === "Request" || _tag === "Invalid"

export const withoutTag = <A extends { readonly _tag: string }>({ _tag, ...rest }: A) => ({
  jsonrpc: "2.0" as const,
  ...rest
})

export const toErrorResponse = ({ code, id, message }: Invalid) => ({ jsonrpc: "2.0", id, error: { code, message } })
