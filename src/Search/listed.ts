import * as Effect from "effect/Effect"
import type { Hit } from "../model/SearchResult.ts"
import { limits } from "../model/Limits.ts"
import { type Fold, type FoldOptions, folded, unfolded } from "../ranking/folding.ts"

/** Hits asked for beyond the places of the list, so that what is folded leaves no gap; mostly that is enough. */
const spare = 10

/** All that two legs rank. */
const most = 2 * limits.legDepth

const { end, first } = limits.graph

interface Searched {
  /** Of those ranked, what may have a place. */
  readonly hits: ReadonlyArray<Hit>
  /** Of those that the graph leads to, what may have a place. */
  readonly led: ReadonlyArray<Hit>
  readonly ranked: ReadonlyArray<Hit>
  readonly judged: (hits: ReadonlyArray<Hit>) => ReadonlyArray<Hit & { readonly relevance: number }>
}

/**
 * A list whose places are filled by hits that say different things: more are asked for until there are as many, or no
 * more are ranked. Where the graph leads follows after the fifth place.
 */
export const listed = Effect.fnUntraced(function* <Found extends Searched, E, R>(
  options: FoldOptions,
  wanted: number,
  find: (wanted: number) => Effect.Effect<Found, E, R>
) {
  const isPlain = !options.fold && options.perDocument === 0
  for (let asked = isPlain ? wanted : wanted + spare; ; asked *= 4) {
    const found = yield* find(asked)
    const plain = folded(found.hits, options)
    if (!plain.isComplete && found.ranked.length === asked && asked < most) continue
    const shown = found.led.length === 0 ? plain.folds : withLed(found, plain.folds, options)
    const hits = found.judged(shown.map(({ hit }) => hit))
    return { found, list: shown.map((fold, at) => unfolded({ ...fold, hit: hits[at]! })) }
  }
})

const idOf = ({ collection, document, passage }: Hit): string =>
  JSON.stringify([collection, document.docId, passage.ordinal])

/**
 * The list with those of `led` from the sixth to the tenth place that repeat nothing there. Each keeps the place that it
 * has, or takes, best first, an empty one, else of what is at most as relevant the place of the most relevant, which goes
 * behind the tenth.
 */
const withLed = (
  { judged, led }: Searched,
  plain: ReadonlyArray<Fold>,
  { limit, ...options }: FoldOptions
): ReadonlyArray<Fold> => {
  const listed = plain.slice(0, end).map(({ hit }) => hit)
  if (listed.length < first) return plain
  const placeOf = new Map(listed.map((hit, at) => [idOf(hit), at - first]))
  const others = new Set(led.filter((hit) => !placeOf.has(idOf(hit))))
  const { folds, open } = folded([...listed, ...others], { ...options, limit: listed.length + others.size })
  const saying = new Set(folds.slice(0, open).map(({ hit }) => hit))
  const places: Array<Fold | undefined> = Array.from({ length: end - first }, (_, place) => plain[first + place])
  const relevances = judged(listed.slice(first)).map(({ relevance }) => relevance)
  const free = new Set(places.keys())
  const fitting = (relevance: number) =>
    [...free]
      .filter((place) => (relevances[place] ?? 0) <= relevance)
      .sort((a, b) => (relevances[b] ?? 1) - (relevances[a] ?? 1))[0]
  for (const [at, { relevance }] of judged(led).entries()) {
    const hit = led[at]!
    const own = placeOf.get(idOf(hit))
    const place = own ?? (saying.has(hit) ? fitting(relevance) : undefined)
    if (place === undefined || !free.delete(place)) continue
    places[place] = own === undefined ? { hit, overlapping: [], similar: [] } : { ...places[place]!, hit }
  }
  const tail = places.filter((fold) => fold !== undefined)
  const taken = new Set(tail.map(({ hit }) => idOf(hit)))
  const rest = plain.slice(first).filter(({ hit }) => !taken.has(idOf(hit)))
  return [...plain.slice(0, first), ...tail, ...rest].slice(0, limit)
}
