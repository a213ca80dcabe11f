/** Characters that models tokenise alike. */
export const scripts = ["latin", "digits", "signs", "cyrillic", "cjk", "other"] as const
export type Script = (typeof scripts)[number]

/** One number per script, in the order of `scripts`. */
export type PerScript = ReadonlyArray<number>

/** Tokens per character for an unknown model: the rates of today's coarser ones, and a little more. */
export const usualRates: PerScript = [0.28, 0.7, 0.7, 0.5, 1.1, 1]

const [latin, digits, signs, cyrillic, cjk, other] = [0, 1, 2, 3, 4, 5]

const scriptOf = (code: number): number => {
  if (code < 0x80) {
    const lower = code | 0x20
    if ((lower >= 97 && lower <= 122) || code === 32) return latin
    return code >= 48 && code <= 57 ? digits : signs
  }
  if (code < 0x370) return code < 0xc0 ? signs : latin
  // Greek, Cyrillic, Armenian.
  if (code < 0x590) return cyrillic
  // Kana, Han and Hangul, and their full-width forms.
  if ((code >= 0x2e80 && code < 0xa000) || (code >= 0xac00 && code < 0xd7b0) || (code >= 0xff00 && code < 0xfff0)) {
    return cjk
  }
  if (code >= 0x1e00 && code < 0x1f00) return latin
  return code >= 0x2010 && code < 0x2070 ? signs : other
}

/** A text's number of characters (UTF-16 units) per script. */
export const charactersOf = (text: string): PerScript => {
  const counts = [0, 0, 0, 0, 0, 0]
  for (let at = 0; at < text.length; at++) counts[scriptOf(text.charCodeAt(at))]!++
  return counts
}

const weighed = (characters: PerScript, rates: PerScript): number =>
  characters.reduce((sum, count, at) => sum + count * rates[at]!, 0)

/** The number of tokens for these characters at these rates. */
export const tokensOf = (characters: PerScript, rates: PerScript): number => Math.ceil(weighed(characters, rates))

/** No tokenizer is coarser or finer than this, whatever a server reports. */
const bounds = { least: 0.05, most: 4 }

/**
 * Moves the rates towards a model's real count for a text, each by its script's share of the estimate, so that a text
 * in one script changes no other. `step`, up to 1, is how much of the difference is applied.
 */
export const learned = (rates: PerScript, characters: PerScript, tokens: number, step: number): PerScript => {
  const expected = weighed(characters, rates)
  if (expected === 0 || tokens <= 0) return rates
  const off = tokens / expected - 1
  const squares = characters.reduce((sum, count, at) => sum + ((count * rates[at]!) / expected) ** 2, 0)
  return rates.map((rate, at) => {
    const share = (characters[at]! * rate) / expected
    // The scripts' shares of the change add up to the error.
    const moved = rate * (1 + (step * off * share) / squares)
    return Math.min(bounds.most, Math.max(bounds.least, moved))
  })
}
