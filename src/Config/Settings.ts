import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { lazily } from "../model/lazily.ts"
import { limits } from "../model/Limits.ts"
import {
  key,
  table,
  optionalKey,
  base,
  database,
  identifier,
  duration,
  finite,
  flagOrLevel,
  headers,
  integer,
  name,
  scope,
  oneOf,
  text,
  texts,
  givenKey,
  address,
  addresses,
  indexPrefix,
  autoOrFlag,
  autoOrInteger,
  flag,
  origins,
  recency,
  path,
  paths,
  serverKeys,
  about,
  type Kind
} from "./Value.ts"
import { Fusion } from "../model/Query.ts"

const ollama = "http://127.0.0.1:11434"
const where = "Address of Ollama or the OpenAI-compatible server; `/v1` is added to an address without a path"
const keptLoaded = "How long Ollama keeps the model loaded; unset: Ollama's own setting"
const sentHeaders = "Headers sent with every request to that server"
/** Node's fetch times out after this long without response headers. */
const longestWait = 300_000

/** The embedder. */
const embedding = table({
  backend: key(
    oneOf("auto", "builtin", "onnx", "ollama", "openai"),
    "auto",
    "What embeds texts; auto: Ollama if it answers and has the model, else builtin"
  ),
  model: optionalKey(
    name,
    "The embedding model; unset: nomic-embed-text for ollama, the packaged model for builtin, which also takes the path of a Model2Vec folder; for onnx the path of a model's folder, or of one .onnx file in it"
  ),
  url: key(base, ollama, where),
  dimensions: optionalKey(integer(1, 65_536), "Dimensions of a vector; unset: the model's own"),
  threads: key(autoOrInteger(1, 64), "auto", "Processor cores for onnx; auto: half of them, at most four"),
  queryPrefix: optionalKey(text, "Prefix of each query; unset: what the model expects"),
  passagePrefix: optionalKey(text, "Prefix of each passage; unset: what the model expects"),
  batchSize: key(integer(1, 2048), 32, "Passages in one request to the embedder"),
  concurrency: key(integer(1, 16), 4, "Concurrent requests to the embedder"),
  timeoutMs: key(integer(1, longestWait), 60_000, "Longest wait for the embedder's answer, in milliseconds"),
  headers: optionalKey(headers, sentHeaders),
  keepAlive: optionalKey(duration, keptLoaded)
})

/** A model on this machine has no name of its own to fall back to. */
const needsFolder = ({ backend, model }: { readonly backend: string; readonly model?: string | undefined }) =>
  backend !== "onnx" ||
  model !== undefined || { path: ["model"], message: "the path of a model's folder, for backend onnx" }

/** The model that writes answers. */
const llm = table({
  backend: key(
    oneOf("auto", "ollama", "openai", "extractive"),
    "auto",
    "What writes answers; auto: Ollama if it answers and has the model, else extractive, which quotes and needs no model"
  ),
  model: key(name, "llama3.2", "The model of ollama or openai"),
  url: key(base, ollama, where),
  temperature: key(
    finite(limits.temperature.min, limits.temperature.max),
    0.2,
    "Randomness of the answer; 0 gives nearly the same answer each time"
  ),
  maxTokens: key(integer(1, 1_000_000), 1024, "Longest answer, in the model's tokens"),
  contextTokens: optionalKey(
    integer(256, 10_000_000),
    "The model's context window, in its tokens: passages, question and answer must fit; unset: what Ollama reports, else 4096"
  ),
  timeoutMs: key(integer(1, longestWait), 120_000, "Longest silence of the model, in milliseconds"),
  systemPrompt: optionalKey(text, "More instructions for the model, such as the language of the answer; unset: none"),
  seed: optionalKey(integer(0, 2 ** 31 - 1), "Seed for repeatable answers, as far as the model can; unset: none"),
  stop: optionalKey(texts, "Texts before which the answer stops; unset: none"),
  headers: optionalKey(headers, sentHeaders),
  keepAlive: optionalKey(duration, keptLoaded),
  think: optionalKey(
    flagOrLevel,
    "Whether, or how much, an Ollama model thinks before it answers; unset: the model's default"
  )
})

/** The reranker. */
const rerank = table({
  backend: key(
    oneOf("none", "onnx", "openai"),
    "none",
    "What reranks the best passages and replaces the graph; onnx: a cross-encoder on this machine, openai: a server with /v1/rerank"
  ),
  model: optionalKey(
    name,
    "The reranking model; for onnx the path of its folder, or of one .onnx file in it; unset: the server's own"
  ),
  threads: key(autoOrInteger(1, 64), "auto", "Processor cores for onnx; auto: half of them, at most four"),
  budgetMs: key(
    integer(1, longestWait),
    300,
    "Time for onnx to rerank, in milliseconds: it reads as many of the best passages as it can, and the answer says how many"
  ),
  url: key(base, "http://127.0.0.1:8080", "Address of the server with /v1/rerank"),
  top: key(integer(1, limits.topK.max), 20, "How many of the best passages to rerank"),
  timeoutMs: key(integer(1, longestWait), 10_000, "Longest wait for the reranker's answer, in milliseconds"),
  headers: optionalKey(headers, sentHeaders)
})

const mebibyte = 1024 * 1024

const top = table({
  publicStats: key(flag, false, "Answer GET /stats, /metrics and /collections without the API key"),
  rateLimitPerSecond: key(
    integer(1, 1_000_000),
    100,
    "HTTP requests a second for each client address; a burst may be as large"
  )
}).fields

const pipeline = table({
  chunkSize: key(integer(8, 8192), 192, "Longest passage, in tokens of the built-in tokenizer"),
  chunkOverlap: key(integer(0, 8191), 32, "Tokens that a passage shares with the one before; less than chunk_size")
})

const search = table({
  topK: key(integer(limits.topK.min, limits.topK.max), 5, "Passages returned if the caller names no number"),
  alpha: optionalKey(
    finite(limits.alpha.min, limits.alpha.max),
    "Weight of the vector leg in hybrid search; unset: 0.4, or 0.5 for scores of another embedder than builtin; half of that for a query in another language than English if the model knows no other"
  ),
  fusion: optionalKey(
    oneOf(...Fusion.literals),
    "Hybrid search fuses ranks (rrf) or scores (score); unset: ranks over HTTP and WebSocket, scores elsewhere"
  ),
  rrfK: key(
    integer(1, 1000),
    10,
    "The constant k of reciprocal rank fusion; the smaller it is, the more the first ranks count"
  ),
  context: key(flag, true, "If scores are fused, the passages before and after a passage count towards its score"),
  fold: key(
    flag,
    true,
    "Fold passages that repeat a better one, and neighbours that overlap with it, into that result"
  ),
  perDocument: key(
    integer(0, limits.topK.max),
    0,
    "Most passages of one document before those of others; 0: any number"
  ),
  recency: optionalKey(
    recency,
    "Halve a score after each half-life of the document's age, which this metadata key tells; unset: never"
  ),
  graph: key(
    autoOrFlag,
    "auto",
    "Fill ranks from the sixth on with passages that the graph joins to the best; auto: if documents name each other and the query names something"
  )
})

const graph = table({
  enabled: key(flag, true, "Update the knowledge graph with every indexed document")
})

const vector = table({
  oversample: key(
    autoOrInteger(1, 1024),
    "auto",
    "Candidates to score exactly, as a multiple of the 200 passages that the vector leg ranks; auto: 7.5, more above 400,000 passages; below 3,000 all are scored"
  ),
  exact: key(flag, false, "Score every vector exactly; slow from about 100,000 passages on"),
  workers: key(
    autoOrInteger(1, 256),
    "auto",
    "Search threads of serve and mcp, started when needed; auto: one per core"
  ),
  finerMb: key(
    integer(0, 2048),
    256,
    "Most memory of serve and mcp, in MiB, for codes of 4 bits per dimension, with which a search reads fewer vectors; 0: none"
  )
})

const store = table({
  backend: key(
    oneOf("auto", "sqlite", "postgres", "opensearch"),
    "auto",
    "Where the index is: a file, PostgreSQL, or a cluster of OpenSearch; auto: postgres if store.url is set, opensearch if store.urls is, else sqlite"
  ),
  url: optionalKey(database, "PostgreSQL's address, with user and password; better as CLEW_STORE_URL"),
  schema: key(identifier, "clew", "The schema of the database that has the index; several can share one"),
  pool: key(integer(2, 100), 8, "Connections of a process to PostgreSQL, at most"),
  urls: optionalKey(addresses, "Addresses of OpenSearch's nodes"),
  indexPrefix: key(
    indexPrefix,
    "clew",
    "How the names of the indexes in OpenSearch begin; several can share a cluster"
  ),
  username: optionalKey(name, "The user for OpenSearch; the password comes from CLEW_STORE_PASSWORD"),
  ca: optionalKey(path, "A file with certificates of authorities that OpenSearch's TLS is trusted by"),
  shards: key(integer(1, 1024), 3, "Shards of each index in OpenSearch that is made from now on"),
  replicas: key(integer(0, 10), 1, "Further copies of each shard in OpenSearch"),
  refresh: key(
    oneOf("wait", "interval"),
    "wait",
    "Whether a write to OpenSearch ends when searches find it (wait), or sooner, and they find it within a second (interval)"
  ),
  timeoutMs: key(integer(1000, 600_000), 30_000, "The longest wait for an answer of OpenSearch"),
  path: givenKey(path, "The file of the index; unset: $XDG_DATA_HOME/clew/index.db, or ~/.local/share/clew/index.db"),
  judgements: optionalKey(path, "The file of judgements (clew judge, POST /judgements); unset: beside the database"),
  synchronous: key(
    oneOf("normal", "full"),
    "normal",
    "Acknowledged writes survive a killed process (normal), or also a power cut (full), which waits for the disk at each write"
  )
})

const server = table({
  host: key(name, "127.0.0.1", "Address to listen on; any but a loopback address requires a key"),
  port: key(integer(0, 65_535), 8484, "Port to listen on; 0: any free port"),
  readOnly: key(flag, false, "Refuse writes and open the database read-only"),
  writePaths: key(paths, [], "Folders whose files agents may index, and remove from the index, over MCP"),
  console: key(flag, true, "Answer GET / in a browser with the console"),
  maxBodyBytes: key(integer(1024, 1024 * mebibyte), 32 * mebibyte, "Largest request body, in bytes"),
  corsOrigins: key(origins, ["*"], "Origins of web pages that may call the server from a browser"),
  trustProxy: key(flag, false, "Trust X-Forwarded-For; only behind a proxy that sets it"),
  maxSockets: key(integer(1, 65_535), 256, "Most WebSocket connections at once"),
  oauthIssuer: optionalKey(
    address,
    "Whose OAuth tokens are accepted beside the API key, exactly as the tokens name it; unset: nobody's"
  ),
  oauthAudience: optionalKey(
    address,
    "The address by which MCP's clients reach this server, with /mcp, which tokens must name as their audience"
  ),
  oauthScope: optionalKey(scope, "A scope that tokens must have; unset: any will do"),
  keys: optionalKey(
    serverKeys,
    "Further keys, each with its rights (read, write, admin) and perhaps limited to collections; read again when the file changes; unset: none"
  )
})

/** A token that names no audience could be meant for anybody. */
const needsAudience = ({ oauthAudience, oauthIssuer }: typeof server.Type) =>
  (oauthIssuer === undefined) === (oauthAudience === undefined) || {
    path: [oauthIssuer === undefined ? "oauth_issuer" : "oauth_audience"],
    message: `set: server.${oauthIssuer === undefined ? "oauth_audience" : "oauth_issuer"} needs it`
  }

const mcp = table({
  join: key(
    flag,
    true,
    "Let processes of clew mcp with this index and configuration use the engine of one that runs already, clew serve's too"
  )
})

const limitsSection = table({
  maxBatch: key(integer(1, 10_000), 1000, "Most documents in one POST /index"),
  maxFileBytes: key(
    integer(1, 2 ** 40),
    100 * mebibyte,
    "Largest file that is read whole, in bytes; files read record by record, like JSON Lines, may be larger"
  ),
  parseTimeoutMs: key(
    integer(100, 3_600_000),
    60_000,
    "Most processor time to extract the text of one PDF, office document, page or mail, in milliseconds"
  ),
  parseMemoryMb: key(integer(64, 65_536), 1024, "Most memory for that extraction, in MiB")
})

const watch = table({
  paths: key(paths, [], "Files and folders that clew watch, serve and mcp follow if they are given none"),
  rescanSeconds: key(
    integer(1, 86_400),
    300,
    "Longest time between two scans of all watched files, in seconds, even if the system reports no changes"
  ),
  quietMs: key(integer(0, 60_000), 500, "Index changes once nothing has changed for so long, in milliseconds"),
  maxWaitMs: key(integer(0, 600_000), 5000, "Longest wait while changes go on, in milliseconds")
})

const telemetry = table({
  otlpEndpoint: optionalKey(address, "Where traces go over OTLP; unset: nowhere")
})

const log = table({
  level: key(
    oneOf("all", "trace", "debug", "info", "warning", "error", "fatal", "none"),
    "info",
    "The lowest level that is logged"
  ),
  format: key(oneOf("pretty", "json"), "pretty", "Format of log lines on stderr")
})

/** The sections, in the order of the documents. */
const structs = {
  embedding,
  llm,
  rerank,
  pipeline,
  search,
  graph,
  vector,
  store,
  server,
  mcp,
  limits: limitsSection,
  watch,
  telemetry,
  log
}

/** Each key by itself, without what holds between them. */
export const keysAlone = lazily(() => Schema.Struct({ ...top, ...structs }))

const section = <A, I>(schema: Schema.Schema<A, I>, fallback: I) =>
  Schema.optionalWith(schema, { exact: true, default: () => Schema.decodeSync(schema)(fallback) })

/** The whole configuration: snake_case as in TOML on the outside, camelCase inside. `store.path` has to be given. */
export const Settings = Schema.Struct({
  ...top,
  embedding: section(embedding.pipe(Schema.filter(needsFolder)), {}),
  llm: section(llm, {}),
  rerank: section(rerank.pipe(Schema.filter(needsFolder)), {}),
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
  store: store.pipe(
    Schema.filter(({ backend, url, urls }) =>
      backend === "postgres" && url === undefined
        ? {
            path: ["url"],
            message: "an address like postgres://user:password@host/database, since store.backend is postgres"
          }
        : backend === "opensearch" && urls === undefined
          ? { path: ["urls"], message: "a list of addresses of nodes, since store.backend is opensearch" }
          : undefined
    )
  ),
  server: section(server.pipe(Schema.filter(needsAudience)), {}),
  mcp: section(mcp, {}),
  limits: section(limitsSection, {}),
  watch: section(watch, {}),
  telemetry: section(telemetry, {}),
  log: section(log, {})
})
/** Links in watched folders that lead out of `watch.within` are not followed: the folder of a file that was merely found. */
export type Settings = typeof Settings.Type & {
  readonly watch: { readonly within?: ReadonlyArray<string> | undefined }
}
export type SettingsEncoded = typeof Settings.Encoded

type Sections = Omit<SettingsEncoded, "public_stats" | "rate_limit_per_second">

/** A key with its section, as in `pipeline.chunk_size`. */
export type KeyPath =
  | "public_stats"
  | "rate_limit_per_second"
  | { [S in keyof Sections]-?: `${S}.${keyof NonNullable<Sections[S]> & string}` }[keyof Sections]

/** A key as users see it; errors and documents use the same words. */
export interface Key {
  readonly path: KeyPath
  readonly section: string | undefined
  readonly name: string
  /** The environment variable that sets it. */
  readonly variable: string
  readonly kind: Kind
  readonly allowed: string
  readonly description: string
}

const toKey = (section: string | undefined, field: Schema.PropertySignature.All, tsName: string): Key => {
  const { ast } = field
  const outer = ast._tag === "PropertySignatureTransformation" ? ast.from : ast
  const name = String(("fromKey" in outer ? outer.fromKey : undefined) ?? tsName)
  return {
    path: (section === undefined ? name : `${section}.${name}`) as KeyPath,
    section,
    name,
    variable: `CLEW_${section === undefined ? "" : `${section}_`}${name}`.toUpperCase(),
    description: Option.getOrElse(SchemaAST.getDescriptionAnnotation(outer.type), () => ""),
    ...about(outer.type)
  }
}

const toKeys = (section: string | undefined, of: Readonly<Record<string, Schema.PropertySignature.All>>) =>
  Object.entries(of).map(([tsName, field]) => toKey(section, field, tsName))

/** Every key there is, in the order of the documents: those without a section first. */
export const keys: ReadonlyArray<Key> = [
  ...toKeys(undefined, top),
  ...Object.entries(structs).flatMap(([section, { fields }]) => toKeys(section, fields))
]

export const sections: ReadonlyArray<string> = Object.keys(structs)

const byPath = new Map<string, Key>(keys.map((key) => [key.path, key]))

export const findKey = (path: string): Key | undefined => byPath.get(path)
