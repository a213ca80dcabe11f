import * as Effect from "effect/Effect"
import { type Language, type Other, isLearned, learn } from "./languages.ts"

/** Endings of Persian in the order in which they are removed, as in Lucene's PersianStemmer. */
const persian = [
  "\u0627\u062a",
  "\u0627\u0646",
  "\u062a\u0631\u06cc\u0646",
  "\u062a\u0631",
  "\u06cc\u06cc",
  "\u06cc",
  "\u0647\u0627"
]

/** The stem of a Persian word, at least two letters, written with Persian letters. */
const persianStem = (word: string): string =>
  persian.reduce(
    (stem, ending) =>
      stem.endsWith(ending) && stem.length >= ending.length + 2 ? stem.slice(0, -ending.length) : stem,
    word.replaceAll("\u064a", "\u06cc").replaceAll("\u0643", "\u06a9")
  )

/** Snowball's stemmers, each loaded when its language first occurs; Polish has none there. */
const stemmers: Record<Other, () => Promise<{ readonly stemmer: ((word: string) => string) | undefined }>> = {
  ar: () => import("@orama/stemmers/arabic"),
  da: () => import("@orama/stemmers/danish"),
  de: () => import("@orama/stemmers/german"),
  es: () => import("@orama/stemmers/spanish"),
  fa: () => Promise.resolve({ stemmer: persianStem }),
  fi: () => import("@orama/stemmers/finnish"),
  fr: () => import("@orama/stemmers/french"),
  it: () => import("@orama/stemmers/italian"),
  nl: () => import("@orama/stemmers/dutch"),
  no: () => import("@orama/stemmers/norwegian"),
  pl: () => Promise.resolve({ stemmer: undefined }),
  pt: () => import("@orama/stemmers/portuguese"),
  ru: () => import("@orama/stemmers/russian"),
  sv: () => import("@orama/stemmers/swedish"),
  tr: () => import("@orama/stemmers/turkish"),
  uk: () => import("@orama/stemmers/ukrainian")
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
