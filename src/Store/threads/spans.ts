import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import { IdleSpan, ofNames } from "../../runtime/tracing.ts"

/** A span recorded in a thread, in the form in which it is transferred. */
export interface RecordedSpan {
  readonly name: string
  /** The index of its parent among the recorded spans; undefined: the call itself. */
  readonly parent: number | undefined
  /** Nanoseconds since the epoch. */
  readonly start: bigint
  readonly end: bigint
  readonly attributes: ReadonlyArray<readonly [string, unknown]>
  readonly failed: boolean
}

/**
 * A tracer that records the spans under the call's own, parents before children; if names are given, only those spans.
 */
export const recorder = (tracer: Tracer.Tracer, own: string, names?: ReadonlySet<string>) => {
  const begun: Array<Tracer.Span> = []
  const place = (span: Tracer.AnySpan): number | undefined => {
    const found = begun.indexOf(span as Tracer.Span)
    return found === -1 ? undefined : found
  }
  const made = Tracer.make({
    context: tracer.context,
    span: (...args) => {
      const [name, parent] = args
      if (names?.has(name) === false) return new IdleSpan(name, parent)
      const span = tracer.span(...args)
      if (Option.isSome(parent) || name !== own) begun.push(span)
      return span
    }
  })
  return {
    tracer: names === undefined ? made : ofNames(made, names),
    spans: (): ReadonlyArray<RecordedSpan> =>
      begun.flatMap(({ attributes, name, parent, status }) =>
        status._tag === "Started"
          ? []
          : [
              {
                name,
                parent: Option.getOrUndefined(Option.flatMapNullable(parent, place)),
                start: status.startTime,
                end: status.endTime,
                attributes: [...attributes].filter(([, value]) => typeof value !== "object"),
                failed: Exit.isFailure(status.exit)
              }
            ]
      )
  }
}

/** Replays recorded spans in the current tracer, under the current span. */
export const replay = (recorded: ReadonlyArray<RecordedSpan>): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (recorded.length === 0 || !(yield* FiberRef.get(FiberRef.currentTracerEnabled))) return
    const tracer = yield* Effect.tracer
    const call = yield* Effect.option(Effect.currentParentSpan)
    const made: Array<Tracer.Span> = []
    for (const { attributes, end, failed, name, parent, start } of recorded) {
      const above = parent === undefined ? call : Option.fromNullable(made[parent])
      const span = tracer.span(name, above, Context.empty(), [], start, "internal")
      for (const [key, value] of attributes) span.attribute(key, value)
      span.end(end, failed ? Exit.fail(name) : Exit.void)
      made.push(span)
    }
  })
