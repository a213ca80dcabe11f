import * as FiberRef from "effect/FiberRef"
import * as FiberSet from "effect/FiberSet"
import * as HashSet from "effect/HashSet"
import * as Schema from "effect/Schema"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import type { Socket } from "node:net"
import type { Readable } from "node:stream"
import type { Watcher } from "../files/Watcher.ts"
import type { OpenIndex } from "../OpenIndex.ts"
import { shared } from "../runtime/once.ts"
import { logUnhandled } from "../runtime/Unhandled.ts"
import * as ClientLog from "./ClientLog.ts"
import { type Hello, longestHello, type Meeting, refusal, type Welcome } from "./meeting.ts"
import type { Overview } from "./overview.ts"
import { checkOpening, firstEra, make, type Service } from "./Server.ts"
import { type Output, StdioTransport, type Streams, takeStdout } from "./Stdio.ts"
import type { Configured } from "./Tool.ts"
import { writingTools } from "./toolNames.ts"
import { makeWatching, type Use, type Watching } from "./Watching.ts"

/**
 * Builds a layer at first use and keeps it until the scope closes. If building fails, all who waited for it fail, and
 * the next use tries again: an index that is missing now may exist at the next call.
 */
export const lazyLayer = <A, E>(layer: Layer.Layer<A, E>) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    let built: Context.Context<A> | undefined
    const build = Effect.gen(function* () {
      const own = yield* Scope.fork(scope, ExecutionStrategy.sequential)
      built = yield* Layer.buildWithScope(layer, own).pipe(
        Effect.onError((cause) => Scope.close(own, Exit.failCause(cause)))
      )
      return built
    })
    const building = shared(scope, build)
    const context = Effect.suspend(() => (built === undefined ? building : Effect.succeed(built)))
    return {
      use: <B, E2>(effect: Effect.Effect<B, E2, A>): Effect.Effect<B, E | E2> =>
        Effect.flatMap(context, (services) => Effect.provide(effect, services)),
      isBuilt: Effect.sync(() => built !== undefined)
    }
  })

/**
 * How long open requests may take after the end of input, and after a signal, and how long the exit may take; with
 * nothing open, the process ends within a second.
 */
export const grace = { answers: Duration.seconds(30), signal: Duration.seconds(10), exit: 900 }

/** How often to check that the parent process still exists. */
const parentPoll = Duration.millis(250)

/** Signals the end of input, and the end of the client: output broken, parent gone. */
const farewell = Effect.fnUntraced(function* ({ stdin, stdout }: Streams) {
  const over = yield* Deferred.make<void>()
  const gone = yield* Deferred.make<void>()
  const end = () => Deferred.unsafeDone(over, Effect.void)
  const { ppid } = process
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

/** What a client is offered, as its command line says. */
export interface Offer {
  readonly tools: ReadonlyArray<string>
  readonly config: Effect.Effect<
    Configured & { readonly logLevel: ClientLog.OwnLevel; readonly logFormat: ClientLog.Format },
    unknown
  >
  readonly overview: Overview
  readonly name?: string | undefined
}

/** Serves one client on a pair of streams, until the scope closes. */
const attend = (service: Service, log: ClientLog.ClientLog, input: Readable, output: Output) =>
  Effect.gen(function* () {
    const server = firstEra(service, log)
    let changed: (uri: string) => void = () => {}
    const transport = new StdioTransport({
      input,
      output,
      check: checkOpening,
      listen: (params) => service.listen(params, (uri) => changed(uri)),
      // Most clients are of the first era, and do not wait for the other's code.
      serveSecond: (side) => {
        service.prepare()
        void import("./secondEra.ts").then(({ overStdio }) => (changed = overStdio(service, side)))
      }
    })
    yield* Effect.acquireRelease(
      Effect.promise(() => server.connect(transport)),
      () => Effect.promise(() => server.close())
    )
    return transport
  })

const decodeHello = Schema.decodeUnknown(
  Schema.parseJson(Schema.Struct({ args: Schema.Array(Schema.String), cwd: Schema.String }))
)

/** The first line of a connection. */
const helloOf = (socket: Socket): Effect.Effect<Hello, unknown> =>
  Effect.flatMap(
    Effect.async<string, string>((resume) => {
      let received = Buffer.alloc(0)
      const end = () => resume(Effect.fail("it has gone"))
      const onData = (chunk: Buffer) => {
        received = Buffer.concat([received, chunk])
        const at = received.indexOf(0x0a)
        if (at === -1 && received.length > longestHello) return resume(Effect.fail("its first message is too long"))
        if (at === -1) return
        socket.pause().off("data", onData)
        if (at + 1 < received.length) socket.unshift(received.subarray(at + 1))
        resume(Effect.succeed(received.toString("utf8", 0, at)))
      }
      socket.on("data", onData).once("close", end).once("end", end).resume()
      return Effect.sync(() => void socket.off("data", onData))
    }),
    decodeHello
  )

/** How long a process that joins may take to say what it wants. */
const helloTime = Duration.seconds(5)

/**
 * Serves the clients of other processes that join this one, until the scope closes. `offer` fails for those that this
 * process cannot serve as they want, which then serve themselves.
 */
export const host = <R>(options: {
  readonly meeting: Meeting
  readonly use: Use
  readonly watching?: Watching | undefined
  readonly offer: (hello: Hello) => Effect.Effect<Offer, unknown, R>
  /** Whether the open index was removed: who comes now can begin another, as they cannot here. */
  readonly isGone: Effect.Effect<boolean, unknown>
}) =>
  Effect.gen(function* () {
    const { isGone, meeting, offer, use } = options
    const watching = options.watching ?? (yield* makeWatching(use))
    const run = yield* FiberSet.makeRuntime<R>()
    const open = new Set<StdioTransport>()
    let count = 0

    const serveJoined = (socket: Socket) =>
      Effect.gen(function* () {
        const gone = yield* Deferred.make<void>()
        for (const event of ["end", "close", "error"]) socket.on(event, () => Deferred.unsafeDone(gone, Effect.void))
        const hello = yield* Effect.timeout(helloOf(socket), helloTime)
        const offered = yield* isGone.pipe(
          Effect.filterOrFail(
            (gone) => !gone,
            () => "the index was removed"
          ),
          Effect.zipRight(offer(hello)),
          Effect.tapErrorCause(() => Effect.sync(() => socket.write(`${JSON.stringify(refusal)}\n`)))
        )
        const made = yield* make({ ...offered, use, watching })
        const client = `joined ${++count}`
        const service: Service = { ...made, answer: (request, asking) => made.answer(request, { ...asking, client }) }
        socket.write(`${JSON.stringify({ writing: writingTools } satisfies Welcome)}\n`)
        const transport = yield* attend(service, ClientLog.make(), socket, {
          write: (text, done) => void socket.write(text, () => done()),
          pending: () => socket.writableLength
        })
        yield* Effect.acquireRelease(
          Effect.sync(() => open.add(transport)),
          () => Effect.sync(() => open.delete(transport))
        )
        yield* Deferred.await(gone)
      }).pipe(
        Effect.scoped,
        Effect.catchAllCause((cause) => Effect.logDebug("A process that joined was not served", cause)),
        Effect.ensuring(Effect.sync(() => socket.destroySoon()))
      )

    const close = Effect.sync(() => meeting.close())
    yield* Effect.acquireRelease(
      Effect.sync(() => meeting.onJoin((socket) => void run(serveJoined(socket)))),
      () => close
    )
    return {
      /** Lets nobody join any more, and waits until those who have are answered. */
      settled: Effect.zipRight(
        close,
        // Also where a signal is waited out.
        Effect.interruptible(Effect.promise(() => Promise.all([...open].map((transport) => transport.settled()))))
      )
    }
  })

/**
 * Serves MCP on standard input and output until the client is gone, and answers what it asked before. The engine is
 * built at first use. From here on, standard output carries only JSON-RPC. Other processes may join; a process that
 * took over serves only those, its own client being one of them.
 */
export const serve = <E, R>(
  options: Offer & {
    /** Opened at first use, and created if a call writes. */
    readonly engine: Layer.Layer<OpenIndex | Watcher, E>
    readonly streams: Streams
    /** Background work, started once a client is initialized. */
    readonly beside?: Effect.Effect<void, never, Watcher>
    /** Replaces the engine for calls that write nothing while there is no index: an empty index in memory. */
    readonly empty: Layer.Layer<OpenIndex, E>
    readonly exists: Effect.Effect<boolean, E>
    /** The program's own logger. */
    readonly loggerOf: Parameters<typeof ClientLog.makeOwn>[0]
    readonly joining?: Omit<Parameters<typeof host<R>>[0], "isGone" | "use" | "watching"> | undefined
  }
) => {
  const log = ClientLog.makeOwn(options.loggerOf)
  return Effect.gen(function* () {
    const { joining, streams } = options
    const left = joining?.meeting.left
    yield* logUnhandled()
    const engine = yield* lazyLayer(options.engine)
    // Once the index is open, one that was removed is an error, not an empty index.
    const isThere = Effect.flatMap(engine.isBuilt, (isBuilt) => (isBuilt ? Effect.succeed(true) : options.exists))
    const use: Use = (effect, writes = false) =>
      Effect.flatMap(writes ? Effect.succeed(true) : isThere, (opens) =>
        opens ? engine.use(effect) : Effect.provide(effect, options.empty)
      )
    const config = Effect.tap(options.config, ({ logFormat, logLevel }) =>
      Effect.sync(() => log.setOwn(logLevel, logFormat))
    )
    const watching = yield* makeWatching(use)
    const greeting = yield* Deferred.make<void>()
    const greeted = Deferred.succeed(greeting, undefined)
    const joined =
      joining === undefined
        ? undefined
        : // Their log is not that of this process's own client.
          yield* Effect.locallyWith(
            host({
              ...joining,
              isGone: Effect.if(engine.isBuilt, {
                onTrue: () => Effect.negate(options.exists),
                onFalse: () => Effect.succeed(false)
              }),
              use,
              watching
            }),
            FiberRef.currentLoggers,
            HashSet.remove(log.logger)
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
    const others = joined?.settled ?? Effect.void
    const exits = Effect.sync(() => setTimeout(() => streams.exit?.(0), grace.exit).unref())
    if (left !== undefined) {
      yield* config.pipe(Effect.ignoreLogged, Effect.zipRight(greeted))
      yield* Effect.onInterrupt(Effect.interruptible(Effect.promise(() => left)), () =>
        Effect.timeoutOption(others, grace.signal)
      )
      yield* Effect.timeoutOption(others, grace.answers)
      return yield* Effect.asVoid(exits)
    }
    const stdout = takeStdout(streams)
    const service = yield* make({ ...options, use, watching, config, greeted })
    const transport = yield* attend(service, log, streams.stdin, stdout)
    if (streams.stdin.isTTY === true) {
      yield* Effect.logInfo(
        "This is an MCP server: it speaks JSON-RPC on standard input and output, and an MCP client should start it. `clew mcp install --client NAME` sets one up; Ctrl-D ends this one"
      )
    }
    const { gone, over } = yield* farewell(streams)
    // A full pipe holds the answers until they are read.
    const written = Effect.async<void>((resume) => stdout.write("", () => resume(Effect.void)))
    const settled = Effect.promise(() => transport.settled())
    const answered = Effect.raceFirst(Effect.all([Effect.zipRight(settled, written), others], { concurrency: 2 }), gone)
    const finish = Effect.fnUntraced(function* (time: Duration.Duration, exits: Effect.Effect<unknown>) {
      const done = yield* Effect.timeoutOption(Effect.interruptible(answered), time)
      // From here on, nothing may delay the exit.
      yield* exits
      if (Option.isSome(done)) return
      transport.abandon("The server is shutting down before this was done; what was indexed so far stays")
      yield* Effect.timeoutOption(Effect.interruptible(written), grace.exit / 4)
    })
    yield* Effect.onInterrupt(Effect.raceFirst(over, gone), () => finish(grace.signal, Effect.void))
    yield* finish(grace.answers, exits)
    yield* Effect.sync(() => streams.stdin.destroy())
  }).pipe(Effect.scoped, Effect.provide(log.layer))
}
