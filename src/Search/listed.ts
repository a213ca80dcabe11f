import * as Effect from "effect/Effect"
import type { Hit } from "../model/SearchResult.ts"
import { limits } from "../model/Limits.ts"
import { type FoldOptions, folded, unfolded } from "../text/folding.ts"

/** Hits asked for beyond the places of the list, so that what is folded leaves no gap; mostly that is enough. */
const spare = 10

/** All that two legs rank. */
const most = 2 * limits.legDepth

interface Searched {
  /** Of those ranked, what may have a place. */
  readonly hits: ReadonlyArray<Hit>
  readonly ranked: ReadonlyArray<Hit>
  readonly judged: (hits: ReadonlyArray<Hit>) => ReadonlyArray<Hit>
}

/**
 * A list whose places are filled by hits that say different things: more are asked for until there are as many, or no
 * more are ranked.
 */
export const listed = Effect.fnUntraced(function* <Found extends Searched, E, R>(
  options: FoldOptions,
  wanted: number,
  find: (wanted: number) => Effect.Effect<Found, E, R>
) {
  const isPlain = !options.fold && options.perDocument === 0
  for (let asked = isPlain ? wanted : wanted + spare; ; asked *= 4) {
    const found = yield* find(asked)
    const { folds, isComplete } = folded(found.hits, options)
    if (!isComplete && found.ranked.length === asked && asked < most) continue
    const hits = found.judged(folds.map(({ hit }) => hit))
    return { found, list: folds.map((fold, at) => unfolded({ ...fold, hit: hits[at]! })) }
  }
})
