import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricLabel from "effect/MetricLabel"
import * as Tracer from "effect/Tracer"
import type { IndexResponse } from "../api/Documents.ts"
import { counter } from "../runtime/metrics.ts"
import { IdleSpan, namesOf, ofNames } from "../runtime/tracing.ts"

const seconds = MetricBoundaries.fromIterable([
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10
])

/** Coarser, since each bound adds a series per route, method and status class. */
const answerSeconds = MetricBoundaries.fromIterable([0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5])

const requests = counter("clew_http_requests_total", "HTTP requests answered, by route, method and status")
const durations = Metric.histogram(
  "clew_http_request_duration_seconds",
  answerSeconds,
  "Time to answer HTTP requests, by route, method and status class"
)

const known = new Map<string, (tookSeconds: number) => void>()

/** Counts an answered request. Every label comes from a fixed set, so callers cannot create series. */
export const answered = (route: string, method: string, status: number, tookSeconds: number): void => {
  const key = `${route} ${method} ${status}`
  let update = known.get(key)
  if (update === undefined) {
    const labels = [MetricLabel.make("route", route), MetricLabel.make("method", method)]
    const count = Metric.taggedWithLabels(requests, [...labels, MetricLabel.make("status", String(status))])
    const statusClass = MetricLabel.make("status", `${String(status)[0]}xx`)
    const duration = Metric.taggedWithLabels(durations, [...labels, statusClass])
    update = (took) => {
      count.unsafeUpdate(1, [])
      duration.unsafeUpdate(took, [])
    }
    known.set(key, update)
  }
  update(tookSeconds)
}

const unauthorizedTotal = counter("clew_http_unauthorized_total", "Requests whose API key was missing or wrong")
const rateLimitedTotal = counter("clew_http_rate_limited_total", "Requests and WebSocket messages over the rate limit")

export const unauthorized = Metric.increment(unauthorizedTotal)
export const rateLimited = Metric.increment(rateLimitedTotal)

const messagesTotal = counter("clew_websocket_messages_total", "WebSocket messages received, by type")
const socketsOpen = Metric.gauge("clew_websocket_connections", { description: "Open WebSocket connections" })

export const socketMessage = (type: "search" | "prompt" | "ping" | "invalid") =>
  Metric.increment(Metric.tagged(messagesTotal, "type", type))
export const socketOpened = Metric.incrementBy(socketsOpen, 1)
export const socketClosed = Metric.incrementBy(socketsOpen, -1)

const indexedDocuments = counter("clew_indexed_documents_total", "Documents sent to POST /index, by outcome")
const indexedPassages = counter("clew_indexed_passages_total", "Passages stored by POST /index")
const deletedDocuments = counter("clew_deleted_documents_total", "Documents deleted over HTTP")

/** Counts the outcomes of a batch. */
export const indexed = ({ chunks, documents }: Pick<IndexResponse, "chunks" | "documents">) =>
  Effect.all(
    [
      ...(["created", "updated", "unchanged"] as const).map((status) =>
        Metric.incrementBy(
          Metric.tagged(indexedDocuments, "status", status),
          documents.filter((document) => document.status === status).length
        )
      ),
      Metric.incrementBy(indexedPassages, chunks)
    ],
    { discard: true }
  )

export const deleted = (documents: number) => Metric.incrementBy(deletedDocuments, documents)

/** Initializes every counter, so that the first increase is visible. */
export const begin = Effect.all(
  [
    ...[unauthorizedTotal, rateLimitedTotal, indexedPassages, deletedDocuments].map((it) => Metric.incrementBy(it, 0)),
    ...(["search", "prompt", "ping", "invalid"] as const).map((type) =>
      Metric.incrementBy(Metric.tagged(messagesTotal, "type", type), 0)
    ),
    indexed({ documents: [], chunks: 0 }),
    Metric.incrementBy(socketsOpen, 0)
  ],
  { discard: true }
)

const stageDurations = Metric.histogram("clew_query_stage_duration_seconds", seconds, "Time queries spend, by stage")
const stage = (name: string) => Metric.tagged(stageDurations, "stage", name)

/** Spans that count as stages of a query. */
const stages = new Map([
  ["Search.embed", stage("embed")],
  ["Store.find", stage("rank")],
  ["Store.vector", stage("vector")],
  ["Store.keyword", stage("keyword")],
  ["Store.fuse", stage("fuse")]
])

/** The same tracer, which also records the time of each stage of a query in a histogram. */
export const measured = (tracer: Tracer.Tracer): Tracer.Tracer => {
  const collected = namesOf(tracer)
  const made = Tracer.make({
    context: tracer.context,
    span: (name, parent, context, links, startTime, kind, options) => {
      const histogram = stages.get(name)
      if (histogram === undefined && collected?.has(name) === false) return new IdleSpan(name, parent)
      const span = tracer.span(name, parent, context, links, startTime, kind, options)
      if (histogram === undefined) return span
      const end = span.end.bind(span)
      span.end = (endTime, exit) => {
        histogram.unsafeUpdate(Number(endTime - startTime) / 1e9, [])
        end(endTime, exit)
      }
      return span
    }
  })
  return collected === undefined ? made : ofNames(made, [...collected, ...stages.keys()])
}
