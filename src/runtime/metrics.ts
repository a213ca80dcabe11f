import * as Metric from "effect/Metric"

/** A counter since the process started. */
export const counter = (name: string, description: string): Metric.Metric.Counter<number> =>
  Metric.counter(name, { description, incremental: true })

/** Labels a metric's series with the backend and the model. */
export const labelling =
  (backend: string, model: string) =>
  <Type, In, Out>(metric: Metric.Metric<Type, In, Out>): Metric.Metric<Type, In, Out> =>
    metric.pipe(Metric.tagged("backend", backend), Metric.tagged("model", model))
