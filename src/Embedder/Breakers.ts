import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { type Embedder, EmbedderUnavailable } from "../Embedder.ts"
import { type Breaker, makeBreaker } from "../runtime/breaker.ts"
import { shared } from "../runtime/once.ts"

type Service = Context.Tag.Service<typeof Embedder>

/** Milliseconds that a query waits; keyword search can answer instead. */
export const queryTimeout = 5000

const errors = {
  make: (reason: string) => new EmbedderUnavailable({ reason }),
  isUp: ({ refused }: EmbedderUnavailable) => refused === true
}

interface Guarded {
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
    const known = new Map<string, Breaker<EmbedderUnavailable>>()
    const breakerOf = (name: string): Breaker<EmbedderUnavailable> => {
      const breaker = known.get(name) ?? makeBreaker(name, scope, errors)
      known.set(name, breaker)
      return breaker
    }

    const guard = Effect.fnUntraced(function* ({ embedder, name, patience }: Guarded) {
      const raw = yield* Scope.extend(embedder, scope)
      const { gate, isFresh, watch } = breakerOf(name)
      const probe = Effect.zipRight(raw.identity, raw.embedQuery("ready"))
      let identified = false

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
      // Continues after the first caller's timeout, so that a slow embedder is recognised.
      const ask = shared(scope, watch(probe, probe))

      return {
        ...raw,
        identity: first(raw.identity),
        patient: first(raw.patient ?? raw.identity),
        forget: Effect.suspend(() => {
          identified = false
          return raw.forget ?? Effect.void
        }),
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
