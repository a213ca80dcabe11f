import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js"
import type { Readable } from "node:stream"
import { makeSplitter } from "./frames.ts"
import { type Id, type Invalid, type Message, readLine, readTooLong, type Request } from "./message.ts"
import { code, type RpcError } from "./RpcError.ts"

/** Longest accepted message, in bytes. */
export const maxMessageBytes = 32 * 1024 * 1024

interface Output {
  /** Calls back when the text has left the process or cannot leave. */
  readonly write: (text: string, done: () => void) => void
  /** Bytes that have not left the process. */
  readonly pending: () => number
}

export interface StdioOptions {
  readonly input: Readable
  readonly output: Output
  /** Faults of a request before it is handled: an unknown method, parameters of the wrong shape. */
  readonly check: (request: Request) => RpcError | undefined
}

interface Batch {
  readonly answers: Array<object>
  open: number
}

interface Pending {
  readonly id: Id
  readonly batch: Batch | undefined
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
  private lastId = 0
  private closed = false

  constructor(private readonly options: StdioOptions) {}

  start(): Promise<void> {
    this.options.input.on("data", this.onData).once("end", this.onEnd)
    return Promise.resolve()
  }

  /** Resolves once every request read so far is answered. */
  settled(): Promise<void> {
    return this.pending.size === 0 ? Promise.resolve() : new Promise((resolve) => this.idle.push(resolve))
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
        return void this.answer(refusal(message), batch)
      case "Notification":
        if (message.method === "notifications/cancelled") return this.cancel(message.params)
        return this.onmessage?.(withoutTag(message))
      case "Request": {
        const wrong = this.options.check(message)
        if (wrong !== undefined) {
          const { code, data, message: text } = wrong
          const error = { code, message: text, ...(data === undefined ? {} : { data }) }
          return void this.answer({ jsonrpc: "2.0", id: message.id, error }, batch)
        }
        const key = ++this.lastId
        this.pending.set(key, { id: message.id, batch })
        return this.onmessage?.({ ...withoutTag(message), id: key })
      }
    }
  }

  /** The protocol forbids an answer to a cancelled request. */
  private cancel(params: Readonly<Record<string, unknown>> | undefined) {
    for (const [key, { batch, id }] of this.pending) {
      if (id !== params?.["requestId"]) continue
      this.pending.delete(key)
      this.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params: { ...params, requestId: key } })
      if (batch !== undefined) this.settle(batch)
    }
    this.rest()
  }

  private rest() {
    if (this.pending.size === 0) for (const resolve of this.idle.splice(0)) resolve()
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

const wantsAnswer = ({ _tag }: Message) => _tag === "Request" || _tag === "Invalid"

const withoutTag = <A extends { readonly _tag: string }>({ _tag, ...rest }: A) => ({ jsonrpc: "2.0" as const, ...rest })

const refusal = ({ code, id, message }: Invalid) => ({ jsonrpc: "2.0", id, error: { code, message } })
