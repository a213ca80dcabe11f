// Writes the figures of docs/quality.md: the results of `clew benchmark` on the given collections.
import * as Schema from "effect/Schema"
import { readFileSync, writeFileSync } from "node:fs"
import { basename } from "node:path"
import { fileURLToPath } from "node:url"
import { BenchmarkReport } from "../src/cli/benchmark.ts"
import { program, run } from "./program.ts"

const isLeavingOut = process.argv.includes("--leave-one-out")
const folders = process.argv.slice(2).filter((word) => !word.startsWith("--"))
if (folders.length < (isLeavingOut ? 3 : 1)) {
  console.error(`usage: npm run bench -- quality FOLDER...
       npm run bench -- quality --leave-one-out FOLDER FOLDER FOLDER...

A FOLDER is a collection in BEIR layout. The tables between the marks in docs/quality.md are written anew; with
--leave-one-out, each choice of the ranking is made on all collections but one and scored on that one, and a FOLDER may
have questions to a documentation (see sections).`)
  process.exit(2)
}
if (isLeavingOut) {
  await import("./choices.ts")
  process.exit()
}

const modes = ["keyword", "vector", "hybrid rrf", "hybrid score", "score + graph", "score + auto"] as const
type Row = BenchmarkReport["datasets"][number]["modes"]

const { stdout } = run([program(), "benchmark", ...folders.flatMap((folder) => ["--dataset", folder]), "--json"])
const { datasets, mean } = Schema.decodeUnknownSync(Schema.parseJson(BenchmarkReport))(stdout)

const figure = (value: number): string => value.toFixed(3).replace(/^0/, "")

const table = (
  columns: ReadonlyArray<(typeof modes)[number]>,
  cell: (scores: Row[(typeof modes)[number]]) => string
): string => {
  const rows: ReadonlyArray<readonly [name: string, row: Row]> = [
    ...datasets.map(({ dataset, modes }) => [basename(dataset), modes] as const),
    ...(mean === undefined ? [] : [["mean", mean.modes] as const])
  ]
  return [
    `|  | ${columns.join(" | ")} |`,
    `|---|${columns.map(() => "---").join("|")}|`,
    ...rows.map(([name, row]) => `| ${name} | ${columns.map((mode) => cell(row[mode])).join(" | ")} |`)
  ].join("\n")
}

const legs = table(["keyword", "vector", "hybrid rrf", "hybrid score"], (scores) =>
  [scores.ndcg_at_10, scores.recall_at_100, scores.mrr_at_10].map(figure).join(" / ")
)
const graph = table(["hybrid score", "score + graph", "score + auto"], (scores) =>
  [scores.ndcg_at_10, scores.recall_at_10, scores.all_evidence_at_10].map(figure).join(" / ")
)

const page = fileURLToPath(new URL("../docs/quality.md", import.meta.url))
const [begin, end] = ["<!-- figures: npm run bench -- quality -->", "<!-- end of the figures -->"]
const text = readFileSync(page, "utf8")
const [from, to] = [text.indexOf(begin), text.indexOf(end)]
if (from === -1 || to < from) throw new Error(`${page} has no ${begin} … ${end}`)
const written = `${begin}

nDCG@10 / recall@100 / MRR@10:

${legs}

With the knowledge graph, nDCG@10 / recall@10 / share of questions all of whose evidence is among the ten best:

${graph}

${end}`
writeFileSync(page, text.slice(0, from) + written + text.slice(to + end.length))
console.log(written)
