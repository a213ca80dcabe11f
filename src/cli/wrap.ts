import { stripVTControlCharacters } from "node:util"

const wide = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u

/** The width of a text in terminal columns. */
export const widthOf = (text: string): number => {
  let width = 0
  for (const character of stripVTControlCharacters(text)) {
    if (/\p{M}/u.test(character)) continue
    width += wide.test(character) ? 2 : 1
  }
  return width
}

/** Words with the blanks before them; in scripts without blanks, each character is a word. */
const words =
  /\s*(?:[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]|[^\s\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]+)|\s+$/gu

/** Wraps each line to a terminal's width; elsewhere the text stays as it is. */
export const wrapped = (face: { readonly isTerminal: boolean; readonly columns: number }, text: string): string =>
  face.isTerminal
    ? text
        .split("\n")
        .flatMap((line) => wrapLine(line, Math.max(20, face.columns)))
        .join("\n")
    : text

/** Wraps a line to a width, only between words; a longer word gets its own line. */
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
