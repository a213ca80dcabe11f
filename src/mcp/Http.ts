import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"
import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js"
import * as Cache from "effect/Cache"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FiberRef from "effect/FiberRef"
import type * as Runtime from "effect/Runtime"
import { randomUUID } from "node:crypto"
import { type Caller, current, workingFor } from "../Caller.ts"
import { Graph } from "../Graph.ts"
import { SearchConfig } from "../Config.ts"
import { CollectionName } from "../model/Collection.ts"
import type { Right } from "../model/Key.ts"
import { Store } from "../Store.ts"
import * as ClientLog from "./ClientLog.ts"
import { type Message, readValue, withoutTag } from "./Message.ts"
import { overviewOf } from "./overview.ts"
import { places } from "./prompts.ts"
import { type Code, code, type RpcError } from "./RpcError.ts"
import { type Audit, checkOpening, firstEra, make as makeService, type Service } from "./Server.ts"
import type { Needs } from "./Tool.ts"
import { selectTools } from "./toolNames.ts"
import { makeWatching, type Use } from "./Watching.ts"
import type { Id } from "./wire.ts"

/** What the user says of the index and its tools. */
export interface Options {
  readonly readOnly: boolean
  /** Folders whose files the tools may index and forget. */
  readonly writePaths: ReadonlyArray<string>
  readonly name?: string | undefined
  readonly description?: string | undefined
  /** Names of the tools to offer, as `--filter` takes them. */
  readonly filter?: string | undefined
  /** Wraps what writes. */
  readonly audit?: Audit | undefined
  /** Sessions kept at most, those used last. */
  readonly mostSessions?: number
}

/** A client of the first era. */
interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly end: () => void
  /** Whose it is: the session is gone to all others. */
  readonly owner: string
  lastUsed: number
  /** Ids of its requests that are not answered. */
  readonly open: Set<Id>
}

/** What a request brings for who answers it. */
interface Extra extends Record<string, unknown> {
  readonly runtime: Runtime.Runtime<never>
  readonly service: Service
  readonly owner: string
}

/** How long a session is kept without a request. */
const idle = Duration.toMillis("24 hours")

/** The SDK's bound of a batch. */
const mostMessages = 100

/** How long what clients are told of the index may be out of date. */
const fresh = Duration.minutes(1)

/** An error in place of the SDK's answer. */
export const refuse = (
  status: number,
  { code, data, message }: { readonly code: Code; readonly message: string; readonly data?: unknown },
  id: Id | null = null
): Response => Response.json({ jsonrpc: "2.0", id, error: { code, message, data } }, { status })

const sessionless = {
  code: code.invalidRequest,
  message: "The header Mcp-Session-Id is missing: send initialize first, and then the id that it returns"
}

const sessionGone = { code: code.sessionNotFound, message: "The session is gone: begin another with initialize" }

/** How many sources are looked at, of how many collections, to name the index's folders. */
const looked = { sources: 60, collections: 10 }

const permissionsOf = ({ collections, rights }: Caller): string =>
  JSON.stringify([[...rights].sort(), collections === undefined ? null : [...collections].sort()])

const callerWith = (permissions: string): Caller => {
  const [rights, collections] = JSON.parse(permissions) as readonly [ReadonlyArray<Right>, ReadonlyArray<string> | null]
  return { rights: new Set(rights), collections: collections === null ? undefined : new Set(collections) }
}

/** The index in words for a model, and its tools. */
const look = Effect.fnUntraced(function* (options: Options) {
  const store = yield* Store
  const graph = yield* Graph
  const collections = yield* store.collections
  const first = collections.filter(({ documents }) => documents > 0).slice(0, looked.collections)
  const spread = places(Math.ceil(looked.sources / Math.max(1, first.length)))
  const each = yield* Effect.forEach(first, ({ name }) => {
    const collection = CollectionName.make(name)
    return Effect.all([Effect.orElseSucceed(store.sample(collection, spread), () => []), graph.linkageIn(collection)])
  })
  const sources = each.flatMap(([passages]) => passages.flatMap(({ source }) => source ?? []))
  return {
    overview: overviewOf({ collections, sources: [...new Set(sources)] }, options),
    joined: each.some(([, { linkage = 0 }]) => linkage > 0)
  }
})

/**
 * MCP's Streamable HTTP for clients of both eras: takes a request with its parsed body, in the fiber of its client.
 * Aborting the request cancels its work. A client of the first era has a session; it begins another when that is gone.
 */
export const make = (options: Options) =>
  Effect.gen(function* () {
    const { topK } = yield* SearchConfig
    const engine = yield* Effect.context<Needs>()
    const use: Use = (effect) => Effect.provide(effect, engine)
    const watching = yield* makeWatching(use)
    const seen = Effect.orElseSucceed(look(options), () => ({
      overview: overviewOf(undefined, options),
      joined: false
    }))
    const serviceFor = (caller: Caller) =>
      Effect.gen(function* () {
        const { joined, overview } = yield* seen
        const readOnly = options.readOnly || !caller.rights.has("write")
        // What it runs can be interrupted, as making it cannot.
        return yield* Effect.interruptible(
          makeService({
            name: options.name,
            overview,
            tools: Either.getOrElse(
              selectTools(options.filter, readOnly, { joined, writes: options.writePaths.length > 0 }),
              () => []
            ),
            config: Effect.succeed({ topK, readOnly, writePaths: options.writePaths }),
            use,
            ...(options.audit && { audit: options.audit }),
            watching
          })
        )
        // One caller that goes away would leave its interruption to all.
      }).pipe(Effect.uninterruptible)
    /** One service for all callers that may do the same, by what they may do. */
    const services = yield* Cache.make({
      capacity: 100,
      timeToLive: fresh,
      lookup: (permissions: string) => {
        const caller = callerWith(permissions)
        return workingFor(caller)(serviceFor(caller))
      }
    })
    // Most servers have no such client, and would start more slowly with the second SDK.
    const second = yield* Effect.cached(
      Effect.map(
        Effect.promise(() => import("./secondEra.ts")),
        ({ overHttp }) => overHttp()
      )
    )
    /** By their ids, the one used last at the end. */
    const sessions = new Map<string, Session>()
    const forget = (id: string) => {
      sessions.get(id)?.end()
      sessions.delete(id)
    }
    yield* Effect.addFinalizer(() => Effect.sync(() => [...sessions.keys()].forEach(forget)))

    const begin = (now: number, service: Service, owner: string): Promise<Session> => {
      const log = ClientLog.make()
      const server = firstEra(service, log)
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => {
          sessions.set(id, session)
          if (sessions.size <= (options.mostSessions ?? 1000)) return
          // Of whoever has most, so that nobody's many end those of others.
          const counts = new Map<string, number>()
          for (const { owner } of sessions.values()) counts.set(owner, (counts.get(owner) ?? 0) + 1)
          const most = Math.max(...counts.values())
          forget([...sessions].find(([, each]) => counts.get(each.owner) === most)![0])
        },
        onsessionclosed: (id) => void sessions.delete(id)
      })
      const session: Session = {
        lastUsed: now,
        owner,
        end: () => void server.close().catch(() => {}),
        transport,
        open: new Set()
      }
      const send = transport.send.bind(transport)
      transport.send = (message, options) => {
        if (!("method" in message)) session.open.delete(message.id as Id)
        return send(message, options)
      }
      return server.connect(transport).then(() => session)
    }

    /** Ends the stream of a request that was cancelled: the SDK answers none, and its client would wait for ever. */
    const answerCancelled = ({ open, transport }: Session, id: Id) => {
      // The SDK does not cancel one whose id is 0 or empty.
      if (!id || !open.has(id)) return
      const error = { code: code.internal, message: "Cancelled" }
      void transport.send({ jsonrpc: "2.0", id, error }).catch(() => {})
    }

    /** One of the first era's requests. */
    const inSession = async (
      request: Request,
      messages: ReadonlyArray<Message>,
      isBatch: boolean,
      now: number,
      authInfo: AuthInfo & { readonly extra: Extra }
    ): Promise<Response> => {
      const { extra } = authInfo
      for (const [id, { lastUsed }] of sessions) {
        if (now - lastUsed < idle) break
        forget(id)
      }
      const requests = messages.filter((message) => message._tag === "Request")
      const opening = requests.find(({ method }) => method === "initialize")
      const fault = opening && checkOpening(opening)
      if (fault !== undefined) return refuse(400, fault, opening!.id)
      const id = request.headers.get("mcp-session-id")
      if (id === null && opening === undefined) return refuse(400, sessionless)
      const session = id === null ? await begin(now, extra.service, extra.owner) : sessions.get(id)
      if (session === undefined || session.owner !== extra.owner) return refuse(404, sessionGone)
      if (id !== null) {
        session.lastUsed = now
        sessions.delete(id)
        sessions.set(id, session)
      }
      const { open, transport } = session
      const again = requests.find(
        ({ id }, at) => open.has(id) || requests.findIndex((request) => request.id === id) < at
      )
      if (again !== undefined) {
        const message = `The id ${JSON.stringify(again.id).slice(0, 100)} is that of a request which still runs in this session`
        return refuse(400, { code: code.invalidRequest, message }, again.id)
      }
      // A client that lost its connection opens another before it shows here that the old one is gone.
      if (request.method === "GET") transport.closeStandaloneSSEStream()
      request.signal.addEventListener("abort", () => {
        for (const { id } of requests) {
          transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } })
          answerCancelled(session, id)
        }
      })
      const sent = messages.filter((message) => message._tag !== "Response").map(withoutTag)
      if (request.method === "POST" && sent.length === 0) return new Response(null, { status: 202 })
      for (const { id } of requests) open.add(id)
      const response = await transport.handleRequest(request, { parsedBody: isBatch ? sent : sent[0], authInfo })
      if (!response.ok) for (const { id } of requests) open.delete(id)
      for (const message of messages) {
        if (message._tag !== "Notification" || message.method !== "notifications/cancelled") continue
        answerCancelled(session, message.params?.["requestId"] as Id)
      }
      return response
    }

    return (request: Request, body: unknown): Effect.Effect<Response> =>
      Effect.gen(function* () {
        const isBatch = Array.isArray(body)
        const values: ReadonlyArray<unknown> = isBatch ? body : request.method === "POST" ? [body] : []
        if (isBatch && (values.length === 0 || values.length > mostMessages)) {
          return refuse(400, {
            code: code.invalidRequest,
            message: `A batch holds 1 to ${mostMessages} messages, got ${values.length}`
          })
        }
        const messages = values.map(readValue)
        const invalid = messages.find((message) => message._tag === "Invalid")
        if (invalid !== undefined) return refuse(400, invalid, invalid.id)
        const caller = yield* FiberRef.get(current)
        const permissions = permissionsOf(caller)
        const service = yield* services.get(permissions)
        const { calls, handler, isFirstEra } = yield* second
        const now = yield* Clock.currentTimeMillis
        const extra = {
          runtime: yield* Effect.runtime(),
          service,
          owner: JSON.stringify([caller.name, caller.who, permissions])
        }
        const authInfo = { token: "", clientId: "", scopes: [], extra }
        return yield* Effect.promise(async () => {
          // Both eras' servers refuse what we leave out: unknown members, and null for what is absent.
          const sent = messages.map((message, at) => (message._tag === "Response" ? values[at] : withoutTag(message)))
          const parsedBody = isBatch ? sent : sent[0]
          if (await isFirstEra(request, parsedBody)) return inSession(request, messages, isBatch, now, authInfo)
          const [message] = messages
          if (message?._tag === "Request" && message.method === "subscriptions/listen") {
            try {
              const stop = await service.listen(message.params, handler.notify.resourceUpdated, extra.runtime)
              request.signal.addEventListener("abort", stop)
              const response = await handler.fetch(request, { parsedBody, authInfo })
              const isStream = response.headers.get("content-type")?.startsWith("text/event-stream")
              if (request.signal.aborted || isStream !== true) stop()
              return response
            } catch (error) {
              return refuse(400, error as RpcError, message.id)
            }
          }
          const isCall = message?._tag === "Request" && message.method === "tools/call"
          return (isCall ? calls : handler).fetch(request, { parsedBody, authInfo })
        })
      })
  })
