import { percentile } from "../../src/measuring/Benchmark.ts"
import { mean } from "../../src/measuring/evaluation.ts"
import type { Row } from "./result.ts"

type Ids = ReadonlyArray<number>

/** The share of true results among those found, as a mean over the queries; null without truth. */
const recallOf = (found: ReadonlyArray<Ids>, truth: ReadonlyArray<Ids> | undefined): number | null =>
  truth === undefined
    ? null
    : mean(
        found.map((ids, query) => {
          const wanted = truth[query]!
          return wanted.length === 0 ? 1 : ids.filter((id) => wanted.includes(id)).length / wanted.length
        })
      )

/** Runs each query once, after a few for warm-up. */
export const measure = async <Q>(
  name: string,
  queries: ReadonlyArray<Q>,
  truth: ReadonlyArray<Ids> | undefined,
  run: (query: Q) => Ids | Promise<Ids>
): Promise<Row> => {
  for (const query of queries.slice(0, 10)) await run(query)
  const times: Array<number> = []
  const found: Array<Ids> = []
  for (const query of queries) {
    const from = performance.now()
    found.push(await run(query))
    times.push(performance.now() - from)
  }
  return { name, p50: percentile(times, 0.5), p99: percentile(times, 0.99), recall: recallOf(found, truth) }
}
