import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as ClientLog from "./ClientLog.ts"
import type { OpenIndex } from "../OpenIndex.ts"
import { lazily } from "./lazily.ts"
import { check } from "./requests.ts"
import type { Overview } from "./overview.ts"
import { type Configured, make, type Use } from "./Server.ts"
import { StdioTransport } from "./Stdio.ts"
import { takeStdout } from "./stdout.ts"
import { logUnhandled } from "../runtime/Unhandled.ts"
import type { Watcher } from "../files/Watcher.ts"

/**
 * How long what was read before the end of input may take to be answered and to leave, and what follows that; with
 * nothing open, the process is gone within a second.
 */
const grace = { answers: Duration.seconds(30), exit: 900 }

/** How often it is looked whether the process that started this one is still there. */
const parentPoll = Duration.millis(250)

/** When no more is asked, and when nobody listens any more: output broken, parent gone. */
const farewell = Effect.gen(function* () {
  const over = yield* Deferred.make<void>()
  const gone = yield* Deferred.make<void>()
  const end = () => Deferred.unsafeDone(over, Effect.void)
  const { ppid, stdin, stdout } = process
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      for (const event of ["end", "close", "error"]) stdin.once(event, end)
      // Stays for good: output that breaks during the farewell must not bring the process down.
      stdout.on("error", () => Deferred.unsafeDone(gone, Effect.void))
    }),
    () => Effect.sync(() => ["end", "close", "error"].forEach((event) => stdin.off(event, end)))
  )
  const orphaned = Effect.repeat(
    Effect.suspend(() => (process.ppid === ppid ? Effect.void : Deferred.succeed(gone, undefined))),
    Schedule.spaced(parentPoll)
  )
  yield* Effect.forkScoped(orphaned)
  return { over: Deferred.await(over), gone: Deferred.await(gone) }
})

/**
 * Serves MCP on standard input and output until the client is gone, answering what was asked before that. The engine is
 * built at its first use. From here on standard output carries JSON-RPC alone.
 */
export const serve = <E>(options: {
  readonly version: string
  readonly tools: ReadonlyArray<string>
  readonly config: Effect.Effect<Configured, unknown>
  readonly overview: Overview
  readonly name?: string | undefined
  /** Opened when it is first used, and made where a call writes. */
  readonly engine: Layer.Layer<OpenIndex | Watcher, E>
  /** What goes on beside answering, once a client has come up. */
  readonly beside?: Effect.Effect<void, never, Watcher>
  /** In the engine's place for calls that write nothing while there is no index: an empty one that is nowhere. */
  readonly empty: Layer.Layer<OpenIndex, E>
  readonly exists: Effect.Effect<boolean, E>
  /** What writes the program's own log. */
  readonly loggerOf: Parameters<typeof ClientLog.make>[0]
}): Effect.Effect<void> => {
  const log = ClientLog.make(options.loggerOf)
  return Effect.gen(function* () {
    const stdout = takeStdout()
    yield* logUnhandled()
    const whole = yield* lazily(options.engine)
    const use: Use = (effect, writes = false) =>
      Effect.flatMap(writes ? Effect.succeed(true) : options.exists, (exists) =>
        exists ? whole(effect) : Effect.provide(effect, options.empty)
      )
    const greeting = yield* Deferred.make<void>()
    const server = yield* make({ ...options, log, use, greeted: Deferred.succeed(greeting, undefined) })
    const transport = new StdioTransport({ input: process.stdin, output: stdout, check })
    yield* Effect.acquireRelease(
      Effect.promise(() => server.connect(transport)),
      () => Effect.promise(() => server.close())
    )
    if (options.beside !== undefined) {
      const beside = Effect.catchAll(whole(options.beside), (error) =>
        Effect.logError(`Changes are not followed: ${error instanceof Error ? error.message : String(error)}`)
      )
      yield* Effect.forkScoped(
        Effect.zipRight(
          Deferred.await(greeting),
          Effect.suspend(() => log.within(beside))
        )
      )
    }
    if (process.stdin.isTTY) {
      yield* Effect.logInfo(
        "This is an MCP server: it speaks JSON-RPC on standard input and output, and is meant to be started by an MCP client. `clew mcp install --client NAME` sets one up; Ctrl-D ends it"
      )
    }
    const { gone, over } = yield* farewell
    yield* Effect.raceFirst(over, gone)
    // A pipe that is full holds what was answered until it is read.
    const written = Effect.async<void>((resume) => stdout.write("", () => resume(Effect.void)))
    const settled = Effect.promise(() => transport.settled())
    const done = yield* Effect.timeoutOption(Effect.raceFirst(Effect.zipRight(settled, written), gone), grace.answers)
    // Whatever hangs from here on, nobody waits for it.
    yield* Effect.sync(() => setTimeout(() => process.exit(0), grace.exit).unref())
    if (Option.isNone(done)) {
      transport.abandon("The server is ending, and this is not done; what was indexed so far stays")
      yield* Effect.timeoutOption(written, grace.exit / 4)
    }
    yield* Effect.sync(() => process.stdin.destroy())
  }).pipe(Effect.scoped, Effect.provide(log.layer))
}
