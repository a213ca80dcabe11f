import * as Schema from "effect/Schema"
import { limits } from "../model/Limits.ts"
import { Fusion } from "../model/Query.ts"
import { givenKey, key, optionalKey } from "./Key.ts"
import { embedding, llm, rerank } from "./models.ts"
import {
  address,
  autoOrFlag,
  autoOrInteger,
  finite,
  flag,
  integer,
  name,
  oneOf,
  origins,
  recency,
  path,
  paths
} from "./Value.ts"

const mebibyte = 1024 * 1024

const top = {
  publicStats: key("public_stats", flag, false, "Answer GET /stats, /metrics and /collections without the API key"),
  rateLimitPerSecond: key(
    "rate_limit_per_second",
    integer(1, 1_000_000),
    100,
    "HTTP requests a second for each client address; a burst may be as large"
  )
}

const pipeline = Schema.Struct({
  chunkSize: key("chunk_size", integer(8, 8192), 192, "Longest passage, in tokens of the built-in tokenizer"),
  chunkOverlap: key(
    "chunk_overlap",
    integer(0, 8191),
    32,
    "Tokens that a passage shares with the one before; less than chunk_size"
  )
})

const search = Schema.Struct({
  topK: key("top_k", integer(limits.topK.min, limits.topK.max), 5, "Passages returned if the caller names no number"),
  alpha: optionalKey(
    "alpha",
    finite(limits.alpha.min, limits.alpha.max),
    "Weight of the vector leg in hybrid search; unset: 0.4"
  ),
  fusion: optionalKey(
    "fusion",
    oneOf(...Fusion.literals),
    "Hybrid search fuses ranks (rrf) or scores (score); unset: ranks over HTTP and WebSocket, scores elsewhere"
  ),
  rrfK: key(
    "rrf_k",
    integer(1, 1000),
    10,
    "The constant k of reciprocal rank fusion; the smaller it is, the more the first ranks count"
  ),
  context: key(
    "context",
    flag,
    true,
    "If scores are fused, the passages before and after a passage count towards its score"
  ),
  fold: key(
    "fold",
    flag,
    true,
    "Fold passages that repeat a better one, and neighbours that overlap with it, into that result"
  ),
  perDocument: key(
    "per_document",
    integer(0, limits.topK.max),
    0,
    "Most passages of one document before those of others; 0: any number"
  ),
  recency: optionalKey(
    "recency",
    recency,
    "Halve a score after each half-life of the document's age, which this metadata key tells; unset: never"
  ),
  graph: key(
    "graph",
    autoOrFlag,
    "auto",
    "Fill ranks from the sixth on with passages that the graph joins to the best; auto: if documents name each other and the query names something"
  )
})

const graph = Schema.Struct({
  enabled: key("enabled", flag, true, "Update the knowledge graph with every indexed document")
})

const vector = Schema.Struct({
  oversample: key(
    "oversample",
    autoOrInteger(1, 1024),
    "auto",
    "Candidates to score exactly, as a multiple of the 200 passages that the vector leg ranks; auto: 7.5, more above 400,000 passages; below 3,000 all are scored"
  ),
  exact: key("exact", flag, false, "Score every vector exactly; slow from about 100,000 passages on"),
  workers: key(
    "workers",
    autoOrInteger(1, 256),
    "auto",
    "Search threads of serve and mcp, started when needed; auto: one per core"
  ),
  finerMb: key(
    "finer_mb",
    integer(0, 2048),
    256,
    "Most memory of serve and mcp, in MiB, for codes of 4 bits per dimension, with which a search reads fewer vectors; 0: none"
  )
})

const store = Schema.Struct({
  path: givenKey("path", path, "The database; unset: $XDG_DATA_HOME/clew/index.db, or ~/.local/share/clew/index.db"),
  judgements: optionalKey(
    "judgements",
    path,
    "The file of judgements (clew judge, POST /judgements); unset: beside the database"
  ),
  synchronous: key(
    "synchronous",
    oneOf("normal", "full"),
    "normal",
    "Acknowledged writes survive a killed process (normal), or also a power cut (full), which waits for the disk at each write"
  )
})

const server = Schema.Struct({
  host: key("host", name, "127.0.0.1", "Address to listen on; any but a loopback address requires SERVICE_API_KEY"),
  port: key("port", integer(0, 65_535), 8484, "Port to listen on; 0: any free port"),
  readOnly: key("read_only", flag, false, "Refuse writes and open the database read-only"),
  maxBodyBytes: key("max_body_bytes", integer(1024, 1024 * mebibyte), 32 * mebibyte, "Largest request body, in bytes"),
  corsOrigins: key("cors_origins", origins, ["*"], "Origins of web pages that may call the server from a browser"),
  trustProxy: key("trust_proxy", flag, false, "Trust X-Forwarded-For; only behind a proxy that sets it"),
  maxSockets: key("max_sockets", integer(1, 65_535), 256, "Most WebSocket connections at once")
})

const limitsSection = Schema.Struct({
  maxBatch: key("max_batch", integer(1, 10_000), 1000, "Most documents in one POST /index"),
  maxFileBytes: key(
    "max_file_bytes",
    integer(1, 2 ** 40),
    100 * mebibyte,
    "Largest file that is read whole, in bytes; files read record by record, like JSON Lines, may be larger"
  ),
  parseTimeoutMs: key(
    "parse_timeout_ms",
    integer(100, 3_600_000),
    60_000,
    "Most processor time to extract the text of one PDF, office document, page or mail, in milliseconds"
  ),
  parseMemoryMb: key("parse_memory_mb", integer(64, 65_536), 1024, "Most memory for that extraction, in MiB")
})

const watch = Schema.Struct({
  paths: key("paths", paths, [], "Files and folders that clew watch, serve and mcp follow if they are given none"),
  rescanSeconds: key(
    "rescan_seconds",
    integer(1, 86_400),
    300,
    "Longest time between two scans of all watched files, in seconds, even if the system reports no changes"
  ),
  quietMs: key(
    "quiet_ms",
    integer(0, 60_000),
    500,
    "Index changes once nothing has changed for so long, in milliseconds"
  ),
  maxWaitMs: key("max_wait_ms", integer(0, 600_000), 5000, "Longest wait while changes go on, in milliseconds")
})

const telemetry = Schema.Struct({
  otlpEndpoint: optionalKey("otlp_endpoint", address, "Where traces go over OTLP; unset: nowhere")
})

const log = Schema.Struct({
  level: key(
    "level",
    oneOf("all", "trace", "debug", "info", "warning", "error", "fatal", "none"),
    "info",
    "The lowest level that is logged"
  ),
  format: key("format", oneOf("pretty", "json"), "pretty", "Format of log lines on stderr")
})

/** The keys without a section, and those of each section, under their TypeScript names. */
export const fields = {
  top,
  sections: {
    embedding: embedding.fields,
    llm: llm.fields,
    rerank: rerank.fields,
    pipeline: pipeline.fields,
    search: search.fields,
    graph: graph.fields,
    vector: vector.fields,
    store: store.fields,
    server: server.fields,
    limits: limitsSection.fields,
    watch: watch.fields,
    telemetry: telemetry.fields,
    log: log.fields
  }
} as const

const section = <A, I>(schema: Schema.Schema<A, I>, fallback: I) =>
  Schema.optionalWith(schema, { exact: true, default: () => Schema.decodeSync(schema)(fallback) })

/** The whole configuration: snake_case as in TOML on the outside, camelCase inside. `store.path` has to be given. */
export const Settings = Schema.Struct({
  ...top,
  embedding: section(embedding, {}),
  llm: section(llm, {}),
  rerank: section(rerank, {}),
  pipeline: section(
    pipeline.pipe(
      Schema.filter(
        ({ chunkOverlap, chunkSize }) =>
          chunkOverlap < chunkSize || {
            path: ["chunk_overlap"],
            message: `less than pipeline.chunk_size (${chunkOverlap} is not less than ${chunkSize})`
          }
      )
    ),
    {}
  ),
  search: section(search, {}),
  graph: section(graph, {}),
  vector: section(vector, {}),
  store,
  server: section(server, {}),
  limits: section(limitsSection, {}),
  watch: section(watch, {}),
  telemetry: section(telemetry, {}),
  log: section(log, {})
})
export type Settings = typeof Settings.Type
export type SettingsEncoded = typeof Settings.Encoded

type Sections = Omit<SettingsEncoded, "public_stats" | "rate_limit_per_second">

/** A key with its section, as in `pipeline.chunk_size`. */
export type KeyPath =
  | "public_stats"
  | "rate_limit_per_second"
  | { [S in keyof Sections]-?: `${S}.${keyof NonNullable<Sections[S]> & string}` }[keyof Sections]
