import { isatty } from "node:tty"
import { readJsonAtOnce } from "../model/readJson.ts"
import { replaced } from "../runtime/installation.ts"
import { makeSplitter } from "../runtime/lines.ts"
import { claim, join, type Meeting, nameOf, socketOf, valueOf, workingDirectory } from "./meeting.ts"
import { isId, listenedTo, maxBatch, maxMessageBytes, subscriptionKey } from "./wire.ts"
import { attempt } from "../model/attempt.ts"

// The program itself, with everything it needs, is loaded only where no other process can be joined.

/** Arguments of a process that serves nobody else and joins nobody. */
const standalone = new Set(["install", "--help", "-h", "--version", "-V", "--completions", "--http", "--no-join", "--"])
/** Arguments of a process that needs an engine of its own: it follows files, or has a log. */
const own = new Set(["--watch", "--log-level"])

type Message = Readonly<Record<string, unknown>>

/** A line of requests that are not all answered. */
interface Open {
  readonly line: Buffer
  readonly requests: ReadonlyArray<Message>
  readonly isBatch: boolean
  /** Keys of those not answered. */
  readonly left: Set<string>
}

const keyOf = (id: unknown): string => JSON.stringify(id)

interface Line {
  readonly messages: ReadonlyArray<Message>
  readonly isBatch: boolean
}

/** The messages in a line's value, without what is none. */
const messagesIn = (value: unknown): Line => {
  const isBatch = Array.isArray(value)
  const isMessage = (one: unknown): one is Message => typeof one === "object" && one !== null
  return { isBatch, messages: (isBatch ? value : [value]).filter(isMessage) }
}

const answersOf = (line: Buffer): ReadonlyArray<Message> =>
  messagesIn(attempt(() => JSON.parse(line.toString("utf8")) as unknown)).messages

/** The messages of a client's line, unless the engine refuses it as a whole, under no message's id. */
const askedIn = (line: Buffer): Line => {
  const read = readJsonAtOnce(line, true)
  const value = "value" in read ? read.value : undefined
  return messagesIn(Array.isArray(value) && value.length > maxBatch ? undefined : value)
}

const paramsOf = ({ params }: Message): Message =>
  (typeof params === "object" && params !== null ? params : {}) as Message

const lost =
  "The server that was to do this has ended or does not answer, and whether it was done is unknown: look at what is indexed, with list_sources, before you send it again"

/** Bytes of the longest line that is kept to be sent again, and of all such lines together. */
const kept = { line: 65_536, all: 8 * 1024 * 1024 }

/** Longest answer that is passed on whole. */
const longest = 256 * 1024 * 1024

/** What a client has begun and said, as far as another engine must know it. */
class Conversation {
  private readonly open = new Set<Open>()
  private held = 0
  /** What a new engine hears first: `initialize`, its confirmation, the level of the log, what is watched. */
  private readonly greeting = new Map<string, Message>()
  /** Answers that the client does not wait for. */
  private readonly unasked = new Set<string>()
  private count = 0
  writing: ReadonlySet<string> = new Set()

  /** Whether everything is answered, except subscriptions, which never are. */
  get isIdle(): boolean {
    return (
      this.unasked.size === 0 &&
      [...this.open].every(({ requests }) => requests.every(({ method }) => method === "subscriptions/listen"))
    )
  }

  /** A ping for the engine: once it is answered, so is every line sent before it. */
  last(): string {
    return `${JSON.stringify(this.unaskedFor({ jsonrpc: "2.0", method: "ping" }))}\n`
  }

  private unaskedFor(message: Message): Message {
    const id = `clew-again-${++this.count}`
    this.unasked.add(keyOf(id))
    return { ...message, id }
  }

  asked(line: Buffer): void {
    const { isBatch, messages } = askedIn(line)
    const requests = messages.filter((message) => isId(message["id"]) && "method" in message)
    for (const message of messages) {
      if (message["method"] === "notifications/initialized") this.greeting.set("initialized", message)
      if (message["method"] !== "notifications/cancelled") continue
      const key = keyOf(paramsOf(message)["requestId"])
      while (this.of(key) !== undefined) this.close(key)
    }
    if (requests.length === 0) return
    const keeps = line.length <= kept.line && this.held + line.length <= kept.all
    if (keeps) this.held += line.length
    const left = new Set(requests.map(({ id }) => keyOf(id)))
    this.open.add({ line: keeps ? line : Buffer.alloc(0), requests, isBatch, left })
  }

  /** Whether the client waits for a line of the engine. */
  isAnswer(line: Buffer): boolean {
    for (const message of answersOf(line)) {
      if ("method" in message) continue
      const key = keyOf(message["id"])
      if (this.unasked.delete(key)) return false
      const request = this.of(key)?.requests.find(({ id }) => keyOf(id) === key)
      if (request !== undefined && "result" in message) this.remember(request)
      this.close(key)
    }
    return true
  }

  private remember(request: Message): void {
    const { uri } = paramsOf(request)
    switch (request["method"]) {
      case "initialize":
      case "logging/setLevel":
        return void this.greeting.set(String(request["method"]), request)
      case "resources/subscribe":
        return void this.greeting.set(`watch ${String(uri)}`, request)
      case "resources/unsubscribe":
        return void this.greeting.delete(`watch ${String(uri)}`)
    }
  }

  /** The first line that has this request. */
  private of(key: string): Open | undefined {
    for (const open of this.open) if (open.left.has(key)) return open
    return undefined
  }

  private close(key: string, open = this.of(key)): void {
    open?.left.delete(key)
    if (open?.left.size !== 0) return
    this.open.delete(open)
    this.held -= open.line.length
  }

  /** The engine is gone: what the client hears of writes that it had begun, or of all calls if there is no other. */
  refuse(all = false): ReadonlyArray<object> {
    this.unasked.clear()
    return [...this.open].flatMap((open) => {
      const { isBatch, left, line, requests } = open
      const isLost = ({ method, params }: Message) =>
        all
          ? method !== "subscriptions/listen"
          : method === "tools/call" && this.writing.has(String((params as Message | undefined)?.["name"]))
      if (line.length > 0 && !requests.some(isLost)) return []
      const errors = requests.flatMap(({ id }) =>
        left.has(keyOf(id)) ? [{ jsonrpc: "2.0", id, error: { code: -32603, message: lost } }] : []
      )
      for (const key of left) this.close(key, open)
      return [isBatch ? errors : errors[0]!]
    })
  }

  /** What another engine hears first, and the requests that wait for an answer. */
  replay(): Buffer {
    const order = (name: string) => ["initialize", "initialized"].indexOf(name) >>> 0
    const greeting = [...this.greeting]
      .toSorted(([a], [b]) => order(a) - order(b))
      .map(([, message]) => ("id" in message ? this.unaskedFor(message) : message))
    const lines = greeting.map((message) => Buffer.from(`${JSON.stringify(message)}\n`))
    return Buffer.concat([...lines, ...[...this.open].flatMap(({ line }) => [line, Buffer.from("\n")])])
  }

  /** Notices of documents that may have changed meanwhile. */
  changes(): ReadonlyArray<object> {
    const changed = (params: object) => ({ jsonrpc: "2.0", method: "notifications/resources/updated", params })
    const first = [...this.greeting.values()].flatMap((message) =>
      message["method"] === "resources/subscribe" ? [changed({ uri: paramsOf(message)["uri"] })] : []
    )
    const listening = [...this.open].flatMap(({ left, requests }) =>
      requests.filter(({ id, method }) => method === "subscriptions/listen" && left.has(keyOf(id)))
    )
    const second = listening.flatMap(({ id, params }) =>
      listenedTo(params).map((uri) => changed({ _meta: { [subscriptionKey]: id }, uri }))
    )
    return [...first, ...second]
  }
}

type Joined = Exclude<Awaited<ReturnType<typeof join>>, string>

/** How long requests may take after the end of input, as of a process with an engine of its own. */
const grace = 30_000

/** The same after a signal. */
const graceAtSignal = 10_000

const parentPoll = 250

/** While a request waits: how often the engine is checked for silence, and how many silent checks end the connection. */
const silence = { poll: 10_000, most: 3 }

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/**
 * Passes the bytes of this process's client to the process that it has joined, and back. When that ends, it finds
 * another one or opens the engine itself; the client notices one slow answer.
 */
const relay = (first: Joined, again: () => Promise<Joined>, leave: () => void): void => {
  const { ppid, stdin, stdout } = process
  const write = stdout.write.bind(stdout)
  // From here on, nothing else may print there.
  stdout.write = process.stderr.write.bind(process.stderr)
  const conversation = new Conversation()
  const toEngine = makeSplitter(maxMessageBytes)
  let socket = first.socket
  let hasEnded = false

  stdout.on("error", leave)
  setInterval(() => process.ppid === ppid || leave(), parentPoll).unref()

  const finish = () => write("", leave)
  const tell = (message: object) => write(`${JSON.stringify(message)}\n`)
  // Also where another engine cannot be opened here.
  process.once("exit", () => conversation.refuse(true).forEach(tell))

  const move = async () => {
    const found = await again()
    for (const change of conversation.changes()) tell(change)
    found.socket.write(Buffer.concat([conversation.replay(), toEngine.rest()]))
    if (hasEnded) found.socket.write(conversation.last())
    attach(found)
  }

  const attach = ({ socket: next, welcome }: Joined) => {
    socket = next
    conversation.writing = new Set(welcome.writing)
    const toClient = makeSplitter(longest)
    let silent = 0
    next.on("data", (chunk: Buffer) => {
      silent = 0
      for (const frame of toClient.push(chunk)) {
        if (frame._tag !== "Line" || !conversation.isAnswer(frame.bytes)) continue
        if (write(Buffer.concat([frame.bytes, Buffer.of(0x0a)]))) continue
        next.pause()
        stdout.once("drain", () => next.resume())
      }
      if (hasEnded && conversation.isIdle) finish()
    })
    let isLost = false
    const lose = () => {
      if (isLost) return
      isLost = true
      clearInterval(listening)
      next.destroy()
      stdin.pause()
      for (const error of conversation.refuse()) tell(error)
      if (hasEnded && conversation.isIdle) return finish()
      void move()
    }
    // A process may be stopped, or hang, and keep its connections. Nothing may be sent within a line of the client.
    const listening = setInterval(() => {
      if (conversation.isIdle || next.isPaused() || toEngine.rest().length > 0) silent = 0
      else if (++silent === 1) next.write(conversation.last())
      else if (silent > silence.most) lose()
    }, silence.poll).unref()
    next.on("error", lose).on("end", lose).on("close", lose)
    next.resume()
    if (!hasEnded) stdin.resume()
  }

  stdin.on("data", (chunk: Buffer) => {
    for (const frame of toEngine.push(chunk)) if (frame._tag === "Line") conversation.asked(frame.bytes)
    if (socket.write(chunk)) return
    stdin.pause()
    socket.once("drain", () => stdin.resume())
  })
  const onEnd = () => {
    if (hasEnded) return
    hasEnded = true
    for (const frame of toEngine.end()) if (frame._tag === "Line") conversation.asked(frame.bytes)
    socket.write(`\n${conversation.last()}`)
    setTimeout(leave, grace).unref()
  }
  stdin.on("end", onEnd).on("close", onEnd).on("error", onEnd)
  attach(first)
}

/**
 * Starts `clew mcp`: joins another process with the same engine if there is one; else runs the program, which others
 * may join then.
 */
export const start = async (run: (meeting?: Meeting) => void): Promise<void> => {
  const args = process.argv.slice(2)
  const { env } = process
  const place = () =>
    socketOf({ db: valueOf(args, "--db"), config: valueOf(args, "--config"), cwd: workingDirectory(env), env })
  const first = args.some((arg) => standalone.has(nameOf(arg))) ? undefined : place()
  if (first === undefined) return run()
  const hello = { args, cwd: workingDirectory(env) }
  // A terminal is told what this is.
  const joins = !isatty(0) && !args.some((arg) => own.has(nameOf(arg)))

  /** The process there, or this one if there is none; tries again while others begin. */
  const find = async (file: string | undefined, tries = 100): Promise<Joined | "refused" | Meeting> => {
    if (file === undefined) return "refused"
    const found = joins ? await join(file, hello) : "absent"
    if (typeof found === "object" || found === "refused") return found
    const meeting = found === "absent" ? await claim(file) : undefined
    if (meeting !== undefined) return meeting
    if (!joins || tries === 0) return "refused"
    await pause(10 + Math.random() * 20)
    return find(file, tries - 1)
  }

  const found = await find(first)
  if (found === "refused") return run()
  if ("address" in found) return run(found)

  let leave = (): void => process.exit(0)
  const signals = { SIGINT: 130, SIGTERM: 143 } as const
  let ending: NodeJS.Timeout | undefined
  /** Ends once what was asked is answered, or at a second signal. */
  const stop = (signal: keyof typeof signals) => {
    leave = () => process.exit(signals[signal])
    if (ending !== undefined) return leave()
    ending = setTimeout(leave, graceAtSignal)
    process.stdin.destroy()
  }
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, stop)
  const again = async (): Promise<Joined> => {
    // The configuration may have changed, with which an engine is opened here.
    const now = place()
    if (now !== first)
      process.stderr.write("clew: the configuration has changed since this process began, and is read anew\n")
    let next = await find(now)
    if (next !== "refused" && "socket" in next) return next
    // Its own engine, which this process then joins as others do; not to be found, if it is not theirs.
    const own = `${first}.${process.pid}`
    if (next === "refused") next = (await claim(own)) ?? "refused"
    if (next === "refused") {
      process.stderr.write(
        "clew: the server that this process had joined has ended, and no other can be started here\n"
      )
      process.exit(1)
    }
    // The program has its own way to end.
    clearTimeout(ending)
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, stop)
    let left = () => {}
    try {
      run({ ...next, left: new Promise<void>((resolve) => (left = resolve)) })
    } catch (error) {
      process.stderr.write(`clew: ${replaced() ?? String(error)}\n`)
      process.exit(1)
    }
    leave = left
    const joined = await join(next.address, hello)
    if (typeof joined === "object") return joined
    process.stderr.write("clew: the index could not be opened again after the server that had opened it ended\n")
    process.exit(1)
  }
  relay(found, again, () => leave())
}
