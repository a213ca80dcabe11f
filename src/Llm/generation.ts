import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import { spoken } from "../citations/thinking.ts"
import {
  type Question,
  type Turn,
  type LlmIdentity,
  type Usage,
  type Generation,
  LlmUnavailable,
  noUsage
} from "../Llm.ts"
import { counter, labelling } from "../runtime/metrics.ts"
import { wellFormed } from "../model/kinds.ts"
import { again, isBusy, type Passing } from "../vendors/again.ts"

/** Options of every remote model. */
export interface ModelOptions {
  readonly url: string
  readonly model: string
  readonly temperature: number
  /** Longest answer, in the model's tokens. */
  readonly maxTokens: number
  /** The model's window, in its tokens; unset: as its server reports. */
  readonly contextTokens?: number | undefined
  /** Longest silence, in milliseconds. */
  readonly timeoutMs: number
  /** Further instructions for the model. */
  readonly systemPrompt?: string | undefined
  readonly seed?: number | undefined
  /** The answer ends before any of these. */
  readonly stop?: ReadonlyArray<string> | undefined
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/**
 * The messages for a model: one system message with the instruction, the configured system prompt and the caller's own
 * system messages; then earlier messages, and the prompt. A prompt with its own instruction is sent alone.
 */
export const messagesOf = (
  { history = [], prompt, system }: Pick<Question, "history" | "prompt" | "system">,
  systemPrompt = ""
): ReadonlyArray<Turn> => {
  const isSystem = ({ role }: Turn) => role === "system"
  const own = system === undefined ? [] : [system, systemPrompt]
  const instructions = [...own, ...history.filter(isSystem).map(({ content }) => content)].filter(
    (text) => text.trim() !== ""
  )
  return [
    ...(instructions.length === 0 ? [] : [{ role: "system" as const, content: instructions.join("\n\n") }]),
    ...history.filter((turn) => !isSystem(turn)),
    { role: "user", content: prompt }
  ]
}

/** The same without a system role, which some models' templates refuse: its content comes first in a user message. */
export const withoutSystem = (messages: ReadonlyArray<Turn>): ReadonlyArray<Turn> => {
  const [system, first, ...others] = messages
  if (system?.role !== "system") return messages
  return first?.role === "user"
    ? [{ role: "user", content: `${system.content}\n\n${first.content}` }, ...others]
    : [{ role: "user", content: system.content }, ...messages.slice(1)]
}

/** Wide boundaries: models take seconds for a word, minutes for an answer. */
const seconds = MetricBoundaries.fromIterable([0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300])

const answers = counter("clew_llm_answers_total", "Answers requested from a language model, by outcome")
const tokens = counter("clew_llm_tokens_total", "Tokens of prompts and answers, as counted by the model's server")
const cutPrompts = counter("clew_llm_prompts_cut_total", "Prompts that a server cut to its window")
const durations = Metric.histogram("clew_llm_answer_duration_seconds", seconds, "Time of an answer, to its end")
const firsts = Metric.histogram("clew_llm_first_token_seconds", seconds, "Time until an answer's first words")

/** Measures a model's answers. A model that a request names counts as "other", so callers cannot create series. */
export const of = ({ backend, model }: LlmIdentity, configured: string) => {
  const labelled = labelling(backend, model === configured ? configured : "other")
  const counted = (kind: "prompt" | "answer", count = 0) =>
    Metric.incrementBy(Metric.tagged(labelled(tokens), "kind", kind), count)
  return {
    first: (ms: number) => Metric.update(labelled(firsts), ms / 1000),
    ended: (outcome: "answered" | "failed" | "left", ms: number, usage: Usage) =>
      Effect.all(
        [
          Metric.increment(Metric.tagged(labelled(answers), "outcome", outcome)),
          Metric.update(labelled(durations), ms / 1000),
          counted("prompt", usage.promptTokens),
          counted("answer", usage.answerTokens),
          Metric.incrementBy(labelled(cutPrompts), usage.isPromptCut ? 1 : 0)
        ],
        { discard: true }
      )
  }
}

/** A part from the server: a fragment, which may be empty, whether the answer was cut there, and token counts. */
export interface Part {
  readonly text: string
  readonly isCut: boolean
  readonly usage?: Usage | undefined
}

/** Retries a few times if the server is overloaded; a Retry-After is followed up to the longest wait. */
export const whileBusy = (longestMs: number) =>
  again({ times: (error) => (isBusy(error) ? 3 : 0), firstMs: 500, longestMs })

const tooLong = /context.{0,10}(?:length|size|window)|too (?:long|large)|maximum.{0,20}tokens/i

/** Whether the server refuses a prompt that is longer than the model's window. */
export const isTooLong = ({ reason, status }: Passing): boolean => status !== undefined && tooLong.test(reason)

/** The reason of a failure, with what to do if the prompt is too long, or the server is busy. */
export const reasonOf = (error: Passing): string =>
  isTooLong(error)
    ? `${error.reason}; lower llm.context_tokens to the model's window, or llm.max_tokens`
    : isBusy(error)
      ? `${error.reason}; ask again later, or ask another model`
      : error.reason

/** The model, and its limits. */
export interface Asked {
  readonly llm: LlmIdentity
  /** The model that the configuration names. */
  readonly configured: string
  readonly maxTokens: number
  readonly contextTokens: number
}

const nothing = (isCut: boolean, maxTokens: number) =>
  new LlmUnavailable({
    empty: true,
    reason: isCut
      ? `The model spent its ${maxTokens} tokens without an answer, probably on thinking; raise llm.max_tokens`
      : "The model ended without an answer; try again, or raise llm.max_tokens or llm.temperature"
  })

/** The parts without the model's thoughts before the answer; a character that came in two parts is whole in the second. */
const withoutThinking = <E>(parts: Stream.Stream<Part, E>): Stream.Stream<Part, E> =>
  Stream.suspend(() => {
    const { next, rest } = spoken()
    let half = ""
    return parts.pipe(
      Stream.map((part) => {
        const text = half + next(part.text)
        half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? ""
        return { ...part, text: text.slice(0, text.length - half.length) }
      }),
      Stream.concat(Stream.suspend(() => Stream.make({ isCut: false, text: wellFormed(half) + rest() })))
    )
  })

/** An answer from a server's parts; an answer with nothing but thoughts is an error. Records metrics. */
export const generation = (
  { configured, contextTokens, llm, maxTokens }: Asked,
  parts: Stream.Stream<Part, LlmUnavailable>
): Effect.Effect<Generation> =>
  Effect.map(Ref.make({ isCut: false, isEmpty: true, usage: noUsage }), (state) => {
    const measured = of(llm, configured)
    const seen = ({ isCut, text, usage }: Part) =>
      Ref.update(state, (before) => ({
        isCut: before.isCut || isCut,
        isEmpty: before.isEmpty && text.trim() === "",
        usage: usage ?? before.usage
      }))
    const reported = Effect.tap(Ref.get(state), ({ usage: { isPromptCut } }) =>
      isPromptCut
        ? Effect.logWarning(
            `${llm.backend} cut the prompt to fit its window: the model may not have seen its instruction or all passages. The next questions ask for a window of ${contextTokens} tokens (llm.context_tokens)`
          )
        : Effect.void
    )
    const end = Effect.map(reported, ({ isCut, isEmpty }) =>
      isEmpty ? Stream.fail(nothing(isCut, maxTokens)) : Stream.empty
    )
    const fragments = Stream.unwrap(
      Effect.map(Clock.currentTimeMillis, (began) => {
        let isFirst = true
        const first = Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const wasFirst = isFirst
          isFirst = false
          return wasFirst ? measured.first(now - began) : Effect.void
        })
        return withoutThinking(parts).pipe(
          Stream.tap(seen),
          Stream.map(({ text }) => text),
          Stream.filter((text) => text !== ""),
          Stream.tap(() => first),
          Stream.concat(Stream.unwrap(end)),
          Stream.ensuringWith((exit) =>
            Effect.gen(function* () {
              const { usage } = yield* Ref.get(state)
              const outcome = Exit.isSuccess(exit) ? "answered" : Exit.isInterrupted(exit) ? "left" : "failed"
              yield* measured.ended(outcome, (yield* Clock.currentTimeMillis) - began, usage)
            })
          )
        )
      })
    )
    return {
      llm,
      isCut: Effect.map(Ref.get(state), ({ isCut }) => isCut),
      usage: Effect.map(Ref.get(state), ({ usage }) => usage),
      fragments
    }
  })
