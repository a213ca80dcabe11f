import { escape } from "effect/RegExp"
import {
  type Behavior,
  type Metaspace,
  type Pattern,
  type PreTokenizer,
  UnsupportedTokenizer
} from "./TokenizerJson.ts"

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

/** `(?i:…)` around literals, written out: JavaScript has no flags for a part of a pattern. */
const withoutFlags = (source: string): string =>
  source.replace(
    /\(\?i:([a-z'|]+)\)/g,
    (_, literals: string) =>
      `(?:${literals.replace(/[a-z]/g, (c) => `[${c}${c.toUpperCase()}${c === "s" ? "ſ" : c === "k" ? "\u212a" : ""}]`)})`
  )

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
  if ("String" in pattern) return new RegExp(escape(pattern.String), "gu")
  try {
    return new RegExp(translated(withoutFlags(pattern.Regex)), "gu")
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

/** Splits normalised text; `first` tells whether the text starts where the original starts. */
export type PreTokenize = (text: string, first: () => boolean) => ReadonlyArray<string>

const asciiPunctuation = String.raw`!-\/:-@\[-\x60\{-~`
const punctuation = new RegExp(String.raw`[${asciiPunctuation}\p{P}]`, "gu")
const wordCharacter = String.raw`\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d`

/** Most characters that one match takes: V8 stacks each, and a run of a few million would overflow. */
const longestMatch = 4096

/** Finds runs of characters of each class, and single characters of another. */
const runsOf = (classes: ReadonlyArray<string>, single?: string): PreTokenize => {
  const alternatives = classes.map((each) => `(${each}{1,${longestMatch}})`)
  const pattern = new RegExp([...(single === undefined ? [] : [single]), ...alternatives].join("|"), "gu")
  return (text) => {
    if (text.length <= longestMatch) return text.match(pattern) ?? []
    const pieces: Array<string> = []
    let [start, end, kind] = [0, 0, 0]
    for (const match of text.matchAll(pattern)) {
      const own = match.indexOf(match[0], 1)
      // A run longer than a match goes on in the next one.
      if (own === -1 || own !== kind || match.index !== end) {
        if (end > start) pieces.push(text.slice(start, end))
        start = match.index
      }
      kind = own
      end = match.index + match[0].length
    }
    if (end > start) pieces.push(text.slice(start, end))
    return pieces
  }
}

const bertMark = String.raw`[${asciiPunctuation}\p{P}]`
const bertPieces = runsOf([String.raw`[^${asciiPunctuation}\p{P}\p{White_Space}]`], bertMark)
const wordsAndRest = runsOf([`[${wordCharacter}]`, String.raw`[^${wordCharacter}\p{White_Space}]`])
const notSpace = runsOf([String.raw`\P{White_Space}`])

/** Splits before every mark. */
const splitBefore = (text: string, mark: string): Array<string> => {
  const pieces: Array<string> = []
  let start = 0
  for (let at = text.indexOf(mark, 1); at !== -1; at = text.indexOf(mark, at + mark.length)) {
    pieces.push(text.slice(start, at))
    start = at
  }
  pieces.push(text.slice(start))
  return pieces
}

const metaspace = (spec: Metaspace): PreTokenize => {
  const { replacement, split } = spec
  const scheme = spec.prepend_scheme ?? (spec.add_prefix_space ? "always" : "never")
  return (text, first) => {
    if (text === "") return []
    const replaced = text.replaceAll(" ", replacement)
    const prepends = scheme === "always" || (scheme === "first" && first())
    const whole = prepends && !replaced.startsWith(replacement) ? replacement + replaced : replaced
    return split ? splitBefore(whole, replacement) : [whole]
  }
}

/** The characters by which byte-level BPE writes the 256 bytes (Radford et al. 2019): printable ones for themselves. */
const byteCharacters = (() => {
  let next = 256
  return Array.from({ length: 256 }, (_, byte) =>
    String.fromCharCode(/[!-~\xa1-\xac\xae-\xff]/.test(String.fromCharCode(byte)) ? byte : next++)
  )
})()

/** GPT-2's words, each with the space before it. */
const byteLevelWords = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

const byteLevel = (spec: { readonly add_prefix_space: boolean; readonly use_regex: boolean }): PreTokenize => {
  const split = spec.use_regex ? splitAt(regExpOf({ Regex: byteLevelWords }), "Isolated") : (text: string) => [text]
  const utf8 = new TextEncoder()
  return (text) =>
    split(spec.add_prefix_space && !text.startsWith(" ") ? ` ${text}` : text).map((piece) => {
      let out = ""
      for (const byte of utf8.encode(piece)) out += byteCharacters[byte]!
      return out
    })
}

const never = () => false

/** The pre-tokenizer as a function; it never returns an empty piece. Throws UnsupportedTokenizer. */
export const preTokenizer = (spec: PreTokenizer): PreTokenize => {
  switch (spec.type) {
    case "BertPreTokenizer":
      return bertPieces
    case "Whitespace":
      return wordsAndRest
    case "WhitespaceSplit":
      return notSpace
    case "Punctuation":
      return splitAt(punctuation, spec.behavior)
    case "Digits":
      return splitAt(/\p{N}/gu, spec.individual_digits ? "Isolated" : "Contiguous")
    case "Split":
      return splitAt(regExpOf(spec.pattern), spec.behavior, spec.invert)
    case "CharDelimiterSplit":
      return splitAt(regExpOf({ String: spec.delimiter }), "Removed")
    case "Metaspace":
      return metaspace(spec)
    case "ByteLevel":
      return byteLevel(spec)
    case "Sequence": {
      const steps = spec.pretokenizers.map(preTokenizer)
      return (text, first) =>
        steps.reduce<ReadonlyArray<string>>(
          (pieces, step) => pieces.flatMap((piece, i) => step(piece, i === 0 ? first : never)),
          [text]
        )
    }
  }
}
