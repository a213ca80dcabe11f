import * as Schema from "effect/Schema"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import type { Task } from "./million/data.ts"
import { type Line, plot } from "./million/plot.ts"
import { Result } from "./million/result.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

/** In this order: the first computes the truth. The largest sizes that each handles in reasonable time. */
const methods: ReadonlyArray<readonly [name: string, most: number]> = [
  ["brute", Infinity],
  ["clew", Infinity],
  ["vec0", Infinity],
  ["fts5", 300_000],
  ["usearch", 300_000]
]

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    sizes: { type: "string", default: "10000,100000" },
    queries: { type: "string", default: "200" },
    methods: { type: "string", default: methods.map(([name]) => name).join(",") },
    work: { type: "string" },
    plot: { type: "string", default: join(root, "docs", "million.svg") },
    fresh: { type: "boolean", default: false }
  }
})
/** A corpus is a folder, or the corpus.jsonl in it, as for the other benches. */
const corpora = positionals.map((given) => resolve(given.endsWith(".jsonl") ? dirname(given) : given))
const missing = corpora.find(
  (folder) => !existsSync(join(folder, "corpus.jsonl")) || !existsSync(join(folder, "queries.jsonl"))
)
const sizes = values.sizes.split(",").map(Number)
const asked = values.methods.split(",")
const unknown = asked.find((name) => !methods.some(([known]) => known === name))
if (
  corpora.length === 0 ||
  missing !== undefined ||
  unknown !== undefined ||
  values.work === undefined ||
  !sizes.every((size) => size >= 1000)
) {
  console.error(
    `usage: npm run bench -- million --work DIR [--sizes 10000,100000,1000000] [--queries 200] [--methods brute,clew,…]
         [--plot FILE.svg] [--fresh] CORPUS...

A CORPUS is a folder in BEIR layout. DIR keeps what is built from them, so that the next run is quick;
--fresh rebuilds it, except the vectors. A million passages take about 8 GB there.`
  )
  process.exit(2)
}
const work = resolve(values.work)
mkdirSync(work, { recursive: true })

const decode = Schema.decodeUnknownSync(Schema.parseJson(Result))

const perform = (task: Task): Result | undefined => {
  const file = join(work, "result.json")
  rmSync(file, { force: true })
  const { status } = spawnSync(
    process.execPath,
    ["--import", "tsx", "--max-old-space-size=8192", join(root, "bench", "million", "method.ts"), JSON.stringify(task)],
    { stdio: ["ignore", "inherit", "inherit"], cwd: root }
  )
  if (status === 0) return decode(readFileSync(file, "utf8"))
  console.error(`${task.method} at ${task.size} ended with ${status}`)
  process.exitCode = 1
  return undefined
}

if (values.fresh) {
  // Deletes the files that record how long an index took to build, so that it counts as missing.
  for (const file of readdirSync(work).filter((name) => sizes.some((size) => name.includes(`-${size}.`)))) {
    rmSync(join(work, file), { force: true })
  }
}

const megabytes = (bytes: number | null): string => (bytes === null ? "" : (bytes / 1e6).toFixed(0))
const ms = (value: number): string => value.toFixed(value < 10 ? 2 : 1)

const points = new Map<string, Array<Line["points"][number]>>()
const notes: Array<string> = []
for (const size of sizes) {
  console.log(`\n${size.toLocaleString("en")} passages\n`)
  console.log("| | p50 ms | p99 ms | recall@10 | build s | RSS MB | on disk MB |\n|---|---:|---:|---:|---:|---:|---:|")
  for (const [method, most] of methods) {
    if (!asked.includes(method) || size > most) continue
    const result = perform({ method, size, corpora, work, queries: Number(values.queries) })
    if (result === undefined) continue
    notes.push(...result.notes)
    for (const [n, row] of result.rows.entries()) {
      const whole =
        n > 0 ? ["", "", ""] : [result.buildSeconds?.toFixed(1) ?? "", megabytes(result.rss), megabytes(result.bytes)]
      console.log(`| ${[row.name, ms(row.p50), ms(row.p99), row.recall?.toFixed(3) ?? "", ...whole].join(" | ")} |`)
      const isCurve = !row.name.includes("filter") && !row.name.includes("while")
      if (isCurve) points.set(row.name, [...(points.get(row.name) ?? []), { size, ms: row.p50 }])
    }
  }
}
console.log(`\n${[...new Set(notes)].join("\n")}`)
if (sizes.length > 1) writeFileSync(values.plot, plot([...points].map(([name, of]) => ({ name, points: of }))))
