import * as Effect from "effect/Effect"
import { type Language, type Other, isLanguage, isLearned, learn } from "../terms/languages.ts"

/** Snowball's stemmers, each loaded when its language first occurs. */
const stemmers: Record<Other, () => Promise<{ readonly stemmer: (word: string) => string }>> = {
  da: () => import("@orama/stemmers/danish"),
  de: () => import("@orama/stemmers/german"),
  es: () => import("@orama/stemmers/spanish"),
  fi: () => import("@orama/stemmers/finnish"),
  fr: () => import("@orama/stemmers/french"),
  it: () => import("@orama/stemmers/italian"),
  nl: () => import("@orama/stemmers/dutch"),
  no: () => import("@orama/stemmers/norwegian"),
  pt: () => import("@orama/stemmers/portuguese"),
  ru: () => import("@orama/stemmers/russian"),
  sv: () => import("@orama/stemmers/swedish")
}

/** Loads languages, so that their terms can be made. */
export const learned = (languages: Iterable<Language>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const unknown = [...new Set(languages)].filter((language): language is Other => !isLearned(language))
    if (unknown.length === 0) return Effect.void
    return Effect.forEach(
      unknown,
      (language) => Effect.map(Effect.promise(stemmers[language]), ({ stemmer }) => learn(language, stemmer)),
      { discard: true }
    )
  })

/** Numbers of passages by language. */
export type Passages = ReadonlyMap<Language, number>

/** How many passages of each language segments were made from, given their lists, such as `de:812 en:20`. */
export const passagesIn = (lists: ReadonlyArray<string>): Passages => {
  const all = new Map<Language, number>()
  for (const part of lists.flatMap((list) => list.split(" "))) {
    const [language = "", count] = part.split(":")
    if (isLanguage(language)) all.set(language, (all.get(language) ?? 0) + Number(count ?? 1))
  }
  return all
}

/** Numbers of passages by language in the form that a segment stores. */
export const listOf = (passages: Passages): string =>
  [...passages]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([language, count]) => `${language}:${count}`)
    .join(" ")

/** The languages of rows, with the number of each. */
export const languagesOf = (rows: ReadonlyArray<{ readonly language?: Language | undefined }>): Passages => {
  const all = new Map<Language, number>()
  for (const { language = "en" } of rows) all.set(language, (all.get(language) ?? 0) + 1)
  return all
}
