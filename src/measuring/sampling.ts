/** Numbers from 0 to below 1, deterministic for a seed (mulberry32, Tommy Ettinger). */
export const randomFrom = (seed: number): (() => number) => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const shortest = 3
const longest = 12
const mostCharacters = 1000

/**
 * A query that someone looking for the passage might use: one time in four its document's title, else 3 to 12
 * consecutive words of it, if it has as many. Empty: it has none.
 */
export const queryOf = (
  { text, title = "" }: { readonly text: string; readonly title?: string | undefined },
  random: () => number
): string => {
  const words = text.split(/\s+/u).filter((word) => /[\p{L}\p{N}]/u.test(word))
  const wantsTitle = random() < 1 / 4
  if (title.trim() !== "" && (wantsTitle || words.length === 0)) return title.trim().slice(0, mostCharacters).trim()
  const length = Math.min(words.length, shortest + Math.floor(random() * (longest - shortest + 1)))
  const from = Math.floor(random() * (words.length - length + 1))
  return words
    .slice(from, from + length)
    .join(" ")
    .slice(0, mostCharacters)
    .trim()
}
