import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as MetricState from "effect/MetricState"
import * as Option from "effect/Option"

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
