import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import { afterwards } from "./afterwards.ts"

/** Takes the seconds that something took. */
export type Timer = (seconds: number) => void

const noTimers: ReadonlyMap<string, Timer> = new Map()

/** The names of spans, and the timers of some. */
interface Wanted {
  readonly names: ReadonlySet<string>
  readonly timers: ReadonlyMap<string, Timer>
}

const wanted = new WeakMap<Tracer.Tracer, Wanted>()

/**
 * A tracer that uses only spans of these names, so that others need not cost anything; of those with a timer it uses
 * only how long they take.
 */
export const ofNames = (tracer: Tracer.Tracer, names: Iterable<string>, timers = noTimers): Tracer.Tracer => {
  wanted.set(tracer, { names: new Set(names), timers })
  return tracer
}

/** Effect's own tracer, whose spans nobody collects. */
const native = Context.get(DefaultServices.liveServices, Tracer.Tracer)

const none: ReadonlySet<string> = new Set()

/** The names of the spans that a tracer uses; undefined means all. */
export const namesOf = (tracer: Tracer.Tracer): ReadonlySet<string> | undefined =>
  tracer === native ? none : wanted.get(tracer)?.names

/** Whether anybody collects spans of this name in a fiber. */
export const isTraced = (fiber: Fiber.RuntimeFiber<unknown, unknown>, name: string): boolean =>
  fiber.getFiberRef(FiberRef.currentTracerEnabled) && namesOf(tracerOf(fiber))?.has(name) !== false

const tracerOf = (fiber: Fiber.RuntimeFiber<unknown, unknown>): Tracer.Tracer =>
  Context.get(fiber.currentDefaultServices, Tracer.Tracer)

/** Tells a timer how long an effect takes until it succeeds or fails; a span would take ten times as many steps. */
const timing = <A, E, R>(effect: Effect.Effect<A, E, R>, timer: Timer): Effect.Effect<A, E, R> => {
  const from = performance.now()
  return afterwards(effect, () => timer((performance.now() - from) / 1000))
}

/**
 * Runs an effect under a span, if anybody collects spans of this name; the span has no stack trace, which would cost
 * more than the span.
 */
export const spanning = <A, E, R>(effect: Effect.Effect<A, E, R>, name: string): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime<A, E, R>((fiber) => {
    if (!isTraced(fiber, name)) return effect
    const timer = wanted.get(tracerOf(fiber))?.timers.get(name)
    return timer === undefined
      ? (Effect.withSpan(effect, name, { captureStackTrace: false }) as Effect.Effect<A, E, R>)
      : timing(effect, timer)
  })

/** A function whose effect runs under a span, if anybody collects spans of this name. */
export const spanned =
  (name: string) =>
  <Args extends Array<unknown>, A, E, R>(make: (...args: Args) => Effect.Effect<A, E, R>) =>
  (...args: Args): Effect.Effect<A, E, R> =>
    spanning(
      Effect.suspend(() => make(...args)),
      name
    )

/** The same of a generator function, like `Effect.fn`. */
export const spannedGen = (name: string): typeof Effect.fnUntraced =>
  ((body: Parameters<typeof Effect.fnUntraced>[0]) =>
    spanned(name)(Effect.fnUntraced(body))) as typeof Effect.fnUntraced

/** `namesOf` the current tracer. */
export const namesWanted: Effect.Effect<ReadonlySet<string> | undefined> = Effect.flatMap(
  FiberRef.get(FiberRef.currentTracerEnabled),
  (isEnabled) => (isEnabled ? Effect.map(Effect.tracer, namesOf) : Effect.succeed(none))
)

/** Whether spans are made in a fiber, not only timed. */
const makesSpans = (fiber: Fiber.RuntimeFiber<unknown, unknown>): boolean => {
  const tracer = tracerOf(fiber)
  const names = namesOf(tracer)
  return names === undefined || names.size > (wanted.get(tracer)?.timers.size ?? 0)
}

/** Runs the effect with no service but the span in its context, since each new span copies the whole context. */
export const lean = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.withFiberRuntime<A, E>((fiber) =>
    makesSpans(fiber)
      ? Effect.mapInputContext(effect, (around: Context.Context<never>) =>
          Option.match(Context.getOption(around, Tracer.ParentSpan), {
            onNone: () => Context.empty(),
            onSome: (span) => Context.make(Tracer.ParentSpan, span) as Context.Context<never>
          })
        )
      : effect
  )

const nothing: ReadonlyMap<string, unknown> = new Map()
const status: Tracer.SpanStatus = { _tag: "Started", startTime: 0n }

/** A span that nobody collects; its name is for error traces. */
export class IdleSpan implements Tracer.Span {
  readonly _tag = "Span"
  readonly spanId = "idle"
  readonly traceId = "idle"
  readonly sampled = false
  readonly kind = "internal"
  readonly status = status
  readonly attributes = nothing
  readonly links: ReadonlyArray<Tracer.SpanLink> = []
  readonly context = Context.empty()

  constructor(
    readonly name: string,
    readonly parent: Option.Option<Tracer.AnySpan>
  ) {}

  end(): void {}
  attribute(): void {}
  event(): void {}
  addLinks(): void {}
}
