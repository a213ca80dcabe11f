import { regExpOf, splitAt } from "./pattern.ts"
import type { Metaspace, PreTokenizer } from "./TokenizerJson.ts"

/** Splits normalised text; `first` tells whether the text starts where the original starts. */
export type PreTokenize = (text: string, first: () => boolean) => ReadonlyArray<string>

const asciiPunctuation = String.raw`!-\/:-@\[-\x60\{-~`
const punctuation = new RegExp(String.raw`[${asciiPunctuation}\p{P}]`, "gu")
const bertPieces = new RegExp(String.raw`[${asciiPunctuation}\p{P}]|[^${asciiPunctuation}\p{P}\p{White_Space}]+`, "gu")
const wordCharacter = String.raw`\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d`
const wordsAndRest = new RegExp(String.raw`[${wordCharacter}]+|[^${wordCharacter}\p{White_Space}]+`, "gu")
const notSpace = /\P{White_Space}+/gu

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
      return (text) => text.match(bertPieces) ?? []
    case "Whitespace":
      return (text) => text.match(wordsAndRest) ?? []
    case "WhitespaceSplit":
      return (text) => text.match(notSpace) ?? []
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
