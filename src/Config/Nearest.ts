import * as Effect from "effect/Effect"
import { type Key, keys, sections } from "./Keys.ts"
import { settable } from "./Env.ts"

/** The candidates that `word` most likely means, at most three, the likeliest first; none if nothing is like it. */
const nearest = (word: string, candidates: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>> =>
  // Loaded here, since only an error needs it.
  Effect.map(
    Effect.promise(() => import("fastest-levenshtein")),
    ({ distance }) => {
      const wanted = plain(word)
      const scored = candidates
        .map((candidate) => ({ candidate, away: away(wanted, plain(candidate), distance) }))
        .filter(({ candidate, away }) => away <= Math.max(1, Math.min(wanted.length, candidate.length) * 0.34))
        .toSorted((a, b) => a.away - b.away)
      return scored
        .filter(({ away }) => away === scored[0]?.away)
        .slice(0, 3)
        .map(({ candidate }) => candidate)
    }
  )

/** Writing `chunk-size` or `chunkSize` for `chunk_size` is no distance at all. */
const plain = (word: string): string => word.toLowerCase().replace(/[-_.\s]/g, "")

const away = (a: string, b: string, distance: (a: string, b: string) => number): number =>
  a.length >= 4 && b.includes(a) ? Math.min(distance(a, b), 1) : distance(a, b)

const pathsNamed = (names: ReadonlyArray<string>, among: ReadonlyArray<Key>): ReadonlyArray<string> =>
  names.flatMap((name) => among.filter((key) => key.name === name).map((key) => key.path))

/** What an unknown key of a section, or without one, most likely means: in its own section first, then anywhere. */
export const nearestKeys = (section: string | undefined, name: string): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function* () {
    const own = keys.filter((key) => key.section === section)
    const here = yield* nearest(
      name,
      own.map((key) => key.name)
    )
    if (here.length > 0) return pathsNamed(here, own)
    const anywhere = yield* nearest(name, [...new Set(keys.map((key) => key.name))])
    return pathsNamed(anywhere, keys).slice(0, 3)
  })

export const nearestSections = (name: string): Effect.Effect<ReadonlyArray<string>> => nearest(name, sections)

export const nearestVariables = (variable: string): Effect.Effect<ReadonlyArray<string>> => {
  const short = (variable: string) => variable.replace(/^CLEW_/, "")
  const byShort = new Map(settable.map((variable) => [short(variable), variable]))
  return Effect.map(nearest(short(variable), [...byShort.keys()]), (names) =>
    names.map((name) => byShort.get(name) ?? name)
  )
}
