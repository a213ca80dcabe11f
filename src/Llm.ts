import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { Hit } from "./model/SearchResult.ts"

/** The model cannot answer, or broke off; the reason says what to do. */
export class LlmUnavailable extends Schema.TaggedError<LlmUnavailable>()(
  "LlmUnavailable",
  { reason: Schema.String },
  HttpApiSchema.annotations({ status: 503 })
) {
  override get message() {
    return this.reason
  }
}

/** What was said before the question. */
export interface Turn {
  readonly role: "system" | "user" | "assistant"
  readonly content: string
}

/** What to answer, and from what. */
export interface Question {
  readonly query: string
  /** Passage n is cited as `[n]`, n from 1. */
  readonly hits: ReadonlyArray<Hit>
  /** What a model is told to do with the prompt, where that does not say it. */
  readonly system?: string | undefined
  /** The passages and the question, for a model that reads a prompt. */
  readonly prompt: string
  /** What was said before, in order. */
  readonly history?: ReadonlyArray<Turn> | undefined
  /** Instead of the configured model. */
  readonly model?: string | undefined
  /** Instead of the configured temperature, 0 to 2. */
  readonly temperature?: number | undefined
  /** A JSON schema that a model's answer has to fit, as far as its server knows schemas. */
  readonly schema?: object | undefined
}

/** What answers. */
export interface LlmIdentity {
  readonly backend: "ollama" | "openai" | "extractive"
  /** None for extractive answers: no model writes them. */
  readonly model?: string | undefined
  /** Why no model does, where one would if it could. It may name addresses. */
  readonly why?: string | undefined
}

/** What a model's server says of an answer, as far as it does, when the answer has ended. */
export interface Usage {
  readonly promptTokens?: number | undefined
  readonly answerTokens?: number | undefined
  /** The server took less of the prompt than it was sent. */
  readonly isPromptCut: boolean
}

/** How much may be said to a model at once. */
export interface Window {
  /** Its whole window, in its own tokens. */
  readonly contextTokens: number
  /** What of it is left for passages, question and what was said before. */
  readonly room: number
  /** About as many tokens as the model makes of a text, rather more than fewer. */
  readonly countTokens: (text: string) => number
}

/** An answer on its way. */
export interface Generation {
  readonly llm: LlmIdentity
  /** In order, at least one word. Leaving the stream stops the generation, upstream too. */
  readonly fragments: Stream.Stream<string, LlmUnavailable>
  /** Whether the answer was cut at the longest that was allowed; known when the fragments have ended. */
  readonly isCut: Effect.Effect<boolean>
  /** Known when the fragments have ended. */
  readonly usage: Effect.Effect<Usage>
}

/** Of an answer that no model wrote. */
export const noUsage: Usage = { isPromptCut: false }

/** Answers a question from passages. */
export class Llm extends Context.Tag("clew/Llm")<
  Llm,
  {
    /** What would answer now; may have to ask. `model` is the one a request names. */
    readonly identity: (model?: string) => Effect.Effect<LlmIdentity>
    /** None where nothing bounds what is said: what quotes reads no prompt. May have to ask, for a second at most. */
    readonly window: (model?: string) => Effect.Effect<Window | undefined>
    /** Says who answers; nothing is generated until the fragments are asked for. */
    readonly answer: (question: Question) => Effect.Effect<Generation>
  }
>() {}
