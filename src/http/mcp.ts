import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type SearchConfig, ServerConfig } from "../Config.ts"
import type { Options } from "../mcp/Http.ts"
import { code } from "../mcp/RpcError.ts"
import type { Needs } from "../mcp/Tool.ts"
import { RateLimiter } from "../RateLimiter.ts"
import { once } from "../runtime/once.ts"
import * as Turn from "../runtime/Turn.ts"
import { Access } from "./Access.ts"
import { makeAudit } from "./audit.ts"
import { Listener } from "./Listener.ts"
import { idOf, render } from "./respond.ts"

/** Streams on which a client waits for whatever may come. */
const isEndless = (method: string, body: unknown): boolean =>
  method === "GET" || (body as { readonly method?: unknown } | undefined)?.method === "subscriptions/listen"

const open = new TextEncoder().encode(": open\n\n")

/** The first events of an answer, and whether there are no others: nearly always, and then no stream need be run. */
const read = (body: ReadableStream<Uint8Array>) =>
  Effect.promise(async (signal) => {
    const reader = body.getReader()
    signal.addEventListener("abort", () => void reader.cancel().catch(() => {}))
    const { value = new Uint8Array() } = await reader.read()
    const state = await Promise.race([reader.closed, "open"])
    reader.releaseLock()
    return { bytes: value, isAll: state !== "open" }
  })

/** MCP at /mcp, for clients that have the key. */
export const layer = (options: Omit<Options, "readOnly" | "writePaths" | "audit">) =>
  HttpApiBuilder.Router.use((router) =>
    Effect.gen(function* () {
      const access = yield* Access
      const limiter = yield* RateLimiter
      const { closing, grace } = yield* Listener
      const { writePaths } = yield* ServerConfig
      const audit = yield* makeAudit
      const given: Options = {
        ...options,
        readOnly: access.readOnly,
        writePaths,
        audit: (tool, collection, work) => audit(`mcp ${tool}`, { collection })(work)
      }
      const engine = yield* Effect.context<Needs | SearchConfig | Scope.Scope>()
      // Servers that no agent asks start faster without the SDK.
      const loaded = once(
        Effect.gen(function* () {
          const { make, refuse } = yield* Effect.promise(() => import("../mcp/Http.ts"))
          return { refuse, answer: yield* make(given) }
        }).pipe(Effect.provide(engine))
      )
      const shutdown = Deferred.await(closing)
      const late = Effect.zipRight(shutdown, Effect.sleep(Duration.times(grace, 0.8)))
      /** Sends an answer; a client that goes away aborts what it has asked. */
      const send = Effect.fnUntraced(function* (
        response: Response,
        abort: Effect.Effect<void>,
        revoked?: Effect.Effect<void>
      ) {
        const { body, headers, status } = response
        const { "content-type": contentType, ...rest } = Object.fromEntries(headers)
        if (body === null || contentType?.startsWith("text/event-stream") !== true) {
          const text = yield* Effect.promise(() => response.text())
          return HttpServerResponse.text(text, { status, headers: rest, ...(contentType && { contentType }) })
        }
        // Headers leave with the first bytes, and an endless stream may have none for long.
        const opening = revoked === undefined ? yield* read(body) : { bytes: open, isAll: false }
        if (opening.isAll) return HttpServerResponse.uint8Array(opening.bytes, { status, headers: rest, contentType })
        const events = Stream.fromReadableStream(
          () => body,
          (error) => error
        ).pipe(
          Stream.orDie,
          (events) => Stream.concat(Stream.make(opening.bytes), events),
          Stream.interruptWhen(
            revoked !== undefined
              ? Effect.raceFirst(shutdown, Effect.zipRight(revoked, abort))
              : Effect.zipRight(late, abort)
          ),
          Stream.ensuringWith((exit) => (Exit.isInterrupted(exit) ? abort : Effect.void))
        )
        return HttpServerResponse.stream(events, { status, headers: rest, contentType })
      })

      const handle = Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        yield* access.authorize
        yield* access.checkOrigin(request)
        const { headers, method } = request
        const { answer, refuse } = yield* loaded
        const controller = new AbortController()
        const abort = Effect.sync(() => controller.abort())
        const sent = method === "POST" ? yield* Effect.either(request.json) : Either.right(undefined)
        if (Either.isLeft(sent)) {
          const { status, detail } = render(sent.left, idOf(request)).body
          const isSyntax = /is (?:not JSON|not UTF-8|empty)/.test(detail)
          const kind = isSyntax ? code.parse : code.invalidRequest
          return yield* send(refuse(status, { code: kind, message: detail }), abort)
        }
        const body = sent.right
        // The request itself has taken one of its client.
        const client = yield* FiberRef.get(Turn.current)
        if (Array.isArray(body)) yield* Effect.forEach(body.slice(1), () => limiter.take(client), { discard: true })
        const asked = new Request("http://localhost/mcp", { method, headers, signal: controller.signal })
        return yield* Effect.gen(function* () {
          const response = yield* answer(asked, body)
          return yield* send(response, abort, isEndless(method, body) ? yield* access.revoked : undefined)
        }).pipe(Effect.onInterrupt(() => abort))
      })
      yield* router.get("/mcp", handle)
      yield* router.post("/mcp", handle)
      yield* router.del("/mcp", handle)
    })
  )
