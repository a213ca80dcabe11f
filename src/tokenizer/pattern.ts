import type { Behavior, Pattern } from "./TokenizerJson.ts"
import { UnsupportedTokenizer } from "./UnsupportedTokenizer.ts"

const escaped = (literal: string): string => literal.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")

/** The characters of Oniguruma's `\w`, for use inside a class. */
const word = String.raw`\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\xb2\xb3\xb9\xbc-\xbe`
const inWord = `(?<=[${word}])`
const wordAhead = `(?=[${word}])`

/** Escapes that mean something else in JavaScript, or only ASCII. */
const escapes = new Map([
  ["s", String.raw`\p{White_Space}`],
  ["S", String.raw`\P{White_Space}`],
  ["d", String.raw`\p{Nd}`],
  ["D", String.raw`\P{Nd}`],
  ["w", `[${word}]`],
  ["W", `[^${word}]`],
  ["b", `(?:${inWord}(?!${wordAhead})|(?!${inWord})${wordAhead})`],
  ["B", `(?:${inWord}${wordAhead}|(?!${inWord})(?!${wordAhead}))`]
])
const lineMarks = new Map([
  ["^", String.raw`(?<![^\n])`],
  ["$", String.raw`(?![^\n])`],
  [".", String.raw`[^\n]`]
])

/** An escape with the same meaning, or a character that needs none: JavaScript's u mode forbids escaping it. */
const otherEscape = (c: string, inClass: boolean): string =>
  /[\w\\^$.*+?()[\]{}|/]|[^\0-\x7f]/.test(c) || (inClass && c === "-") ? `\\${c}` : c

const escapeInClass = (c: string): string => {
  if (c === "w") return word
  if (/[sSdD]/.test(c)) return escapes.get(c)!
  if (/[WbB]/.test(c)) throw new SyntaxError(`\\${c} in a class`)
  return otherEscape(c, true)
}

/** Oniguruma's syntax as far as JavaScript has it. Anything else is a SyntaxError, here or when it is compiled. */
const translated = (source: string): string => {
  let out = ""
  let inClass = false
  for (let i = 0; i < source.length; i++) {
    const c = source[i]!
    const next = source[i + 1]
    if (c === "\\" && next !== undefined) {
      i++
      out += inClass ? escapeInClass(next) : (escapes.get(next) ?? otherEscape(next, false))
    } else if (inClass) {
      if (c === "&" && next === "&") throw new SyntaxError("an intersection of classes")
      if (c === "]") inClass = false
      out += c
    } else {
      if (c === "[") inClass = true
      out += lineMarks.get(c) ?? c
    }
  }
  return out
}

/** The pattern as a global Unicode regular expression; throws UnsupportedTokenizer if JavaScript has no equivalent. */
export const regExpOf = (pattern: Pattern): RegExp => {
  if ("String" in pattern) return new RegExp(escaped(pattern.String), "gu")
  try {
    return new RegExp(translated(pattern.Regex), "gu")
  } catch {
    throw new UnsupportedTokenizer({
      reason: `the regular expression ${JSON.stringify(pattern.Regex)} has no equivalent in JavaScript`
    })
  }
}

/** Splits at every match of a global pattern; with `invert`, the text between matches is the delimiter. */
export const splitAt =
  (pattern: RegExp, behavior: Behavior, invert = false) =>
  (text: string): Array<string> => {
    const pieces: Array<string> = []
    // Text to prepend to the next piece: a delimiter merged with what follows, or a run of delimiters.
    let pending = ""
    let before: boolean | undefined
    const put = (piece: string, delimiter: boolean) => {
      if (piece === "") return
      if (behavior === "Isolated" || (behavior === "Removed" && !delimiter)) pieces.push(piece)
      else if (behavior === "Contiguous" && before === delimiter) pieces[pieces.length - 1] += piece
      else if (behavior === "Contiguous") pieces.push(piece)
      else if (behavior === "MergedWithPrevious") {
        if (delimiter && before === false) pieces[pieces.length - 1] += piece
        else pieces.push(piece)
      } else if (behavior === "MergedWithNext") {
        if (pending !== "" && delimiter) pieces.push(pending)
        if (delimiter) pending = piece
        else {
          pieces.push(pending + piece)
          pending = ""
        }
      }
      before = delimiter
    }
    let end = 0
    for (const match of text.matchAll(pattern)) {
      if (match[0] === "") continue
      put(text.slice(end, match.index), invert)
      put(match[0], !invert)
      end = match.index + match[0].length
    }
    put(text.slice(end), invert)
    if (pending !== "") pieces.push(pending)
    return pieces
  }
