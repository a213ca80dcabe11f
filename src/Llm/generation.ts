import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import { type Generation, type LlmIdentity, LlmUnavailable } from "../Llm.ts"
import { spoken } from "../text/thinking.ts"

/** What a server sends: a fragment, which may be empty, and whether the answer was cut there. */
export interface Part {
  readonly text: string
  readonly isCut: boolean
}

const nothing = (isCut: boolean, maxTokens: number) =>
  new LlmUnavailable({
    reason: isCut
      ? `The model spent its ${maxTokens} tokens without an answer, as one that thinks aloud may; raise llm.max_tokens`
      : "The model ended without a word; try again, or raise llm.max_tokens or llm.temperature"
  })

/** The parts without what the model thinks aloud before it answers. */
const withoutThinking = <E>(parts: Stream.Stream<Part, E>): Stream.Stream<Part, E> =>
  Stream.suspend(() => {
    const { next, rest } = spoken()
    return parts.pipe(
      Stream.map(({ isCut, text }) => ({ isCut, text: next(text) })),
      Stream.concat(Stream.suspend(() => Stream.make({ isCut: false, text: rest() })))
    )
  })

/** An answer out of what a server sends; one without a word beside what it thinks is an error. */
export const generation = (
  llm: LlmIdentity,
  maxTokens: number,
  parts: Stream.Stream<Part, LlmUnavailable>
): Effect.Effect<Generation> =>
  Effect.map(Ref.make({ isCut: false, isEmpty: true }), (state) => {
    const seen = ({ isCut, text }: Part) =>
      Ref.update(state, (before) => ({
        isCut: before.isCut || isCut,
        isEmpty: before.isEmpty && text.trim() === ""
      }))
    const end = Effect.map(Ref.get(state), ({ isCut, isEmpty }) =>
      isEmpty ? Stream.fail(nothing(isCut, maxTokens)) : Stream.empty
    )
    return {
      llm,
      isCut: Effect.map(Ref.get(state), ({ isCut }) => isCut),
      fragments: withoutThinking(parts).pipe(
        Stream.tap(seen),
        Stream.map(({ text }) => text),
        Stream.filter((text) => text !== ""),
        Stream.concat(Stream.unwrap(end))
      )
    }
  })
