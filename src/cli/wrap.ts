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

const opening = "\u300c\u300e\uff08\u3010\u3008\u300a\u3014\uff3b\uff5b"
const closing =
  "\u3001\u3002\uff0c\uff0e\uff01\uff1f\uff1a\uff1b\u300d\u300f\uff09\u3011\u3009\u300b\u3015\uff3d\uff5d\u30fb\u30fc\u2026"
const unspaced = "\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Hangul}"

/**
 * Words with the blanks before them; in scripts without blanks, each character is a word, with the brackets that open
 * before it and the marks that close after it.
 */
const words = new RegExp(
  `\\s*(?:[${opening}]{0,3}[${unspaced}][${closing}]{0,4}|[^\\s${unspaced}${opening}]+|\\S)|\\s+$`,
  "gu"
)

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
  const { end, push } = wrapStream(width)
  return widthOf(line) <= width ? [line] : (push(line) + end()).split("\n")
}

/** Wraps a text that comes in fragments to a width. */
interface WrapStream {
  /** What can be shown so far: all but the last word, which may continue. */
  readonly push: (fragment: string) => string
  /** The rest. */
  readonly end: () => string
}

/** Wraps as `wrapLine` does. A word is shown once its end is known. Line ends of the text stay. */
export const wrapStream = (width: number): WrapStream => {
  let pending = ""
  let column = 0

  const place = ([word]: RegExpExecArray): string => {
    const at = word.lastIndexOf("\n") + 1
    if (at > 0) column = 0
    const own = word.trimStart()
    const wide = column + widthOf(word.slice(at))
    const breaks = wide > width && (column > 0 || own === "")
    column = breaks ? widthOf(own) : wide
    return breaks ? (own === "" ? word.slice(0, at) : `\n${own}`) : word
  }

  const upTo = (end: number) => {
    const shown = pending.slice(0, end).matchAll(words)
    pending = pending.slice(end)
    return Array.from(shown, place).join("")
  }

  return {
    push: (fragment) => {
      pending += fragment
      // What may go on in the next fragment: the last word, and all brackets that open it.
      let open = pending.length
      while (open > 0 && opening.includes(pending[open - 1]!)) open--
      const last = [...pending.matchAll(words)].at(-1)?.index ?? 0
      return upTo(open < pending.length ? Math.min(last, pending.slice(0, open).trimEnd().length) : last)
    },
    end: () => upTo(pending.length)
  }
}
