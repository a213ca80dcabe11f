import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as ClientLog from "./ClientLog.ts"
import { type Engine, lazily } from "./Engine.ts"
import { check } from "./requests.ts"
import type { Overview } from "./overview.ts"
import { type Configured, make, type Use } from "./Server.ts"
import { StdioTransport } from "./Stdio.ts"
import { takeStdout } from "./stdout.ts"

/** Together under the second in which the process has to be gone. */
const grace = { answers: Duration.millis(500), output: Duration.millis(200), exit: 900 }

/** How often it is looked whether the process that started this one is still there. */
const parentPoll = Duration.millis(250)

/** Ends when nobody is there to talk to: input over, output broken, parent gone. */
const farewell = Effect.gen(function* () {
  const gone = yield* Deferred.make<void>()
  const leave = () => Deferred.unsafeDone(gone, Effect.void)
  const { ppid, stdin, stdout } = process
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      for (const event of ["end", "close", "error"]) stdin.once(event, leave)
      // Stays for good: output that breaks during the farewell must not bring the process down.
      stdout.on("error", leave)
    }),
    () => Effect.sync(() => ["end", "close", "error"].forEach((event) => stdin.off(event, leave)))
  )
  const orphaned = Effect.repeat(
    Effect.suspend(() => (process.ppid === ppid ? Effect.void : Deferred.succeed(gone, undefined))),
    Schedule.spaced(parentPoll)
  )
  yield* Effect.forkScoped(orphaned)
  yield* Deferred.await(gone)
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
  readonly engine: Layer.Layer<Engine, E>
  /** In the engine's place for calls that write nothing while there is no index: an empty one that is nowhere. */
  readonly empty: Layer.Layer<Engine, E>
  readonly exists: Effect.Effect<boolean, E>
  /** What writes the program's own log. */
  readonly loggerOf: Parameters<typeof ClientLog.make>[0]
}): Effect.Effect<void> => {
  const log = ClientLog.make(options.loggerOf)
  return Effect.gen(function* () {
    const stdout = takeStdout()
    const whole = yield* lazily(options.engine)
    const use: Use = (effect, writes = false) =>
      Effect.flatMap(writes ? Effect.succeed(true) : options.exists, (exists) =>
        exists ? whole(effect) : Effect.provide(effect, options.empty)
      )
    const server = yield* make({ ...options, log, use })
    const transport = new StdioTransport({ input: process.stdin, output: stdout, check })
    yield* Effect.acquireRelease(
      Effect.promise(() => server.connect(transport)),
      () => Effect.promise(() => server.close())
    )
    if (process.stdin.isTTY) {
      yield* Effect.logInfo(
        "This is an MCP server: it speaks JSON-RPC on standard input and output, and is meant to be started by an MCP client. `clew mcp install --client NAME` sets one up; Ctrl-D ends it"
      )
    }
    yield* farewell
    // Whatever hangs from here on, nobody waits for it.
    yield* Effect.sync(() => setTimeout(() => process.exit(0), grace.exit).unref())
    yield* Effect.timeoutOption(
      Effect.promise(() => transport.settled()),
      grace.answers
    )
    yield* Effect.sync(() =>
      transport.abandon("The server is ending, and this is not done; what was indexed so far stays")
    )
    yield* Effect.timeoutOption(
      Effect.async<void>((resume) => stdout.write("", () => resume(Effect.void))),
      grace.output
    )
    yield* Effect.sync(() => process.stdin.destroy())
  }).pipe(Effect.scoped, Effect.provide(log.layer))
}
