import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as HttpServer from "@effect/platform/HttpServer"
import type * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Http from "node:http"
import * as Net from "node:net"
import { WebSocket } from "ws"
import { Answer as Answers } from "../../src/Answer.ts"
import { layerPermitting } from "../../src/Caller.ts"
import { Chunker } from "../../src/Chunker.ts"
import * as Config from "../../src/Config.ts"
import { Settings, type SettingsEncoded } from "../../src/Config/Settings.ts"
import { Embedder, EmbedderUnavailable, PackagedEmbedder } from "../../src/Embedder.ts"
import * as Builtin from "../../src/Embedder/Builtin.ts"
import * as Embedders from "../../src/Embedders.ts"
import { Graph } from "../../src/Graph.ts"
import { Indexer } from "../../src/Indexer.ts"
import { Llm } from "../../src/Llm.ts"
import * as Extractive from "../../src/Llm/Extractive.ts"
import { Prompt } from "../../src/Prompt.ts"
import { noApiKeys } from "../../src/Config/Env.ts"
import * as RateLimiter from "../../src/RateLimiter.ts"
import { Search } from "../../src/Search.ts"
import { StoreUnavailable, ports, whole } from "../../src/Store.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { FileIndexer } from "../../src/files/FileIndexer.ts"
import * as Files from "../../src/files/Loader/Files.ts"
import { formats } from "../../src/files/Loader/formats.ts"
import { Watcher } from "../../src/files/Watcher.ts"
import * as Listener from "../../src/http/Listener.ts"
import * as server from "../../src/http/serve.ts"
import { Judgements } from "../../src/measuring/Judgements.ts"
import { Judging } from "../../src/measuring/Judging.ts"
import type { Watching } from "../../src/model/Stats.ts"
import { Tokenizer } from "../../src/packaged/Tokenizer.ts"
import { Reindexer } from "../../src/upkeep/Reindexer.ts"
import { Transfer } from "../../src/upkeep/Transfer.ts"

const dimensions = 32

/** Each word a direction: texts that share words are near. */
const embed = (text: string): Option.Option<Float32Array> => {
  const vector = new Float32Array(dimensions)
  for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? []) {
    let hash = 7
    for (const letter of word) hash = (hash * 31 + letter.codePointAt(0)!) % 65_521
    vector[hash % dimensions]! += 1
  }
  const norm = Math.hypot(...vector)
  return norm === 0 ? Option.none() : Option.some(vector.map((value) => value / norm))
}

export interface Line {
  readonly message: string
  readonly annotations: Readonly<Record<string, unknown>>
}

const logger = (lines: Array<Line>) =>
  Logger.make(({ annotations, message }) => {
    lines.push({ message: String(message), annotations: Object.fromEntries(annotations) })
  })

export interface Given {
  readonly settings?: Omit<SettingsEncoded, "store">
  readonly apiKey?: string
  /** What is in the index from the start. */
  readonly documents?: ReadonlyArray<object>
  /** Why the embedder is down; it can be set while the server runs. */
  readonly faults?: { embedder?: string; store?: string; defect?: unknown; silent?: boolean }
  /** Holds up every search until it is done. */
  readonly gate?: Deferred.Deferred<void>
  /** What waits cannot be interrupted. */
  readonly stubborn?: boolean
  /** Done once a search has come to the gate, or a put waits. */
  readonly reached?: Deferred.Deferred<void>
  /** Done once what waited was interrupted. */
  readonly left?: Deferred.Deferred<void>
  /** What storing waits for. */
  readonly writing?: Deferred.Deferred<void>
  readonly grace?: Duration.Duration
  /** Gets every line of the log. */
  readonly log?: Array<Line>
  /** What time it is to the server. */
  readonly clock?: Clock.Clock
  /** How long requests may take to arrive. */
  readonly arrival?: { readonly head: number; readonly whole: number; readonly checked: number }
  /** What answers questions; quotes unless given. */
  readonly llm?: Llm["Type"]
  /** Where the index would be if it were not in memory; what stands beside it is there. */
  readonly index?: string
  /** How MCP is served. */
  readonly mcp?: Parameters<typeof server.layer>[0]["mcp"]
  /** Whether files can be indexed. */
  readonly files?: boolean
  /** The file with keys that can change while the server runs. */
  readonly keysFile?: Config.KeysFile
  /** How a watcher beside the server is doing. */
  readonly watch?: Watching
}

const embedder = (faults: NonNullable<Given["faults"]>) => {
  const or = <A>(value: A) =>
    Effect.suspend(() =>
      faults.embedder === undefined ? Effect.succeed(value) : new EmbedderUnavailable({ reason: faults.embedder })
    )
  return Layer.provide(
    Embedders.layerSingle,
    Layer.succeed(Embedder, {
      identity: or({ backend: "test", model: "words", dimensions, queryPrefix: "", passagePrefix: "" }),
      embedQuery: (text) => or(embed(text)),
      embedPassages: (texts) => or(texts.map(embed))
    })
  )
}

const watcher = ({ watch }: Given) =>
  Layer.succeed(Watcher, Watcher.make({ run: () => Effect.never, status: Effect.succeed(Option.fromNullable(watch)) }))

const noFiles = Layer.succeed(FileIndexer, FileIndexer.make({ run: () => Stream.empty, runTexts: () => Stream.empty }))

/** Files are really read, by the worker too. */
const files = Layer.provide(
  FileIndexer.Default,
  Layer.provide(
    Layer.unwrapEffect(
      Effect.map(Config.LimitsConfig, ({ maxFileBytes, ...extraction }) =>
        Files.layer({ formats, maxFileBytes, extraction })
      )
    ),
    NodeFileSystem.layer
  )
)

type Method = (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, unknown>

/** The real store, with whatever is wrong with it at the moment before each of its methods. */
const store = ({ faults = {}, gate, left, reached, stubborn = false, writing }: Given) => {
  const guarded = (use: Effect.Effect<unknown, unknown>): Effect.Effect<unknown, unknown> =>
    Effect.suspend(() => {
      if (faults.defect !== undefined) return Effect.die(faults.defect)
      if (faults.silent === true) return Effect.never
      return faults.store === undefined ? use : new StoreUnavailable({ reason: faults.store })
    })
  const waits: Readonly<Record<string, Deferred.Deferred<void> | undefined>> = { find: gate, put: writing }
  const wait = (name: string) => {
    const until = waits[name]
    if (until === undefined) return Effect.void
    const here = reached === undefined ? Effect.void : Deferred.succeed(reached, undefined)
    const waiting = stubborn ? Effect.uninterruptible(Deferred.await(until)) : Deferred.await(until)
    return Effect.onInterrupt(Effect.zipRight(here, waiting), () =>
      left === undefined ? Effect.void : Deferred.succeed(left, undefined)
    )
  }
  const wrap = (name: string, member: unknown) =>
    Effect.isEffect(member)
      ? guarded(member as Effect.Effect<unknown>)
      : (...args: ReadonlyArray<unknown>) => Effect.zipRight(wait(name), guarded((member as Method)(...args)))
  return Layer.effectContext(
    Effect.map(whole, (real) =>
      ports(
        Object.fromEntries(
          Object.entries(real).map(([name, member]) => [name, wrap(name, member)])
        ) as unknown as typeof real
      )
    )
  ).pipe(Layer.provide(Sqlite.layerMemory))
}

export interface Running {
  readonly port: number
  readonly url: string
  /** Shuts the server down, and waits until it is. */
  readonly stop: Effect.Effect<void>
}

/** The production routes on a free port, over an index in memory. */
export const start = Effect.fnUntraced(function* (given: Given = {}) {
  const settings = yield* Schema.decode(Settings)({
    rate_limit_per_second: 1_000_000,
    ...given.settings,
    store: { path: given.index ?? "/nowhere/index.db" }
  })
  const parts = {
    settings,
    keysFile: given.keysFile,
    apiKeys: { ...noApiKeys, service: Option.map(Option.fromNullable(given.apiKey), (key) => Redacted.make(key)) }
  }
  const config = Layer.merge(
    Config.layer(parts),
    Layer.provideMerge(RateLimiter.layerConfig, Config.layerServer(parts))
  )
  const engine = Layer.mergeAll(Answers.Default, Graph.Default, Judging.Default).pipe(
    Layer.provideMerge(Layer.merge(Prompt.Default, Layer.succeed(Llm, given.llm ?? Extractive.service))),
    Layer.provideMerge(Layer.mergeAll(Search.Default, Reindexer.Default, Transfer.Default)),
    Layer.provideMerge(given.files === true ? files : noFiles),
    Layer.provideMerge(Indexer.Default),
    Layer.provide(Chunker.Default),
    Layer.provideMerge(
      Layer.mergeAll(Layer.provide(layerPermitting, store(given)), embedder(given.faults ?? {}), Tokenizer.Default)
    ),
    Layer.provideMerge(Layer.effect(PackagedEmbedder, Builtin.make())),
    Layer.merge(watcher(given)),
    Layer.merge(Layer.provide(Judgements.Default, Layer.merge(NodeFileSystem.layer, NodePath.layer)))
  )
  const all = server
    .layer({ traced: false, mcp: given.mcp })
    .pipe(
      Layer.provideMerge(Listener.layerTest(given)),
      Layer.provide(engine),
      Layer.provide(config),
      Layer.provide(Logger.replace(Logger.defaultLogger, logger(given.log ?? []))),
      Layer.provide(given.clock === undefined ? Layer.empty : Layer.setClock(given.clock))
    )
  const scope = yield* Scope.make()
  const stop = Scope.close(scope, Exit.void)
  yield* Effect.addFinalizer(() => stop)
  const context = yield* Scope.extend(Layer.build(all), scope)
  const { address } = yield* Effect.provide(HttpServer.HttpServer, context)
  const port = address._tag === "TcpAddress" ? address.port : 0
  if (given.documents !== undefined) {
    const headers = given.apiKey === undefined ? {} : { authorization: `Bearer ${given.apiKey}` }
    const { status, text } = yield* ask(port, "POST", "/index", { body: { documents: given.documents }, headers })
    if (status !== 200) return yield* Effect.dieMessage(text)
  }
  return { port, url: `http://127.0.0.1:${port}`, stop } satisfies Running
}, Effect.orDie)

export interface Answer {
  readonly status: number
  readonly headers: Http.IncomingHttpHeaders
  readonly text: string
  readonly json: any
}

export interface Ask {
  readonly headers?: Readonly<Record<string, string>>
  /** A string goes as it is; anything else as JSON, with its type. */
  readonly body?: unknown
  /** The body as it is. */
  readonly bytes?: Uint8Array
}

/** One request over a socket of its own. */
export const ask = (
  port: number,
  method: string,
  path: string,
  { body, bytes, headers = {} }: Ask = {}
): Effect.Effect<Answer> =>
  Effect.async((resume, signal) => {
    const text = bytes ?? (body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body))
    const type = body === undefined || typeof body === "string" ? {} : { "content-type": "application/json" }
    const length =
      text === undefined || "transfer-encoding" in headers ? {} : { "content-length": Buffer.byteLength(text) }
    const request = Http.request(
      { host: "127.0.0.1", port, method, path, agent: false, signal, headers: { ...type, ...length, ...headers } },
      (response) => {
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString("utf8")
          const isJson = (response.headers["content-type"] ?? "").includes("json")
          const json: unknown = isJson && text !== "" ? JSON.parse(text) : undefined
          resume(Effect.succeed({ status: response.statusCode!, headers: response.headers, text, json }))
        })
      }
    )
    request.on("error", (error) => resume(Effect.die(error)))
    request.end(text)
  })

interface Ended {
  readonly code: number
  readonly reason: string
}

interface SocketOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly protocols?: ReadonlyArray<string>
}

/** A client of a WebSocket; the status of the answer where the server does not open a WebSocket. */
export const open = (port: number, { headers = {}, protocols = [] }: SocketOptions = {}) =>
  Effect.gen(function* () {
    const inbox = yield* Queue.unbounded<any>()
    const ended = yield* Deferred.make<Ended>()
    const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`, [...protocols], { headers })
    socket.on("message", (data) => inbox.unsafeOffer(JSON.parse(String(data))))
    socket.on("close", (code, reason) => Deferred.unsafeDone(ended, Effect.succeed({ code, reason: String(reason) })))
    socket.on("error", () => {})
    yield* Effect.addFinalizer(() => Effect.sync(() => socket.terminate()))
    yield* Effect.async<void, { status: number; json: any }>((resume) => {
      socket.once("open", () => resume(Effect.void))
      socket.once("unexpected-response", (_, response) => {
        let text = ""
        response.on("data", (chunk: Buffer) => (text += String(chunk)))
        response.on("end", () => resume(Effect.fail({ status: response.statusCode!, json: JSON.parse(text) })))
      })
    })
    const send = (message: unknown) => socket.send(typeof message === "string" ? message : JSON.stringify(message))
    /** Messages up to the one that ends an answer. */
    const answer = Effect.gen(function* () {
      const all: Array<any> = []
      do all.push(yield* Queue.take(inbox))
      while (!["done", "pong", "error"].includes(all.at(-1).type))
      return all
    })
    return { socket, send, take: Queue.take(inbox), answer, ended: Deferred.await(ended) }
  })

/** The messages that answer one over a WebSocket of its own. */
export const over = (port: number, message: object, headers: Record<string, string> = {}) =>
  Effect.scoped(
    Effect.flatMap(open(port, { headers }), ({ answer, send }) => {
      send(message)
      return answer
    })
  )

/** What is answered to bytes, and to more once an answer begins, until the connection ends. */
export const raw = (port: number, bytes: string | Uint8Array, more = ""): Effect.Effect<string> =>
  Effect.async((resume) => {
    const socket = Net.connect(port, "127.0.0.1", () => socket.write(bytes))
    socket.once("data", () => socket.write(more))
    let text = ""
    socket.on("data", (chunk) => (text += chunk.toString("latin1")))
    socket.on("error", () => {})
    socket.on("close", () => resume(Effect.succeed(text)))
  })
