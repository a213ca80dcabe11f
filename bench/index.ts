import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const benches: Readonly<Record<string, string>> = {
  everyday: "indexing, starts, and questions over HTTP, of several built programs in turn: do their answers differ?",
  meanwhile:
    "how long /health and a question take while 50 MB come in, or a filter of 1,000 globs runs, of several builds",
  gate: "the same as everyday; fails if the last program takes over a tenth more CPU time a question than the first",
  pool: "queries in a pool of threads beside the same in process: latency, throughput, event-loop delay",
  finer: "how well codes of 4 bits rank: the place of the last of the exact best 200 (INDEX QUERIES.jsonl)",
  postgres: "an index in PostgreSQL beside the same in a file: indexing, queries, recall under filters, starts, memory",
  opensearch:
    "an index in a cluster of OpenSearch beside the same in a file: indexing, queries, processor time, overlap",
  million: "Clew beside sqlite-vec, FTS5, usearch and a plain scan, at 10k to 1M passages",
  embed: "passages embedded a second, and the time to load the packaged model; or with a model in ONNX (FOLDER)",
  graph: "what the knowledge graph costs: indexing, size, `graph build`, queries",
  graphQuestions: "questions over documentation that two documents answer, found with the graph and without",
  graphPrecision: "mentions and relations of the graph, drawn to be judged by hand",
  libraries: "the tokenizer and the Markdown reader beside libraries that do the same (FOLDER)",
  quality:
    "the figures of docs/quality.md, written into it, on collections in BEIR layout ([--leave-one-out] FOLDER...)",
  sections:
    "questions to documentations whose right sections are known, in four modes; two sets are here ([FOLDER...])",
  relevance: "relevance on collections that it was not fitted on, each left out in turn (FOLDER...)",
  verdicts: "the verdicts on 453 claims about 55 real passages, labelled by hand ([first] [development] [held])",
  answers:
    "questions to documentation sets, answered without a model: how many answers contain what a correct one must",
  agent: "tokens that an agent reads until it has seen the passage that answers: search beside grep (FOLDER)",
  agents:
    "ten processes of `clew mcp` on one index: start, memory, a question, and when the first ends (INDEX [AGENTS])",
  ask: "streamed answers: the first source, and many streams at once",
  storm: "clients that cancel over HTTP, WebSocket and MCP, 50,000 times each: does the program still answer?",
  faults:
    "a disk that fails at each write, sync and truncation in turn, below serve, index, delete and compact (STRIDE, PART...)",
  soak: "RssAnon and its parts during queries, writes and deletes (MINUTES, PER SECOND): does it rise?",
  bodies: "hostile and large bodies over HTTP: time to answer, worst /health meanwhile, memory",
  shelf: "thirty questions to a shelf of manuals whose right page is known (bench/shelf/make.sh makes it): hit@5",
  loaders: "extracting text from files (FOLDER), by format: MB per CPU second, memory, beside pdftotext and pandoc",
  definitions: "splitting code by lines beside tree-sitter's trees: definitions named, datasets for `clew benchmark`",
  definitionsByLines: "splitting code by lines beside Universal Ctags (FOLDER): definitions named, nine languages",
  watch: "following files: from saving to finding, scans, a storm of changes, idling; fs.watch beside its peers",
  console: "the console: from a key to its painted results, what facets add to a query, suggestions (INDEX)",
  http: "the HTTP server beside bare node:http and the engine in process"
}

const [name = "", ...args] = process.argv.slice(2)

if (name in benches) {
  const file = fileURLToPath(new URL(`./${name}.ts`, import.meta.url))
  process.exitCode = spawnSync(process.execPath, ["--import", "tsx", file, ...args], { stdio: "inherit" }).status ?? 1
} else {
  const width = Math.max(...Object.keys(benches).map((each) => each.length))
  console.log("npm run bench -- NAME [ARGUMENTS]\n")
  for (const [each, about] of Object.entries(benches)) console.log(`  ${each.padEnd(width)}  ${about}`)
  process.exitCode = name === "" ? 0 : 2
}
