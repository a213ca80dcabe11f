import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import { EventEmitter } from "node:events"
import { logUnhandled, named } from "../../src/runtime/Unhandled.ts"

it.scoped("logs what nothing handles with the requests under way, until its scope ends", () =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    const emitter = new EventEmitter()
    const scope = yield* Scope.make()
    yield* Scope.extend(logUnhandled(emitter), scope).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
    emitter.emit("uncaughtException", new Error("socket broke"))
    const began = yield* Deferred.make<void>()
    const request = yield* Effect.fork(
      named("GET /stats abc", Effect.zipRight(Deferred.succeed(began, undefined), Effect.never))
    )
    yield* Deferred.await(began)
    emitter.emit("unhandledRejection", "nobody waits")
    yield* Fiber.interrupt(request)
    emitter.emit("uncaughtException", new Error("again"))
    assert.lengthOf(lines, 3)
    assert.match(lines[0]!, /no request was under way.*socket broke/)
    assert.match(lines[1]!, /under way: GET \/stats abc\): nobody waits/)
    assert.include(lines[2], "no request was under way")
    yield* Scope.close(scope, Exit.void)
    assert.strictEqual(emitter.listenerCount("uncaughtException"), 0)
  })
)
