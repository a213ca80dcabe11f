import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import type { LlmIdentity, Usage } from "../Llm.ts"
import { counter, labelling } from "../runtime/metrics.ts"

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
