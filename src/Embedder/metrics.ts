import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import { counter, labelling } from "../runtime/metrics.ts"

const seconds = MetricBoundaries.fromIterable([0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300])

/** Texts truncated to a model's window since the process started. */
export const truncated = counter(
  "clew_embedding_truncated_total",
  "Texts that were longer than the embedding model's window and were truncated"
)
const tokens = counter("clew_embedding_tokens_total", "Tokens of embedded texts, as counted by the server")
const requests = counter("clew_embedding_requests_total", "Requests to the embedding server, by outcome")
const durations = Metric.histogram("clew_embedding_request_duration_seconds", seconds, "Time of a request for vectors")

/** Counts and times the requests to a server; models come from the configuration and from collections. */
export const measuring = (backend: string, model: string) => {
  const labelled = labelling(backend, model)
  const timed = labelled(durations)
  const counted = labelled(tokens)
  return <A extends { readonly tokens?: number | undefined }, E, R>(request: Effect.Effect<A, E, R>) =>
    Effect.flatMap(Clock.currentTimeMillis, (began) =>
      Effect.onExit(request, (exit) =>
        Effect.gen(function* () {
          const outcome = Exit.isSuccess(exit) ? "answered" : Exit.isInterrupted(exit) ? "left" : "failed"
          yield* Metric.increment(Metric.tagged(labelled(requests), "outcome", outcome))
          yield* Metric.update(timed, ((yield* Clock.currentTimeMillis) - began) / 1000)
          yield* Metric.incrementBy(counted, Exit.isSuccess(exit) ? (exit.value.tokens ?? 0) : 0)
        })
      )
    )
}
