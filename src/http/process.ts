import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import { monitorEventLoopDelay } from "node:perf_hooks"
import type { Sample } from "./prometheus.ts"

const resolution = 50

/** Measuring the lag wakes the process twenty times a second, so it stops after this time without a scrape. */
const attention = Duration.minutes(5)

const gauge = (name: string, help: string, value: number): Sample => ({ name, type: "gauge", help, value })

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
    // The monitor measures a timer of `resolution`; the excess is the lag.
    const lag = (nanoseconds: number) =>
      Math.max(0, (Number.isFinite(nanoseconds) ? nanoseconds : 0) / 1e9 - resolution / 1000)
    const samples = [
      gauge(
        "nodejs_eventloop_lag_p50_seconds",
        "Event-loop lag since the last scrape, median",
        lag(delay.percentile(50))
      ),
      gauge(
        "nodejs_eventloop_lag_p99_seconds",
        "Event-loop lag since the last scrape, 99th percentile",
        lag(delay.percentile(99))
      ),
      gauge("nodejs_eventloop_lag_max_seconds", "Event-loop lag since the last scrape, longest", lag(delay.max)),
      gauge("nodejs_heap_size_used_bytes", "JavaScript heap in use", memory.heapUsed),
      gauge("nodejs_external_memory_bytes", "Memory of objects outside the heap", memory.external),
      gauge("process_resident_memory_bytes", "Resident memory", memory.rss),
      gauge(
        "process_start_time_seconds",
        "When the process started, in seconds since 1970",
        Date.now() / 1000 - process.uptime()
      ),
      {
        name: "process_cpu_seconds_total",
        type: "counter",
        help: "CPU time used",
        value: (cpu.user + cpu.system) / 1e6
      } as const
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
