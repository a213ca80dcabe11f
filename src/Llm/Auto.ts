import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Scope from "effect/Scope"
import type { Llm, LlmIdentity } from "../Llm.ts"
import * as Models from "../vendors/OllamaModels.ts"
import * as Extractive from "./Extractive.ts"
import * as Ollama from "./Ollama.ts"

/** What answers from now on, and why the model does not. */
interface Choice {
  readonly reason: string | undefined
  /** When it was looked at last, in milliseconds. */
  readonly at: number
}

/**
 * Ollama where it answers and has the model, else extractive. The first question waits for the choice; later ones take
 * what was chosen, which is looked at again beside them, so that an Ollama that comes, goes or gets its model is noticed.
 * One that is only slow keeps answering. Who names a model wants that model: then it is Ollama in any case.
 */
export const make = (
  options: Ollama.OllamaOptions,
  /** A choice as old as this is looked at again, beside the question that it still holds for. */
  recheck: Duration.DurationInput = "10 seconds"
): Effect.Effect<typeof Llm.Service, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const turn = yield* Effect.makeSemaphore(1)
    const { model: configured } = options
    const ollama = Ollama.make(options)
    let choice: Choice | undefined
    let isLooking = false

    const look = Effect.gen(function* () {
      const found = yield* Effect.either(Models.choose(options, configured))
      const at = yield* Clock.currentTimeMillis
      const before = choice
      if (Either.isRight(found)) choice = { reason: undefined, at }
      // Silence of one that answered before is a busy machine's, not its end.
      else if (before !== undefined && before.reason === undefined && !Models.isAbsence(found.left)) {
        choice = { ...before, at }
      } else choice = { reason: found.left.reason, at }
      if (before !== undefined && (before.reason === undefined) !== (choice.reason === undefined)) {
        yield* Effect.logInfo(
          choice.reason === undefined
            ? `${configured} of Ollama writes answers from now on`
            : `Answers quote what was found from now on. ${choice.reason}`
        )
      }
      return choice
    })

    const chosen = Effect.gen(function* () {
      if (choice === undefined) {
        return yield* turn.withPermits(1)(Effect.suspend(() => (choice === undefined ? look : Effect.succeed(choice))))
      }
      if (!isLooking && (yield* Clock.currentTimeMillis) - choice.at >= Duration.toMillis(recheck)) {
        isLooking = true
        yield* Effect.forkIn(
          Effect.ensuring(
            look,
            Effect.sync(() => (isLooking = false))
          ),
          scope
        )
      }
      return choice
    })

    const quoting = (reason: string): LlmIdentity => ({ backend: "extractive", why: reason })

    return {
      identity: (model) =>
        model === undefined
          ? Effect.flatMap(chosen, ({ reason }) =>
              reason === undefined ? ollama.identity() : Effect.succeed(quoting(reason))
            )
          : ollama.identity(model),
      window: (model) =>
        model === undefined
          ? Effect.flatMap(chosen, ({ reason }) => (reason === undefined ? ollama.window() : Effect.succeed(undefined)))
          : ollama.window(model),
      answer: (question) =>
        question.model === undefined
          ? Effect.flatMap(chosen, ({ reason }) =>
              reason === undefined
                ? ollama.answer(question)
                : Effect.map(Extractive.service.answer(question), (generation) => ({
                    ...generation,
                    llm: quoting(reason)
                  }))
            )
          : ollama.answer(question)
    }
  })
