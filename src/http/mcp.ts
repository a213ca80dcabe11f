import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type Caller, current } from "../Caller.ts"
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

/** Seconds between two looks at whether the key of an endless stream still counts. */
const looks = 5

const described = ({ collections, name, rights, who }: Caller): string =>
  JSON.stringify([name, who, [...rights], collections && [...collections]])

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
      /** Ends when the caller's key is gone, or may do something else. */
      const revoked = Effect.gen(function* () {
        const request = yield* Effect.context<Effect.Effect.Context<typeof access.authorize>>()
        const given = described(yield* FiberRef.get(current))
        const looking = Effect.zipRight(access.authorize, FiberRef.get(current)).pipe(
          Effect.map(described),
          // The issuer of the token cannot be asked.
          Effect.catchTag("AccessUnavailable", () => Effect.succeed(given))
        )
        return Effect.repeat(looking, {
          while: (now) => now === given,
          schedule: Schedule.spaced(`${looks} seconds`)
        }).pipe(Effect.ignore, Effect.provide(request))
      })

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
        return yield* send(response, abort, isEndless(method, body) ? yield* revoked : undefined)
      })
      yield* router.get("/mcp", handle)
      yield* router.post("/mcp", handle)
      yield* router.del("/mcp", handle)
    })
  )
