import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import type { JSONRPCMessage, JSONRPCRequest } from "@modelcontextprotocol/sdk/types.js"
import type { Readable, Writable } from "node:stream"
import { type JsonFault, readJsonAtOnce } from "../model/readJson.ts"
import {
  type Invalid,
  type Message,
  readValue,
  type Request,
  toErrorResponse,
  wantsAnswer,
  withoutTag
} from "./Message.ts"
import { isObject, pathText } from "../model/kinds.ts"
import { type Code, code, type RpcError } from "./RpcError.ts"
import { type Frame, kept, makeSplitter } from "../runtime/lines.ts"
import { type Id, isId, maxBatch, maxMessageBytes, subscriptionKey } from "./wire.ts"

/** A process's streams, or others in their place, which have no process to end. */
export interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Writable
  readonly stderr: Writable
  readonly exit?: (code: number) => void
}

/**
 * Reserves standard output for the server: whatever else prints there, console.log and worker threads included, goes to
 * standard error instead.
 */
export const takeStdout = ({ stderr, stdout }: Pick<Streams, "stderr" | "stdout">): Output => {
  const write = stdout.write.bind(stdout)
  stdout.write = stderr.write.bind(stderr)
  return {
    write: (text, done) => void write(text, () => done()),
    pending: () => stdout.writableLength
  }
}

type Incoming = Message | { readonly _tag: "Batch"; readonly messages: ReadonlyArray<Message> }

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

/** The id of an incomplete message, if it is certain. */
const idOf = (head: Buffer, tail: Buffer): Id | null => {
  const found =
    idPlaces[0]?.exec(head.toString("latin1", 0, kept)) ??
    idPlaces[1]?.exec(tail.toString("latin1", Math.max(0, tail.length - kept)))
  if (found?.[1] === undefined) return null
  const read = readJsonAtOnce(Buffer.from(found[1], "latin1"))
  return "value" in read && isId(read.value) ? read.value : null
}

const isBlank = (bytes: Buffer): boolean => bytes.length < 1024 && bytes.toString("utf8").trim() === ""

/** The error for refused JSON, with its own id if that is certain. */
const refuse = (bytes: Buffer, { isSyntax, path, reason }: JsonFault): Invalid => {
  if (isSyntax) return unreadable(code.parse, `The line ${reason}`)
  const where = path === undefined || path.length === 0 ? "The message" : `${pathText(path)}:`
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
const readTooLong = ({ head, tail }: Frame & { readonly _tag: "TooLong" }, maxBytes: number): Invalid => {
  const limit = `${Math.floor(maxBytes / 1024 / 1024)} MiB`
  return unreadable(code.invalidRequest, `A message must be at most ${limit}; send less at a time`, idOf(head, tail))
}

export interface Output {
  /** Calls back when the text has left the process or cannot leave. */
  readonly write: (text: string, done: () => void) => void
  /** Bytes that have not left the process. */
  readonly pending: () => number
}

interface StdioOptions {
  readonly input: Readable
  readonly output: Output
  /** Serves messages of the second era, which say that they are; called for the first of them. */
  readonly serveSecond: (side: Transport) => void
  /** Watches what `subscriptions/listen` asks for, until what it returns is called; or an RpcError. */
  readonly listen: (params: unknown) => Promise<() => void>
  /** The fault of a request, before it is handled. */
  readonly check: (request: Request) => RpcError | undefined
}

interface Batch {
  readonly answers: Array<object>
  open: number
}

interface Pending {
  readonly id: Id
  readonly batch: Batch | undefined
  readonly isSecond: boolean
  /** A subscription, which ends with the connection, and what ends its watching. */
  readonly isEndless: boolean
  stop?: () => void
}

/** Where a message of the second era tells its version. */
const versionKey = "io.modelcontextprotocol/protocolVersion"

const metaOf = (params: Readonly<Record<string, unknown>> | undefined): Readonly<Record<string, unknown>> => {
  const meta = params?.["_meta"]
  return isObject(meta) ? meta : {}
}

/** Unwritten output above which no more input is read. */
const highWater = 8 * 1024 * 1024

/**
 * Lines of JSON-RPC on a pair of streams, for the SDK's server. Beyond the SDK's transport, it answers invalid
 * messages, accepts batches, and gives each request an internal id, so that repeated ids, or the id 0, cause no
 * confusion.
 */
export class StdioTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void

  private readonly splitter = makeSplitter(maxMessageBytes)
  private readonly pending = new Map<number, Pending>()
  private readonly idle: Array<() => void> = []
  private second: Transport | undefined
  /** Messages for the second era's server while it is loaded. */
  private readonly early: Array<JSONRPCMessage> = []
  private lastId = 0
  private closed = false

  constructor(private readonly options: StdioOptions) {}

  start(): Promise<void> {
    this.options.input.on("data", this.onData).once("end", this.onEnd).resume()
    return Promise.resolve()
  }

  /** Resolves once every request read so far is answered. */
  settled(): Promise<void> {
    return this.isIdle() ? Promise.resolve() : new Promise((resolve) => this.idle.push(resolve))
  }

  /** Answers all open requests with an error: nobody will process them any more. */
  abandon(message: string): void {
    for (const [key, { batch, id }] of this.pending) {
      this.pending.delete(key)
      void this.answer({ jsonrpc: "2.0", id, error: { code: code.internal, message } }, batch)
    }
    this.rest()
  }

  close(): Promise<void> {
    if (!this.closed) {
      this.closed = true
      for (const { stop } of this.pending.values()) stop?.()
      this.options.input.off("data", this.onData).off("end", this.onEnd).pause()
      this.onclose?.()
    }
    return Promise.resolve()
  }

  send(message: JSONRPCMessage): Promise<void> {
    if ("method" in message) return this.write(message)
    const key = message.id as number
    const found = this.pending.get(key)
    if (found === undefined) return Promise.resolve()
    this.pending.delete(key)
    found.stop?.()
    const written = this.answer({ ...message, id: found.id }, found.batch)
    this.rest()
    return written
  }

  private readonly onData = (chunk: Buffer) => {
    for (const frame of this.splitter.push(chunk)) this.read(frame)
  }

  private readonly onEnd = () => {
    for (const frame of this.splitter.end()) this.read(frame)
  }

  private read(frame: ReturnType<typeof this.splitter.push>[number]) {
    const incoming = frame._tag === "Line" ? readLine(frame.bytes) : readTooLong(frame, maxMessageBytes)
    if (incoming === undefined) return
    if (incoming._tag !== "Batch") return this.accept(incoming, undefined)
    const batch: Batch = { answers: [], open: incoming.messages.filter(wantsAnswer).length }
    for (const message of incoming.messages) this.accept(message, batch)
  }

  private accept(message: Message, batch: Batch | undefined) {
    switch (message._tag) {
      case "Response":
        return
      case "Invalid":
        return void this.answer(toErrorResponse(message), batch)
      case "Notification":
        if (message.method === "notifications/cancelled") return this.cancel(message.params)
        return this.deliver(withoutTag(message), versionKey in metaOf(message.params))
      case "Request": {
        const wrong = this.options.check(message)
        if (wrong !== undefined) return this.refuse(wrong, message.id, batch)
        const key = ++this.lastId
        const isSecond = versionKey in metaOf(message.params)
        const isEndless = isSecond && message.method === "subscriptions/listen"
        const pending: Pending = { id: message.id, batch, isSecond, isEndless }
        this.pending.set(key, pending)
        const request = { ...withoutTag(message), id: key }
        return isEndless ? void this.listen(request, pending) : this.deliver(request, isSecond)
      }
    }
  }

  private refuse({ code, data, message }: RpcError, id: Id, batch: Batch | undefined): void {
    const error = { code, message, data }
    void this.answer({ jsonrpc: "2.0", id, error }, batch)
  }

  /** A change after the confirmation must not be missed, so that watching begins first. */
  private async listen(request: JSONRPCRequest, pending: Pending): Promise<void> {
    const key = request.id as number
    try {
      pending.stop = await this.options.listen(request.params)
    } catch (error) {
      if (this.pending.delete(key)) this.refuse(error as RpcError, pending.id, pending.batch)
      return
    }
    if (this.closed || !this.pending.has(key)) pending.stop()
    else this.deliver(request, true)
  }

  private deliver(message: JSONRPCMessage, isSecond: boolean) {
    if (!isSecond) return this.onmessage?.(message)
    if (this.second === undefined) {
      this.second = {
        start: async () => {
          for (const message of this.early.splice(0)) this.second?.onmessage?.(message)
        },
        send: (message) => this.send(this.withOwnId(message)),
        close: () => Promise.resolve()
      }
      this.options.serveSecond(this.second)
    }
    if (this.second.onmessage === undefined) return this.early.push(message)
    return this.second.onmessage(message)
  }

  /** A subscription's messages name its request, by the client's id. */
  private withOwnId(message: JSONRPCMessage): JSONRPCMessage {
    if (!("method" in message)) return message
    const found = this.pending.get(metaOf(message.params)[subscriptionKey] as number)
    if (found === undefined) return message
    const params = { ...message.params, _meta: { ...message.params?._meta, [subscriptionKey]: found.id } }
    return { ...message, params }
  }

  /** The protocol forbids an answer to a cancelled request. */
  private cancel(params: Readonly<Record<string, unknown>> | undefined) {
    for (const [key, { batch, id, isSecond, stop }] of this.pending) {
      if (id !== params?.["requestId"]) continue
      this.pending.delete(key)
      stop?.()
      const forwarded = { method: "notifications/cancelled", params: { ...params, requestId: key } }
      this.deliver({ jsonrpc: "2.0", ...forwarded }, isSecond)
      if (batch !== undefined) this.settle(batch)
    }
    this.rest()
  }

  private isIdle(): boolean {
    return [...this.pending.values()].every(({ isEndless }) => isEndless)
  }

  private rest() {
    if (this.isIdle()) for (const resolve of this.idle.splice(0)) resolve()
  }

  private answer(message: object, batch: Batch | undefined): Promise<void> {
    if (batch === undefined) return this.write(message)
    batch.answers.push(message)
    return this.settle(batch)
  }

  /** One answer of a batch is ready, or will not come; the last one sends them all. */
  private settle(batch: Batch): Promise<void> {
    batch.open--
    return batch.open > 0 || batch.answers.length === 0 ? Promise.resolve() : this.write(batch.answers)
  }

  private write(message: object): Promise<void> {
    const { input, output } = this.options
    return new Promise((resolve) => {
      output.write(`${JSON.stringify(message)}\n`, () => {
        if (!this.closed && input.isPaused() && output.pending() < highWater) input.resume()
        resolve()
      })
      if (output.pending() > highWater) input.pause()
    })
  }
}
