import * as Schema from "effect/Schema"
import { limits } from "../model/Limits.ts"
import { key, optionalKey } from "./Key.ts"
import { base, duration, finite, flagOrLevel, headers, integer, name, oneOf, text, texts } from "./Value.ts"

const ollama = "http://127.0.0.1:11434"
const where = "Where Ollama or the OpenAI-compatible server is; `/v1` goes behind an address without a path"
const keptLoaded = "How long Ollama keeps the model loaded; unset: as Ollama is set up"
const sentHeaders = "Headers sent with every request to that server"
/** Node gives up on a server that sends no headers for so long. */
const longestWait = 300_000

/** What makes vectors. */
export const embedding = Schema.Struct({
  backend: key(
    "backend",
    oneOf("auto", "builtin", "ollama", "openai"),
    "auto",
    "What makes the vectors; auto: Ollama if it answers and has the model, else builtin"
  ),
  model: optionalKey(
    "model",
    name,
    "Model; unset: nomic-embed-text for ollama, the packaged one for builtin, which also takes a Model2Vec folder's path"
  ),
  url: key("url", base, ollama, where),
  dimensions: optionalKey("dimensions", integer(1, 65_536), "Width of a vector; unset: the model's own"),
  queryPrefix: optionalKey("query_prefix", text, "Goes before each query; unset: as the model wants it"),
  passagePrefix: optionalKey("passage_prefix", text, "Goes before each passage; unset: as the model wants it"),
  batchSize: key("batch_size", integer(1, 2048), 32, "Passages in one request to the embedder"),
  concurrency: key("concurrency", integer(1, 16), 4, "Requests to the embedder under way at once"),
  timeoutMs: key(
    "timeout_ms",
    integer(1, longestWait),
    60_000,
    "Longest wait for the embedder's answer, in milliseconds"
  ),
  headers: optionalKey("headers", headers, sentHeaders),
  keepAlive: optionalKey("keep_alive", duration, keptLoaded)
})

/** What writes answers. */
export const llm = Schema.Struct({
  backend: key(
    "backend",
    oneOf("auto", "ollama", "openai", "extractive"),
    "auto",
    "What writes answers; auto: Ollama if it answers and has the model, else extractive, which quotes and needs no model"
  ),
  model: key("model", name, "llama3.2", "Model for ollama and openai"),
  url: key("url", base, ollama, where),
  temperature: key(
    "temperature",
    finite(limits.temperature.min, limits.temperature.max),
    0.2,
    "0 is nearly the same answer each time, higher is freer"
  ),
  maxTokens: key("max_tokens", integer(1, 1_000_000), 1024, "Longest answer, in the model's tokens"),
  contextTokens: optionalKey(
    "context_tokens",
    integer(256, 10_000_000),
    "The model's window, in its tokens: passages, question and answer must fit; unset: what Ollama says of it, else 4096"
  ),
  timeoutMs: key("timeout_ms", integer(1, longestWait), 120_000, "Longest silence of the model, in milliseconds"),
  systemPrompt: optionalKey(
    "system_prompt",
    text,
    "Told to the model besides, as in which language to answer; unset: nothing"
  ),
  seed: optionalKey("seed", integer(0, 2 ** 31 - 1), "The same answer each time, as far as the model can; unset: none"),
  stop: optionalKey("stop", texts, "The answer ends before any of these; unset: none"),
  headers: optionalKey("headers", headers, sentHeaders),
  keepAlive: optionalKey("keep_alive", duration, keptLoaded),
  think: optionalKey(
    "think",
    flagOrLevel,
    "Whether a model of Ollama's that can think does before it answers, or how much; unset: as the model does"
  )
})

/** What puts results in another order. */
export const rerank = Schema.Struct({
  backend: key(
    "backend",
    oneOf("none", "openai"),
    "none",
    "What reads the best passages again with the query; openai: a server with /v1/rerank, which takes the place of the graph"
  ),
  model: optionalKey("model", name, "Model; unset: the server's own"),
  url: key("url", base, "http://127.0.0.1:8080", "Where the server with /v1/rerank is"),
  top: key("top", integer(1, limits.topK.max), 20, "Passages that are read again, the best of the search"),
  timeoutMs: key("timeout_ms", integer(1, longestWait), 10_000, "Longest wait for its answer, in milliseconds"),
  headers: optionalKey("headers", headers, sentHeaders)
})
