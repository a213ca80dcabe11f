/** Joins a word split at a line's end; a hyphen before a capital or a digit belongs to the word. */
export const joinLines = (text: string, next: string): string => {
  if (/\p{Ll}-$/u.test(text) && /^\p{Ll}/u.test(next)) return text.slice(0, -1) + next
  if (/[\u00ad]$/u.test(text)) return text.slice(0, -1) + next
  // Scripts without spaces are joined without one.
  if (
    /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]$/u.test(text) &&
    /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(next)
  )
    return text + next
  return `${text} ${next}`
}
