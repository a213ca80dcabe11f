import * as Schema from "effect/Schema"
import { limits } from "../model/Limits.ts"
import { key, optionalKey } from "./Key.ts"
import { base, duration, finite, flagOrLevel, headers, integer, name, oneOf, text, texts } from "./Value.ts"

const ollama = "http://127.0.0.1:11434"
const where = "Address of Ollama or the OpenAI-compatible server; `/v1` is added to an address without a path"
const keptLoaded = "How long Ollama keeps the model loaded; unset: Ollama's own setting"
const sentHeaders = "Headers sent with every request to that server"
/** Node's fetch times out after this long without response headers. */
const longestWait = 300_000

/** The embedder. */
export const embedding = Schema.Struct({
  backend: key(
    "backend",
    oneOf("auto", "builtin", "ollama", "openai"),
    "auto",
    "What embeds texts; auto: Ollama if it answers and has the model, else builtin"
  ),
  model: optionalKey(
    "model",
    name,
    "The embedding model; unset: nomic-embed-text for ollama, the packaged model for builtin, which also takes the path of a Model2Vec folder"
  ),
  url: key("url", base, ollama, where),
  dimensions: optionalKey("dimensions", integer(1, 65_536), "Dimensions of a vector; unset: the model's own"),
  queryPrefix: optionalKey("query_prefix", text, "Prefix of each query; unset: what the model expects"),
  passagePrefix: optionalKey("passage_prefix", text, "Prefix of each passage; unset: what the model expects"),
  batchSize: key("batch_size", integer(1, 2048), 32, "Passages in one request to the embedder"),
  concurrency: key("concurrency", integer(1, 16), 4, "Concurrent requests to the embedder"),
  timeoutMs: key(
    "timeout_ms",
    integer(1, longestWait),
    60_000,
    "Longest wait for the embedder's answer, in milliseconds"
  ),
  headers: optionalKey("headers", headers, sentHeaders),
  keepAlive: optionalKey("keep_alive", duration, keptLoaded)
})

/** The model that writes answers. */
export const llm = Schema.Struct({
  backend: key(
    "backend",
    oneOf("auto", "ollama", "openai", "extractive"),
    "auto",
    "What writes answers; auto: Ollama if it answers and has the model, else extractive, which quotes and needs no model"
  ),
  model: key("model", name, "llama3.2", "The model of ollama or openai"),
  url: key("url", base, ollama, where),
  temperature: key(
    "temperature",
    finite(limits.temperature.min, limits.temperature.max),
    0.2,
    "Randomness of the answer; 0 gives nearly the same answer each time"
  ),
  maxTokens: key("max_tokens", integer(1, 1_000_000), 1024, "Longest answer, in the model's tokens"),
  contextTokens: optionalKey(
    "context_tokens",
    integer(256, 10_000_000),
    "The model's context window, in its tokens: passages, question and answer must fit; unset: what Ollama reports, else 4096"
  ),
  timeoutMs: key("timeout_ms", integer(1, longestWait), 120_000, "Longest silence of the model, in milliseconds"),
  systemPrompt: optionalKey(
    "system_prompt",
    text,
    "More instructions for the model, such as the language of the answer; unset: none"
  ),
  seed: optionalKey(
    "seed",
    integer(0, 2 ** 31 - 1),
    "Seed for repeatable answers, as far as the model can; unset: none"
  ),
  stop: optionalKey("stop", texts, "Texts before which the answer stops; unset: none"),
  headers: optionalKey("headers", headers, sentHeaders),
  keepAlive: optionalKey("keep_alive", duration, keptLoaded),
  think: optionalKey(
    "think",
    flagOrLevel,
    "Whether, or how much, an Ollama model thinks before it answers; unset: the model's default"
  )
})

/** The reranker. */
export const rerank = Schema.Struct({
  backend: key(
    "backend",
    oneOf("none", "openai"),
    "none",
    "What reranks the best passages; openai: a server with /v1/rerank, which replaces the graph"
  ),
  model: optionalKey("model", name, "The reranking model; unset: the server's own"),
  url: key("url", base, "http://127.0.0.1:8080", "Address of the server with /v1/rerank"),
  top: key("top", integer(1, limits.topK.max), 20, "How many of the best passages to rerank"),
  timeoutMs: key(
    "timeout_ms",
    integer(1, longestWait),
    10_000,
    "Longest wait for the reranker's answer, in milliseconds"
  ),
  headers: optionalKey("headers", headers, sentHeaders)
})
