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
  /** The same as a prompt, for a model that reads one. */
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

/** An answer on its way. */
export interface Generation {
  readonly llm: LlmIdentity
  /** In order, at least one word. Leaving the stream stops the generation, upstream too. */
  readonly fragments: Stream.Stream<string, LlmUnavailable>
  /** Whether the answer was cut at the longest that was allowed; known when the fragments have ended. */
  readonly isCut: Effect.Effect<boolean>
}

/** Answers a question from passages. */
export class Llm extends Context.Tag("clew/Llm")<
  Llm,
  {
    /** What would answer now; may have to ask. `model` is the one a request names. */
    readonly identity: (model?: string) => Effect.Effect<LlmIdentity>
    /** Says who answers; nothing is generated until the fragments are asked for. */
    readonly answer: (question: Question) => Effect.Effect<Generation>
  }
>() {}
