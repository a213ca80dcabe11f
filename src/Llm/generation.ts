import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import { type Generation, type LlmIdentity, LlmUnavailable, noUsage, type Usage } from "../Llm.ts"
import { spoken } from "../citations/thinking.ts"
import { again, isBusy } from "../vendors/again.ts"
import * as metrics from "./metrics.ts"

/** A part from the server: a fragment, which may be empty, whether the answer was cut there, and token counts. */
export interface Part {
  readonly text: string
  readonly isCut: boolean
  readonly usage?: Usage | undefined
}

/** Retries a few times if the server is overloaded; a Retry-After is followed up to the longest wait. */
export const whileBusy = (longestMs: number) =>
  again({ times: (error) => (isBusy(error) ? 3 : 0), firstMs: 500, longestMs })

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
    reason: isCut
      ? `The model spent its ${maxTokens} tokens without an answer, probably on thinking; raise llm.max_tokens`
      : "The model ended without an answer; try again, or raise llm.max_tokens or llm.temperature"
  })

/** The parts without the model's thoughts before the answer. */
const withoutThinking = <E>(parts: Stream.Stream<Part, E>): Stream.Stream<Part, E> =>
  Stream.suspend(() => {
    const { next, rest } = spoken()
    return parts.pipe(
      Stream.map((part) => ({ ...part, text: next(part.text) })),
      Stream.concat(Stream.suspend(() => Stream.make({ isCut: false, text: rest() })))
    )
  })

/** An answer from a server's parts; an answer with nothing but thoughts is an error. Records metrics. */
export const generation = (
  { configured, contextTokens, llm, maxTokens }: Asked,
  parts: Stream.Stream<Part, LlmUnavailable>
): Effect.Effect<Generation> =>
  Effect.map(Ref.make({ isCut: false, isEmpty: true, usage: noUsage }), (state) => {
    const measured = metrics.of(llm, configured)
    const seen = ({ isCut, text, usage }: Part) =>
      Ref.update(state, (before) => ({
        isCut: before.isCut || isCut,
        isEmpty: before.isEmpty && text.trim() === "",
        usage: usage ?? before.usage
      }))
    const told = Effect.tap(Ref.get(state), ({ usage: { isPromptCut } }) =>
      isPromptCut
        ? Effect.logWarning(
            `${llm.backend} cut the prompt to fit its window: the model may not have seen its instruction or all passages. The next questions ask for a window of ${contextTokens} tokens (llm.context_tokens)`
          )
        : Effect.void
    )
    const end = Effect.map(told, ({ isCut, isEmpty }) =>
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
