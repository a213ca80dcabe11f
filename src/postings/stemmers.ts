import * as Effect from "effect/Effect"
import { isLearned, type Language, learn, type Other } from "../terms/languages.ts"

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
  Effect.suspend(() =>
    Effect.forEach(
      [...new Set(languages)].filter((language): language is Other => !isLearned(language)),
      (language) => Effect.map(Effect.promise(stemmers[language]), ({ stemmer }) => learn(language, stemmer)),
      { discard: true }
    )
  )
