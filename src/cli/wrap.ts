import { stripVTControlCharacters } from "node:util"

const wide = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u

/** Columns that a text takes on a terminal. */
export const widthOf = (text: string): number => {
  let width = 0
  for (const character of stripVTControlCharacters(text)) {
    if (/\p{M}/u.test(character)) continue
    width += wide.test(character) ? 2 : 1
  }
  return width
}

/** Words with the blanks before them; a character of a script without blanks is a word. */
const words =
  /\s*(?:[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]|[^\s\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]+)|\s+$/gu

/** For a terminal each line in lines of its width; elsewhere a text as it is. */
export const wrapped = (face: { readonly isTerminal: boolean; readonly columns: number }, text: string): string =>
  face.isTerminal
    ? text
        .split("\n")
        .flatMap((line) => wrapLine(line, Math.max(20, face.columns)))
        .join("\n")
    : text

/** A line in lines of a width, broken between words alone; a word that is wider stands by itself. */
export const wrapLine = (line: string, width: number): ReadonlyArray<string> => {
  if (widthOf(line) <= width) return [line]
  const lines: Array<string> = []
  let current = ""
  for (const [word] of line.matchAll(words)) {
    if (current.trim() !== "" && widthOf(current + word) > width) {
      lines.push(current)
      current = word.trimStart()
    } else current += word
  }
  return current.trim() === "" ? lines : [...lines, current]
}
