import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"

const wanted = new WeakMap<Tracer.Tracer, ReadonlySet<string>>()

/** A tracer that makes something of spans of these names alone, so that others need cost nothing. */
export const ofNames = (tracer: Tracer.Tracer, names: Iterable<string>): Tracer.Tracer => {
  wanted.set(tracer, new Set(names))
  return tracer
}

/** Effect's own tracer, whose spans nobody collects. */
const native = Context.get(DefaultServices.liveServices, Tracer.Tracer)

const none: ReadonlySet<string> = new Set()

/** The names of the spans that a tracer makes anything of; undefined: of all. */
export const namesOf = (tracer: Tracer.Tracer): ReadonlySet<string> | undefined =>
  tracer === native ? none : wanted.get(tracer)

/** What `namesOf` says of the tracer in force. */
export const namesWanted: Effect.Effect<ReadonlySet<string> | undefined> = Effect.flatMap(
  FiberRef.get(FiberRef.currentTracerEnabled),
  (isEnabled) => (isEnabled ? Effect.map(Effect.tracer, namesOf) : Effect.succeed(none))
)

/** The effect with none of the services around it but the span: each span begun copies all that are there. */
export const lean = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.mapInputContext(effect, (around: Context.Context<never>) =>
    Option.match(Context.getOption(around, Tracer.ParentSpan), {
      onNone: () => Context.empty(),
      onSome: (span) => Context.make(Tracer.ParentSpan, span) as Context.Context<never>
    })
  )

const nothing: ReadonlyMap<string, unknown> = new Map()
const status: Tracer.SpanStatus = { _tag: "Started", startTime: 0n }

/** A span that nobody collects; its name is for the traces of errors. */
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
