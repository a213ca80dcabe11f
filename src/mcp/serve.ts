import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import type { Watcher } from "../files/Watcher.ts"
import type { OpenIndex } from "../OpenIndex.ts"
import { logUnhandled } from "../runtime/Unhandled.ts"
import * as ClientLog from "./ClientLog.ts"
import type { Overview } from "./overview.ts"
import { checkOpening, type Configured, firstEra, make, type Use } from "./Server.ts"
import { StdioTransport, takeStdout } from "./Stdio.ts"

/**
 * Builds a layer at first use and keeps it until the scope closes. If building fails, all who waited for it fail, and
 * the next use tries again: an index that is missing now may exist at the next call.
 */
export const lazyLayer = <A, E>(layer: Layer.Layer<A, E>) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    let built: Context.Context<A> | undefined
    let building: Deferred.Deferred<Context.Context<A>, E> | undefined

    const build = Effect.gen(function* () {
      const own = yield* Scope.fork(scope, ExecutionStrategy.sequential)
      return yield* Layer.buildWithScope(layer, own).pipe(
        Effect.onExit((exit) => (Exit.isSuccess(exit) ? Effect.void : Scope.close(own, exit)))
      )
    })
    // In a separate fiber: a caller interrupted while it waits would cancel it for all others.
    const begin = (waiting: Deferred.Deferred<Context.Context<A>, E>) =>
      Effect.interruptible(build).pipe(
        Effect.onExit((exit) =>
          Effect.sync(() => {
            building = undefined
            if (Exit.isSuccess(exit)) built = exit.value
          })
        ),
        Effect.intoDeferred(waiting),
        Effect.forkIn(scope)
      )
    const context = Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        if (built !== undefined) return Effect.succeed(built)
        if (building !== undefined) return restore(Deferred.await(building))
        const waiting = (building = Deferred.unsafeMake<Context.Context<A>, E>(FiberId.none))
        return Effect.zipRight(begin(waiting), restore(Deferred.await(waiting)))
      })
    )
    return {
      use: <B, E2>(effect: Effect.Effect<B, E2, A>): Effect.Effect<B, E | E2> =>
        Effect.flatMap(context, (services) => Effect.provide(effect, services)),
      isBuilt: Effect.sync(() => built !== undefined)
    }
  })

/**
 * How long open requests may take after the end of input, and how long the exit may take; with nothing open, the
 * process ends within a second.
 */
const grace = { answers: Duration.seconds(30), exit: 900 }

/** How often to check that the parent process still exists. */
const parentPoll = Duration.millis(250)

/** Signals the end of input, and the end of the client: output broken, parent gone. */
const farewell = Effect.gen(function* () {
  const over = yield* Deferred.make<void>()
  const gone = yield* Deferred.make<void>()
  const end = () => Deferred.unsafeDone(over, Effect.void)
  const { ppid, stdin, stdout } = process
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      for (const event of ["end", "close", "error"]) stdin.once(event, end)
      // Stays registered: output that breaks during shutdown must not crash the process.
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
 * Serves MCP on standard input and output until the client is gone, and answers what it asked before. The engine is
 * built at first use. From here on, standard output carries only JSON-RPC.
 */
export const serve = <E>(options: {
  readonly version: string
  readonly tools: ReadonlyArray<string>
  readonly config: Effect.Effect<
    Configured & { readonly logLevel: ClientLog.OwnLevel; readonly logFormat: ClientLog.Format },
    unknown
  >
  readonly overview: Overview
  readonly name?: string | undefined
  /** Opened at first use, and created if a call writes. */
  readonly engine: Layer.Layer<OpenIndex | Watcher, E>
  /** Background work, started once a client is initialized. */
  readonly beside?: Effect.Effect<void, never, Watcher>
  /** Replaces the engine for calls that write nothing while there is no index: an empty index in memory. */
  readonly empty: Layer.Layer<OpenIndex, E>
  readonly exists: Effect.Effect<boolean, E>
  /** The program's own logger. */
  readonly loggerOf: Parameters<typeof ClientLog.makeOwn>[0]
}): Effect.Effect<void> => {
  const log = ClientLog.makeOwn(options.loggerOf)
  return Effect.gen(function* () {
    const stdout = takeStdout()
    yield* logUnhandled()
    const engine = yield* lazyLayer(options.engine)
    // Once the index is open, one that was removed is an error, not an empty index.
    const isThere = Effect.flatMap(engine.isBuilt, (isBuilt) => (isBuilt ? Effect.succeed(true) : options.exists))
    const use: Use = (effect, writes = false) =>
      Effect.flatMap(writes ? Effect.succeed(true) : isThere, (opens) =>
        opens ? engine.use(effect) : Effect.provide(effect, options.empty)
      )
    const greeting = yield* Deferred.make<void>()
    const service = yield* make({
      ...options,
      use,
      config: Effect.tap(options.config, ({ logFormat, logLevel }) =>
        Effect.sync(() => log.setOwn(logLevel, logFormat))
      ),
      greeted: Deferred.succeed(greeting, undefined)
    })
    const server = firstEra(service, log)
    const transport = new StdioTransport({
      input: process.stdin,
      output: stdout,
      check: checkOpening,
      // Most clients are of the first era, and do not wait for the other's code.
      serveSecond: (side) => {
        service.prepare()
        void import("./secondEra.ts").then(({ overStdio }) => overStdio(service, side))
      }
    })
    yield* Effect.acquireRelease(
      Effect.promise(() => server.connect(transport)),
      () => Effect.promise(() => server.close())
    )
    if (options.beside !== undefined) {
      const beside = Effect.catchAll(engine.use(options.beside), (error) =>
        Effect.logError(`Not following changes: ${error instanceof Error ? error.message : String(error)}`)
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
        "This is an MCP server: it speaks JSON-RPC on standard input and output, and an MCP client should start it. `clew mcp install --client NAME` sets one up; Ctrl-D ends this one"
      )
    }
    const { gone, over } = yield* farewell
    yield* Effect.raceFirst(over, gone)
    // A full pipe holds the answers until they are read.
    const written = Effect.async<void>((resume) => stdout.write("", () => resume(Effect.void)))
    const settled = Effect.promise(() => transport.settled())
    const done = yield* Effect.timeoutOption(Effect.raceFirst(Effect.zipRight(settled, written), gone), grace.answers)
    // From here on, nothing may delay the exit.
    yield* Effect.sync(() => setTimeout(() => process.exit(0), grace.exit).unref())
    if (Option.isNone(done)) {
      transport.abandon("The server is shutting down before this was done; what was indexed so far stays")
      yield* Effect.timeoutOption(written, grace.exit / 4)
    }
    yield* Effect.sync(() => process.stdin.destroy())
  }).pipe(Effect.scoped, Effect.provide(log.layer))
}
