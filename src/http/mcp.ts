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
      const send = (response: Response, abort: Effect.Effect<void>, revoked?: Effect.Effect<void>) => {
        const { body, headers, status } = response
        const { "content-type": contentType, ...rest } = Object.fromEntries(headers)
        if (body === null || contentType?.startsWith("text/event-stream") !== true) {
          return Effect.map(
            Effect.promise(() => response.text()),
            (text) => HttpServerResponse.text(text, { status, headers: rest, ...(contentType && { contentType }) })
          )
        }
        // Headers leave with the first bytes, and an endless stream may have none for long.
        const opening = revoked !== undefined ? Stream.make(new TextEncoder().encode(": open\n\n")) : Stream.empty
        const events = Stream.fromReadableStream(
          () => body,
          (error) => error
        ).pipe(
          Stream.orDie,
          (events) => Stream.concat(opening, events),
          Stream.interruptWhen(
            revoked !== undefined
              ? Effect.raceFirst(shutdown, Effect.zipRight(revoked, abort))
              : Effect.zipRight(late, abort)
          ),
          Stream.ensuringWith((exit) => (Exit.isInterrupted(exit) ? abort : Effect.void))
        )
        return Effect.succeed(HttpServerResponse.stream(events, { status, headers: rest, contentType }))
      }

      const handle = Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        yield* access.authorize
        yield* access.checkOrigin(request)
        const { headers, method } = request
        const { answer, refuse } = yield* loaded
        const controller = new AbortController()
        const abort = Effect.sync(() => controller.abort())
        const read = method === "POST" ? yield* Effect.either(request.json) : Either.right(undefined)
        if (Either.isLeft(read)) {
          const { status, detail } = render(read.left, idOf(request)).body
          const isSyntax = /is (?:not JSON|not UTF-8|empty)/.test(detail)
          const kind = isSyntax ? code.parse : code.invalidRequest
          return yield* send(refuse(status, { code: kind, message: detail }), abort)
        }
        const body = read.right
        // The request itself has taken one of its client.
        const client = yield* FiberRef.get(Turn.current)
        if (Array.isArray(body)) yield* Effect.forEach(body.slice(1), () => limiter.take(client), { discard: true })
        const asked = new Request("http://localhost/mcp", { method, headers, signal: controller.signal })
        const response = yield* Effect.onInterrupt(answer(asked, body), () => abort)
        return yield* send(response, abort, isEndless(method, body) ? yield* access.revoked : undefined)
      })
      yield* router.get("/mcp", handle)
      yield* router.post("/mcp", handle)
      yield* router.del("/mcp", handle)
    })
  )
