import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type Generation, type Llm, LlmUnavailable, type Question } from "../Llm.ts"
import { makeBreaker } from "../runtime/breaker.ts"
import * as Extractive from "./Extractive.ts"

/** The shortest question that shows whether a model writes. */
const probing: Question = { query: "ready", hits: [], prompt: "Answer with OK." }

const silence = "\n\n(The language model does not answer at present, so these are quotes.)"

/**
 * A model that keeps no further question waiting after a silence: until it answers a probe in the background, answers
 * quote the passages and say so. A question that names a model still waits for it, and says nothing of the configured one
 * if it names another; other failures are errors each time.
 */
export const guarded = (
  llm: typeof Llm.Service,
  { model, url }: { readonly model: string; readonly url: string }
): Effect.Effect<typeof Llm.Service, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => {
    const { down, watch } = makeBreaker<LlmUnavailable>(`${model} at ${url}`, scope, {
      make: (reason) => new LlmUnavailable({ reason }),
      isUp: ({ silent }) => silent !== true
    })
    const probe = Effect.flatMap(llm.answer(probing), ({ fragments }) => Stream.runHead(fragments))
    const watched = (generation: Generation): Generation => ({
      ...generation,
      fragments: generation.fragments.pipe(
        Stream.tap(() => watch(Effect.void, probe)),
        Stream.tapError((error) => Effect.either(watch(Effect.fail(error), probe)))
      )
    })
    return Extractive.orQuotes(
      {
        ...llm,
        answer: (question) =>
          (question.model ?? model) === model ? Effect.map(llm.answer(question), watched) : llm.answer(question)
      },
      // A question that names a model waits for it.
      (model, then) => Effect.suspend(() => then(model === undefined ? down() : undefined)),
      silence
    )
  })
