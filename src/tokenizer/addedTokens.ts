import type { AddedToken } from "./TokenizerJson.ts"

/** An occurrence of an added token in a text. */
export interface AddedMatch {
  readonly start: number
  readonly end: number
  readonly id: number
}

const wordCharacter = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]/u
const trailingSpace = /(?<!\p{White_Space})\p{White_Space}+$/u
const leadingSpace = /^\p{White_Space}+/u

const characterBefore = (text: string, at: number): string => {
  const unit = text.slice(Math.max(0, at - 1), at)
  return /[\udc00-\udfff]/.test(unit) ? text.slice(Math.max(0, at - 2), at) : unit
}

/**
 * Finds added tokens, leftmost first, and the longest of those that start together. A token for whole words is not
 * matched within a word. Undefined if there are no added tokens.
 */
export const addedTokens = (
  tokens: ReadonlyArray<AddedToken>
): ((text: string) => ReadonlyArray<AddedMatch>) | undefined => {
  const byContent = new Map(tokens.filter((token) => token.content !== "").map((token) => [token.content, token]))
  if (byContent.size === 0) return undefined
  const alternatives = [...byContent.keys()]
    .sort((a, b) => b.length - a.length)
    .map((content) => content.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"))
  const pattern = new RegExp(alternatives.join("|"), "g")

  return (text) => {
    const matches: Array<AddedMatch> = []
    let after = 0
    for (const match of text.matchAll(pattern)) {
      const token = byContent.get(match[0])!
      let start = match.index
      let end = start + match[0].length
      if (
        token.single_word &&
        (wordCharacter.test(characterBefore(text, start)) ||
          wordCharacter.test(String.fromCodePoint(text.codePointAt(end) ?? 0x20)))
      ) {
        continue
      }
      if (token.lstrip) start -= trailingSpace.exec(text.slice(after, start))?.[0].length ?? 0
      if (token.rstrip) end += leadingSpace.exec(text.slice(end))?.[0].length ?? 0
      if (start < after) start = after
      matches.push({ start, end, id: token.id })
      after = end
    }
    return matches
  }
}
