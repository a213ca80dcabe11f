import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { type Embedder, EmbedderUnavailable } from "../Embedder.ts"

type Service = Context.Tag.Service<typeof Embedder>

/** Pauses between background retries: the first one, doubled each time up to the longest. */
export const pauses = { first: Duration.seconds(1), longest: Duration.seconds(30) }

/** Milliseconds that a query waits; keyword search can answer instead. */
export const queryTimeout = 5000

/** An embedder that answered this recently need not be probed. */
const fresh = Duration.seconds(15)

/** An embedder's last answer, and its assumed state until the next one. */
interface Breaker {
  /** Fails at once while the embedder is known to be down. */
  readonly gate: Effect.Effect<void, EmbedderUnavailable>
  /** Watches a request's outcome; `probe` is retried in the background after a failure. */
  readonly watch: <A>(
    request: Effect.Effect<A, EmbedderUnavailable>,
    probe: Effect.Effect<unknown, EmbedderUnavailable>
  ) => Effect.Effect<A, EmbedderUnavailable>
  readonly isFresh: Effect.Effect<boolean>
}

const makeBreaker = (name: string, scope: Scope.Scope): Breaker => {
  let open: { readonly reason: string; next: number } | undefined
  let answered = -Infinity
  let prober: Fiber.RuntimeFiber<void> | undefined

  const succeeded = Effect.gen(function* () {
    answered = yield* Clock.currentTimeMillis
    if (open === undefined) return
    open = undefined
    const over = prober
    prober = undefined
    yield* Effect.logInfo(`${name} answers again`)
    // The prober itself may have found that.
    if (over !== undefined) yield* Fiber.interruptFork(over)
  })

  const failed = (error: EmbedderUnavailable, probe: Effect.Effect<unknown, EmbedderUnavailable>) =>
    Effect.gen(function* () {
      if (error.refused === true || open !== undefined) return
      const state = { reason: error.reason, next: 0 }
      open = state
      yield* Effect.logWarning(`${error.reason}; until it answers again, only background probes ask it`)
      let pause = pauses.first
      const again = Effect.gen(function* () {
        state.next = (yield* Clock.currentTimeMillis) + Duration.toMillis(pause)
        yield* Effect.sleep(pause)
        const found = yield* Effect.either(probe)
        if (found._tag === "Right" || found.left.refused === true) yield* succeeded
        pause = Duration.min(Duration.times(pause, 2), pauses.longest)
      })
      prober = yield* Effect.forkIn(Effect.interruptible(Effect.forever(again)), scope)
    })

  return {
    gate: Effect.gen(function* () {
      if (open === undefined) return
      const seconds = Math.max(1, Math.ceil((open.next - (yield* Clock.currentTimeMillis)) / 1000))
      return yield* new EmbedderUnavailable({ reason: `${open.reason}; the next retry is in ${seconds} s` })
    }),
    watch: (request, probe) =>
      Effect.tapBoth(request, {
        onSuccess: () => Effect.uninterruptible(succeeded),
        onFailure: (error) => Effect.uninterruptible(failed(error, probe))
      }),
    isFresh: Effect.map(Clock.currentTimeMillis, (now) => now - answered < Duration.toMillis(fresh))
  }
}

export interface Guarded {
  /** The key of embedders that fail together: one server and model. */
  readonly name: string
  /** How long an urgent caller waits for the embedder's identity. */
  readonly patience: Duration.DurationInput
  /** Its background fibers end with this scope. */
  readonly embedder: Effect.Effect<Service, never, Scope.Scope>
}

/**
 * Circuit breakers shared by all callers. After one failure, queries fail at once with its reason, and a background
 * probe retries with growing pauses. Passages to store are let through, since indexing waits anyway; a success closes
 * the breaker.
 */
export class Breakers extends Effect.Service<Breakers>()("clew/Breakers", {
  scoped: Effect.gen(function* () {
    const scope = yield* Effect.scope
    const known = new Map<string, Breaker>()
    const breakerOf = (name: string): Breaker => {
      const breaker = known.get(name) ?? makeBreaker(name, scope)
      known.set(name, breaker)
      return breaker
    }

    const guard = Effect.fnUntraced(function* ({ embedder, name, patience }: Guarded) {
      const raw = yield* Scope.extend(embedder, scope)
      const { gate, isFresh, watch } = breakerOf(name)
      const probe = Effect.zipRight(raw.identity, raw.embedQuery("ready"))
      let identified = false
      let checking: Fiber.RuntimeFiber<unknown, EmbedderUnavailable> | undefined

      // The identity is cached, which does not prove that it answers now.
      const first = (ask: typeof raw.identity) =>
        Effect.suspend(() =>
          identified ? raw.identity : Effect.tap(watch(ask, probe), () => Effect.sync(() => (identified = true)))
        )
      const inTime = Effect.timeoutFail(raw.identity, {
        duration: patience,
        onTimeout: () =>
          new EmbedderUnavailable({ reason: `${name}: no answer within ${Duration.toMillis(patience)} ms` })
      })
      const ask = Effect.suspend(() => {
        if (checking !== undefined) return Fiber.join(checking)
        // Continues after the first caller's timeout, so that a slow embedder is recognised.
        return Effect.uninterruptibleMask((restore) =>
          Effect.flatMap(Effect.forkIn(Effect.interruptible(watch(probe, probe)), scope), (fiber) => {
            checking = fiber
            fiber.addObserver(() => (checking = undefined))
            return restore(Fiber.join(fiber))
          })
        )
      })

      return {
        ...raw,
        identity: first(raw.identity),
        embedQuery: (text) =>
          text.trim() === "" ? raw.embedQuery(text) : Effect.zipRight(gate, watch(raw.embedQuery(text), probe)),
        embedPassages: (texts, told?) =>
          texts.length === 0 ? raw.embedPassages(texts) : watch(raw.embedPassages(texts, told), probe),
        urgent: {
          identity: Effect.zipRight(gate, first(inTime)),
          check: Effect.zipRight(
            gate,
            Effect.flatMap(isFresh, (fresh) => (fresh ? Effect.void : ask))
          )
        }
      } satisfies Service
    })

    return { guard }
  })
}) {}
