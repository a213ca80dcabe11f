import * as Effect from "effect/Effect"
import type { Demands } from "../../model/SearchResult.ts"
import { phraseTest, plainTerms, writes } from "../../terms/phrase.ts"
import { isLoneCharacter } from "../../terms/scan.ts"

/** Most passages read for a phrase, best first by its words, so that no phrase takes seconds. */
const mostRead = 5000
/** Most passages read to find how they write a word. */
const mostLookedThrough = 500
const mostTerms = 16

/** The terms of a text; a lone character begins terms. */
export const termsOf = (text: string) =>
  plainTerms(text)
    .slice(0, mostTerms)
    .map((term) => ({ term, isPrefix: isLoneCharacter(term) }))

/** How a store finds passages of a collection by their words, as sets of its own. */
export interface Finding<Passages, E> {
  /** The passages that have all terms, in any field or in the title; all passages without terms. */
  readonly holding: (terms: ReturnType<typeof termsOf>, field: "any" | "title") => Effect.Effect<Passages, E>
  readonly both: (a: Passages, b: Passages) => Passages
  readonly butNot: (a: Passages, b: Passages) => Passages
  /** Those with a field that passes, of so many that are read, best first by a text's words; and how many are not read. */
  readonly passing: (
    among: Passages,
    text: string,
    read: { readonly most: number; readonly test: (field: string) => boolean }
  ) => Effect.Effect<{ readonly found: Passages; readonly count: number; readonly unread: number }, E>
}

/** The passages that meet demands, of all or of some; undefined: all. And how many were left unread. */
export const demandedBy = Effect.fnUntraced(function* <Passages, E>(
  { both, butNot, holding, passing }: Finding<Passages, E>,
  some: Passages | undefined,
  { phrases, titles, without }: Demands
) {
  let unchecked = 0
  let left = some
  const restrict = (to: Passages) => {
    left = left === undefined ? to : both(to, left)
  }
  const having = Effect.fnUntraced(function* (phrase: string) {
    const held = yield* holding(termsOf(phrase), "any")
    const test = phraseTest(phrase)
    if (test === undefined) return held
    const { found, unread } = yield* passing(left === undefined ? held : both(held, left), phrase, {
      test,
      most: mostRead
    })
    unchecked += unread
    return found
  })
  for (const title of titles) restrict(yield* holding(termsOf(title), "title"))
  for (const phrase of phrases) restrict(yield* having(phrase))
  for (const { in: where, text } of without) {
    const terms = termsOf(text)
    if (terms.length === 0) continue
    left ??= yield* holding([], "any")
    left = butNot(left, where === "phrase" ? yield* having(text) : yield* holding(terms, where))
  }
  return { left, unchecked }
})

/** Which words occur literally in a passage, among the passages that have their terms. */
export const writtenBy = <Passages, E>(
  { holding, passing }: Finding<Passages, E>,
  words: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<string>, E> =>
  Effect.filter(words, (word) =>
    Effect.gen(function* () {
      const test = (field: string) => writes(field, word)
      const held = yield* holding(termsOf(word), "any")
      return (yield* passing(held, word, { test, most: mostLookedThrough })).count > 0
    })
  )
