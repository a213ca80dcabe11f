import { type Language, isLanguage } from "../terms/languages.ts"

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
