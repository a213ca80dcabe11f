import { type Behavior, type Pattern } from "./TokenizerJson.ts"
import { UnsupportedTokenizer } from "./UnsupportedTokenizer.ts"

const escaped = (literal: string): string => literal.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")

/** Oniguruma's classes are Unicode's, JavaScript's are not. `\w` and `\s` need no brackets inside a class. */
const classes: Record<string, string> = {
  s: String.raw`\p{White_Space}`,
  S: String.raw`\P{White_Space}`,
  d: String.raw`\p{Nd}`,
  D: String.raw`\P{Nd}`,
  w: String.raw`\p{L}\p{M}\p{N}\p{Pc}`
}

const translated = (source: string): string => {
  let out = ""
  let inClass = false
  for (let i = 0; i < source.length; i++) {
    const c = source[i]!
    const next = source[i + 1]
    if (c === "\\" && next !== undefined) {
      i++
      const replacement = classes[next]
      if (replacement !== undefined) out += inClass || next !== "w" ? replacement : `[${replacement}]`
      else if (next === "W" && !inClass) out += `[^${classes["w"]}]`
      // An escaped character that needs no escape is an error in JavaScript's u mode.
      else out += /[\w\\^$.*+?()[\]{}|/]|[^\0-\x7f]/.test(next) || (inClass && next === "-") ? c + next : next
      continue
    }
    if (c === "[") inClass = true
    if (c === "]") inClass = false
    out += c
  }
  return out
}

/** The pattern as a global Unicode regular expression; throws UnsupportedTokenizer where JavaScript has no equal. */
export const regExpOf = (pattern: Pattern): RegExp => {
  if ("String" in pattern) return new RegExp(escaped(pattern.String), "gu")
  try {
    return new RegExp(translated(pattern.Regex), "gu")
  } catch {
    throw new UnsupportedTokenizer({
      reason: `the regular expression ${JSON.stringify(pattern.Regex)} has no equal in JavaScript`
    })
  }
}

/** Splits at every match of a global pattern; `invert` takes what lies between the matches as the delimiter. */
export const splitAt =
  (pattern: RegExp, behavior: Behavior, invert = false) =>
  (text: string): Array<string> => {
    const pieces: Array<string> = []
    // What the next piece must be glued to: a delimiter waiting for what follows it, or a run of its like.
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
