import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricLabel from "effect/MetricLabel"
import * as MetricState from "effect/MetricState"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import { monitorEventLoopDelay } from "node:perf_hooks"
import type { IndexResponse } from "../api/Documents.ts"
import { LogConfig } from "../Config.ts"
import type { Watching } from "../model/Stats.ts"
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
      ...(["created", "updated", "unchanged", "skipped"] as const).map((status) =>
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
const spans = [
  ["Search.embed", "embed"],
  ["Store.find", "rank"],
  ["Store.vector", "vector"],
  ["Store.keyword", "keyword"],
  ["Store.fuse", "fuse"]
] as const
const stages = new Map<string, ReturnType<typeof stage>>(spans.map(([span, name]) => [span, stage(name)]))

/** A quantile of a histogram, in milliseconds; within a bucket, the values are taken to be spread evenly. */
const quantile = ({ buckets, count }: MetricState.MetricState.Histogram, share: number): number => {
  const wanted = share * count
  let [low, below] = [0, 0]
  for (const [bound, upTo] of buckets) {
    if (upTo >= wanted && upTo > below) {
      const high = Number.isFinite(bound) ? bound : low
      return Math.round((low + ((high - low) * (wanted - below)) / (upTo - below)) * 100_000) / 100
    }
    ;[low, below] = [bound, upTo]
  }
  return Math.round(low * 100_000) / 100
}

/** How long each stage of a search takes, the slowest first; only those that were measured. */
export const stageTimes = Effect.map(
  Effect.forEach(spans, ([, name]) => Effect.map(Metric.value(stage(name)), (state) => [name, state] as const)),
  (all) =>
    all
      .filter(([, { count }]) => count > 0)
      .map(([stage, state]) => ({
        stage,
        p50_ms: quantile(state, 0.5),
        p95_ms: quantile(state, 0.95),
        count: state.count
      }))
      .sort((a, b) => b.p95_ms - a.p95_ms)
)

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
  if (collected === undefined) return made
  const alone = [...stages].filter(([name]) => !collected.has(name))
  const timers = alone.map(([name, histogram]) => [name, (took: number) => histogram.unsafeUpdate(took, [])] as const)
  return ofNames(made, [...collected, ...stages.keys()], new Map(timers))
}

/** One metric with its series, as complete lines in order. */
interface Family {
  readonly type: "counter" | "gauge" | "histogram"
  readonly help: string
  readonly lines: Array<string>
}

const escaped = (text: string, quotes: boolean): string => {
  const plain = text.replace(/\\/g, "\\\\").replace(/\n/g, "\\n")
  return quotes ? plain.replace(/"/g, '\\"') : plain
}

const number = (value: number | bigint): string =>
  value === Infinity ? "+Inf" : value === -Infinity ? "-Inf" : String(value)

type Labels = ReadonlyArray<readonly [string, string]>

const series = (name: string, labels: Labels, value: number | bigint): string => {
  const inner = labels.map(([key, text]) => `${key}="${escaped(text, true)}"`).join(",")
  return `${name}${inner === "" ? "" : `{${inner}}`} ${number(value)}`
}

const histogram = (name: string, labels: Labels, state: MetricState.MetricState.Histogram): ReadonlyArray<string> => {
  const finite = [...state.buckets].filter(([bound]) => Number.isFinite(bound))
  return [
    ...finite.map(([bound, count]) => series(`${name}_bucket`, [...labels, ["le", number(bound)]], count)),
    series(`${name}_bucket`, [...labels, ["le", "+Inf"]], state.count),
    series(`${name}_sum`, labels, state.sum),
    series(`${name}_count`, labels, state.count)
  ]
}

/** A value sampled at each scrape. */
export interface Sample {
  readonly name: string
  readonly type: "counter" | "gauge"
  readonly help: string
  readonly value: number
  readonly labels?: Labels
}

const write = (families: ReadonlyMap<string, Family>): string =>
  [...families]
    .map(
      ([name, { help, lines, type }]) =>
        `# HELP ${name} ${escaped(help, false)}\n# TYPE ${name} ${type}\n${lines.join("\n")}\n`
    )
    .join("")

/** Clew's own metrics in Effect's registry, and the samples, in Prometheus text format 0.0.4. */
export const prometheus = (samples: ReadonlyArray<Sample>): Effect.Effect<string> =>
  Effect.map(Metric.snapshot, (pairs) => {
    const families = new Map<string, Family>()
    const add = (name: string, type: Family["type"], help: string, lines: ReadonlyArray<string>) => {
      const family = families.get(name) ?? { type, help, lines: [] }
      family.lines.push(...lines)
      families.set(name, family)
    }
    for (const { metricKey, metricState } of pairs) {
      const { name } = metricKey
      if (!name.startsWith("clew_")) continue
      const help = Option.getOrElse(metricKey.description, () => name)
      const labels = metricKey.tags.map(({ key, value }) => [key, value] as const)
      if (MetricState.isCounterState(metricState)) add(name, "counter", help, [series(name, labels, metricState.count)])
      else if (MetricState.isGaugeState(metricState))
        add(name, "gauge", help, [series(name, labels, metricState.value)])
      else if (MetricState.isHistogramState(metricState))
        add(name, "histogram", help, histogram(name, labels, metricState))
    }
    for (const { help, labels = [], name, type, value } of samples) {
      add(name, type, help, [series(name, labels, value)])
    }
    return write(families)
  })

const resolution = 50

/** Measuring the lag wakes the process twenty times a second, so it stops after this time without a scrape. */
const attention = Duration.minutes(5)

/** A sample that may fall as well as rise. */
export const gauge = (name: string, help: string, value: number, labels: Labels = []): Sample => ({
  name,
  type: "gauge",
  help,
  value,
  labels
})

/** Metrics of this process under the usual Prometheus names; event-loop lag is measured from the first call on. */
export const processSamples = Effect.gen(function* () {
  const delay = yield* Effect.acquireRelease(
    Effect.sync(() => monitorEventLoopDelay({ resolution })),
    (delay) => Effect.sync(() => delay.disable())
  )
  const ending = yield* FiberHandle.make()
  const samples = Effect.sync((): ReadonlyArray<Sample> => {
    const memory = process.memoryUsage()
    const cpu = process.cpuUsage()
    const begin = Date.now() - process.uptime() * 1000
    // The monitor measures a timer of `resolution`; the excess is the lag.
    const lag = (nanoseconds: number) =>
      Math.max(0, (Number.isFinite(nanoseconds) ? nanoseconds : 0) / 1e9 - resolution / 1000)
    const behind = (which: string) => `Event-loop lag since the last scrape, ${which}`
    const samples: ReadonlyArray<Sample> = [
      gauge("nodejs_eventloop_lag_p50_seconds", behind("median"), lag(delay.percentile(50))),
      gauge("nodejs_eventloop_lag_p99_seconds", behind("99th percentile"), lag(delay.percentile(99))),
      gauge("nodejs_eventloop_lag_max_seconds", behind("longest"), lag(delay.max)),
      gauge("nodejs_heap_size_used_bytes", "JavaScript heap in use", memory.heapUsed),
      gauge("nodejs_external_memory_bytes", "Memory of objects outside the heap", memory.external),
      gauge("process_resident_memory_bytes", "Resident memory", memory.rss),
      gauge("process_start_time_seconds", "When the process started, in seconds since 1970", begin / 1000),
      { ...gauge("process_cpu_seconds_total", "CPU time used", (cpu.user + cpu.system) / 1e6), type: "counter" }
    ]
    delay.reset()
    delay.enable()
    return samples
  })
  const rest = Effect.sync(() => {
    delay.disable()
    delay.reset()
  })
  return Effect.zipLeft(samples, FiberHandle.run(ending, Effect.delay(rest, attention)))
})

/** Metrics of a watcher; those of the last scan only after the first scan. */
export const watchSamples = (status: Watching): ReadonlyArray<Sample> => {
  const { failed, held, last_scan_at: lastScanAt, last_scan_ms: lastScanMs, paths, state, waiting } = status
  const watch = (name: string, help: string, value: number, labels?: Labels) =>
    gauge(`clew_watch_${name}`, help, value, labels)
  const present =
    "Watched paths: 1, or 0 if documents are kept because the path is missing or has lost most of its files"
  const events = "1 if the system reports changes, 0 if files are scanned now and then"
  const at = "Time of the last scan, in seconds since 1970"
  return [
    ...paths.map((path) => watch("path_present", present, held.includes(path) ? 0 : 1, [["path", path]])),
    watch("events", events, state === "events" ? 1 : 0),
    watch("files_waiting", "Changed files that have not been scanned yet", waiting),
    watch("files_failed", "Files that could not be read or indexed", failed),
    ...(lastScanAt === undefined ? [] : [watch("last_scan_timestamp_seconds", at, lastScanAt / 1000)]),
    ...(lastScanMs === undefined
      ? []
      : [watch("last_scan_duration_seconds", "Duration of the last scan of all files", lastScanMs / 1000)])
  ]
}

const methods = new Set(["GET", "HEAD", "POST", "DELETE", "OPTIONS"])

export interface Answered {
  readonly id: string
  readonly method: string
  /** The route's template; undefined if no route matches. */
  readonly route: string | undefined
  readonly status: number
  /** Milliseconds from the request's head to the end of the answer. */
  readonly took: number
}

/** Counts an answered request and logs it: as readable text, or with fields for programs. */
export const makeAccount = Effect.map(LogConfig, ({ format }) => {
  const known = new Map<string, (tookSeconds: number) => void>()

  /** Every label comes from a fixed set, so callers cannot create series. */
  const countOf = (route: string, method: string, status: number) => {
    const labels = [MetricLabel.make("route", route), MetricLabel.make("method", method)]
    const count = Metric.taggedWithLabels(requests, [...labels, MetricLabel.make("status", String(status))])
    const statusClass = MetricLabel.make("status", `${String(status)[0]}xx`)
    const duration = Metric.taggedWithLabels(durations, [...labels, statusClass])
    return (took: number) => {
      count.unsafeUpdate(1, [])
      duration.unsafeUpdate(took, [])
    }
  }

  return (answered: Answered): Effect.Effect<void> => {
    const { id, route = "unmatched", status, took } = answered
    const method = methods.has(answered.method) ? answered.method : "other"
    const key = `${route} ${method} ${status}`
    const update = known.get(key) ?? countOf(route, method, status)
    known.set(key, update)
    update(took / 1000)
    const ms = Math.round(took * 10) / 10
    return format === "json"
      ? Effect.annotateLogs(Effect.logInfo("request"), { request_id: id, method, route, status, ms })
      : Effect.logInfo(`${method} ${route} ${status} ${ms} ms ${id}`)
  }
})
