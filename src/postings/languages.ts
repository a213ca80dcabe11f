import { isLanguage, type Language } from "../text/terms/languages.ts"

/** Passages by their language. */
export type Passages = ReadonlyMap<Language, number>

/** How many passages of each language segments were made of, whose lists these are: `de:812 en:20`. */
export const passagesIn = (lists: ReadonlyArray<string>): Passages => {
  const all = new Map<Language, number>()
  for (const part of lists.flatMap((list) => list.split(" "))) {
    const [language = "", count] = part.split(":")
    if (isLanguage(language)) all.set(language, (all.get(language) ?? 0) + Number(count ?? 1))
  }
  return all
}

/** Passages by their language as a segment has them. */
export const listOf = (passages: Passages): string =>
  [...passages]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([language, count]) => `${language}:${count}`)
    .join(" ")

/** The languages of rows, and how many have each. */
export const languagesOf = (rows: ReadonlyArray<{ readonly language?: Language | undefined }>): Passages => {
  const all = new Map<Language, number>()
  for (const { language = "en" } of rows) all.set(language, (all.get(language) ?? 0) + 1)
  return all
}
