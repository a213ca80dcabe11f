import { type JsonFault, readJsonAtOnce } from "../model/readJson.ts"
import type { Frame } from "./frames.ts"
import { type Code, code } from "./RpcError.ts"

export type Id = string | number

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
export type Incoming = Message | { readonly _tag: "Batch"; readonly messages: ReadonlyArray<Message> }

const maxBatch = 1000

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isId = (value: unknown): value is Id =>
  typeof value === "string" || (typeof value === "number" && Number.isSafeInteger(value))

/** Some clients send null for absent fields. */
const withoutNulls = (params: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null))

/** One JSON value as a JSON-RPC 2.0 message. Unknown members are dropped. */
const readValue = (value: unknown): Message => {
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
  const call = { method, ...(isObject(params) ? { params: withoutNulls(params) } : {}) }
  return id === null ? { _tag: "Notification", ...call } : { _tag: "Request", id, ...call }
}

const unreadable = (of: Code, message: string, id: Id | null = null): Invalid => ({
  _tag: "Invalid",
  id,
  code: of,
  message
})

const idText = String.raw`("(?:[^"\\]|\\.)*"|-?\d+)`
/** Only places that must belong to the message itself: right after its first brace, right before its last. */
const idPlaces = [
  new RegExp(String.raw`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*${idText}\s*,`),
  new RegExp(String.raw`,\s*"id"\s*:\s*${idText}\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
]

/** Bytes of each end of a line that are searched for its id. */
const near = 512

/** The id of an incomplete message, if it is certain. */
const idOf = (head: Buffer, tail: Buffer): Id | null => {
  const found =
    idPlaces[0]?.exec(head.toString("latin1", 0, near)) ??
    idPlaces[1]?.exec(tail.toString("latin1", Math.max(0, tail.length - near)))
  if (found?.[1] === undefined) return null
  const read = readJsonAtOnce(Buffer.from(found[1], "latin1"))
  return "value" in read && isId(read.value) ? read.value : null
}

const isBlank = (bytes: Buffer): boolean => bytes.length < 1024 && bytes.toString("utf8").trim() === ""

/** The error for refused JSON, with its own id if that is certain. */
const refuse = (bytes: Buffer, { isSyntax, path, reason }: JsonFault): Invalid => {
  if (isSyntax) return unreadable(code.parse, `The line ${reason}`)
  const where = path === undefined || path.length === 0 ? "The message" : `${path.join(".")}:`
  return unreadable(code.invalidRequest, `${where} ${reason}`, idOf(bytes, bytes))
}

/** Undefined for a blank line. The limits are those of an HTTP body. */
export const readLine = (bytes: Buffer): Incoming | undefined => {
  if (isBlank(bytes)) return undefined
  const read = readJsonAtOnce(bytes, true)
  if ("fault" in read) return refuse(bytes, read.fault)
  const { value } = read
  if (!Array.isArray(value)) return readValue(value)
  if (value.length === 0) return unreadable(code.invalidRequest, "A batch must not be empty")
  if (value.length > maxBatch) {
    return unreadable(code.invalidRequest, `A batch holds at most ${maxBatch} messages, got ${value.length}`)
  }
  return { _tag: "Batch", messages: value.map(readValue) }
}

/** A line that was dropped is answered with its own id if that is certain, so that nobody waits in vain. */
export const readTooLong = ({ head, tail }: Frame & { readonly _tag: "TooLong" }, maxBytes: number): Invalid => {
  const limit = `${Math.floor(maxBytes / 1024 / 1024)} MiB`
  return unreadable(code.invalidRequest, `A message must be at most ${limit}; send less at a time`, idOf(head, tail))
}
