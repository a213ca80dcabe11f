import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { Hit, Quote } from "./model/SearchResult.ts"
import { fault, reasonOf } from "./model/fault.ts"

/** The model cannot answer, or failed during the answer; the reason says what to do. */
export class LlmUnavailable extends fault<LlmUnavailable>()(
  "LlmUnavailable",
  503,
  {
    reason: Schema.String,
    /** It sent nothing for llm.timeout_ms; the next question would wait as long. */
    silent: Schema.optional(Schema.Boolean),
    /** It answered, with nothing; another question may have an answer. */
    empty: Schema.optional(Schema.Boolean)
  },
  reasonOf
) {}

/** A message before the question. */
export interface Turn {
  readonly role: "system" | "user" | "assistant"
  readonly content: string
}

/** The question and what to answer it from. */
export interface Question {
  readonly query: string
  /** Passage n is cited as `[n]`, n from 1. */
  readonly hits: ReadonlyArray<Hit>
  /** What of them comes nearest to an answer, for an answerer without a model; default: what it finds itself. */
  readonly quotes?: ReadonlyArray<Quote> | undefined
  /** The instruction for a model, unless the prompt contains it. */
  readonly system?: string | undefined
  /** The passages and the question, for a model that reads a prompt. */
  readonly prompt: string
  /** Earlier messages, in order. */
  readonly history?: ReadonlyArray<Turn> | undefined
  /** Instead of the configured model. */
  readonly model?: string | undefined
  /** Instead of the configured temperature, 0 to 2. */
  readonly temperature?: number | undefined
  /** A JSON schema for the model's answer, if its server supports schemas. */
  readonly schema?: object | undefined
}

/** The identity of what answers. */
export interface LlmIdentity {
  readonly backend: "ollama" | "openai" | "extractive"
  /** Undefined for extractive answers. */
  readonly model?: string | undefined
  /** Why no model answers, although one is preferred. May contain addresses. */
  readonly why?: string | undefined
}

/** What a model's server reports at the end of an answer. */
export interface Usage {
  readonly promptTokens?: number | undefined
  readonly answerTokens?: number | undefined
  /** The server took less of the prompt than it was sent. */
  readonly isPromptCut: boolean
}

/** The size of a model's context. */
export interface Window {
  /** Its whole window, in its own tokens. */
  readonly contextTokens: number
  /** The rest for passages, question and earlier messages. */
  readonly room: number
  /** Estimates the model's tokens for a text, rather too many than too few. */
  readonly countTokens: (text: string) => number
}

/** An answer being generated. */
export interface Generation {
  readonly llm: LlmIdentity
  /** In order, at least one word. Closing the stream also stops the generation at the server. */
  readonly fragments: Stream.Stream<string, LlmUnavailable>
  /** Whether the answer was cut at the token limit; known when the fragments have ended. */
  readonly isCut: Effect.Effect<boolean>
  /** Known when the fragments have ended. */
  readonly usage: Effect.Effect<Usage>
}

/** The usage of an answer without a model. */
export const noUsage: Usage = { isPromptCut: false }

/** Answers a question from passages. */
export class Llm extends Context.Tag("clew/Llm")<
  Llm,
  {
    /** What would answer now; may have to ask a server. `model` is the one that a request names. */
    readonly identity: (model?: string) => Effect.Effect<LlmIdentity>
    /** Undefined if there is no limit: extractive answers read no prompt. May ask a server, for at most a second. */
    readonly window: (model?: string) => Effect.Effect<Window | undefined>
    /** Starts an answer; nothing is generated until the fragments are read. */
    readonly answer: (question: Question) => Effect.Effect<Generation>
  }
>() {}
