import { regExpOf, splitAt } from "./pattern.ts"
import type { Metaspace, PreTokenizer } from "./TokenizerJson.ts"

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
