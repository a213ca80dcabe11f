import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"

/** The tracer of now, and the spans that it makes. */
export const collected = Effect.map(Effect.tracer, (native) => {
  const spans: Array<Tracer.Span> = []
  const span: Tracer.Tracer["span"] = (...args) => {
    const made = native.span(...args)
    spans.push(made)
    return made
  }
  return { spans, tracer: Tracer.make({ context: native.context, span }) }
})
