import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type { Llm } from "../Llm.ts"
import * as Models from "../vendors/Ollama.ts"
import * as Extractive from "./Extractive.ts"
import * as Ollama from "./Ollama.ts"

/** How long a question waits for the check of the choice. */
const patience = Duration.millis(250)

/** The current choice, and why the model does not answer. */
interface Choice {
  readonly reason: string | undefined
  /** Time of the last check, in milliseconds. */
  readonly at: number
}

/**
 * Ollama if it answers and has the model, else extractive. The first question waits for the choice; later ones check it
 * again, so that an Ollama that starts, stops, gets its model or loses it is noticed. If that takes long, it goes on in
 * the background, and a slow Ollama keeps answering. A request that names a model always uses Ollama.
 */
export const make = (
  options: Ollama.OllamaOptions,
  /** A choice this old is checked again. */
  recheck: Duration.DurationInput = "1 second"
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
      // If it answered before, a timeout means a busy machine, not that it stopped.
      else if (before !== undefined && before.reason === undefined && !Models.isAbsence(found.left)) {
        choice = { ...before, at }
      } else choice = { reason: found.left.reason, at }
      if (before !== undefined && (before.reason === undefined) !== (choice.reason === undefined)) {
        yield* Effect.logInfo(
          choice.reason === undefined
            ? `${configured} of Ollama now writes answers`
            : `Answers now quote passages. ${choice.reason}`
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
        const looking = yield* Effect.forkIn(
          Effect.ensuring(
            look,
            Effect.sync(() => (isLooking = false))
          ),
          scope
        )
        yield* Effect.timeoutOption(Fiber.join(looking), patience)
      }
      return choice
    })

    return Extractive.orQuotes(ollama, (model, then) =>
      model === undefined ? Effect.flatMap(chosen, ({ reason }) => then(reason)) : then(undefined)
    )
  })
