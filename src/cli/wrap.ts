import { stripVTControlCharacters } from "node:util"

const wide =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Hangul}\u3000-\u303e\u30a0-\u30ff\u31f0-\u31ff\p{Emoji_Presentation}\uff01-\uff60\uffe0-\uffe6]/u

/** The width of a text in terminal columns. */
export const widthOf = (text: string): number => {
  let width = 0
  for (const character of stripVTControlCharacters(text)) {
    if (/\p{M}/u.test(character)) continue
    width += wide.test(character) ? 2 : 1
  }
  return width
}

/**
 * Words with the blanks before them; in scripts without blanks, each character is a word, with the brackets that open
 * before it and the marks that close after it.
 */
const words =
  /\s*(?:[\u300c\u300e\uff08\u3010\u3008\u300a\u3014\uff3b\uff5b]{0,3}[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}][\u3001\u3002\uff0c\uff0e\uff01\uff1f\uff1a\uff1b\u300d\u300f\uff09\u3011\u3009\u300b\u3015\uff3d\uff5d\u30fb\u30fc\u2026]{0,4}|[^\s\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\u300c\u300e\uff08\u3010\u3008\u300a\u3014\uff3b\uff5b]+|\S)|\s+$/gu

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

/** Wraps a text that comes in fragments to a width. */
interface WrapStream {
  /** What can be shown so far: all but the last word, which may continue. */
  readonly push: (fragment: string) => string
  /** The rest. */
  readonly end: () => string
}

const unspaced = "\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Hangul}"
/** A line's end, blanks, a word, or a character of a script without blanks. */
const parts = new RegExp(`\\n|[^\\S\\n]+|[${unspaced}]|[^\\s${unspaced}]+`, "gu")
const complete = new RegExp(`^(?:\\n|[${unspaced}])$`, "u")

/** A word is shown once its end is known; one wider than a line gets its own line. Line ends of the text stay. */
export const wrapStream = (width: number): WrapStream => {
  let pending = ""
  let blanks = ""
  let column = 0

  const place = (part: string): string => {
    if (part === "\n") {
      column = 0
      blanks = ""
      return part
    }
    if (part.trim() === "") {
      blanks += part
      return ""
    }
    const own = widthOf(part)
    const before = widthOf(blanks)
    const breaks = column > 0 && column + before + own > width && (blanks !== "" || complete.test(part))
    const shown = breaks ? `\n${part}` : blanks + part
    column = breaks ? own : column + before + own
    blanks = ""
    return shown
  }

  return {
    push: (fragment) => {
      pending += fragment
      const found = pending.match(parts) ?? []
      const last = found.at(-1)
      const held = last === undefined || complete.test(last) ? "" : last
      pending = held
      return found
        .slice(0, held === "" ? undefined : -1)
        .map(place)
        .join("")
    },
    end: () => {
      const rest = pending
      pending = ""
      return (rest.match(parts) ?? []).map(place).join("")
    }
  }
}
