import * as Metric from "effect/Metric"

/** A count since the process started. */
export const counter = (name: string, description: string): Metric.Metric.Counter<number> =>
  Metric.counter(name, { description, incremental: true })

/** Tells a metric's series apart by the model, and by what runs it. */
export const labelling =
  (backend: string, model: string) =>
  <Type, In, Out>(metric: Metric.Metric<Type, In, Out>): Metric.Metric<Type, In, Out> =>
    metric.pipe(Metric.tagged("backend", backend), Metric.tagged("model", model))
