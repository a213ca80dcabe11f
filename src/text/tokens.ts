/** Characters that models cut alike: words of Latin letters with their blanks, digits, signs, and the other scripts. */
export const scripts = ["latin", "digits", "signs", "cyrillic", "cjk", "other"] as const
export type Script = (typeof scripts)[number]

/** Of each script, in the order of `scripts`. */
export type PerScript = ReadonlyArray<number>

/** Tokens a character where nothing is known of a model: what the coarser ones of today take, and somewhat more. */
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
  // Kana, Han, Hangul, and their full-width forms.
  if ((code >= 0x2e80 && code < 0xa000) || (code >= 0xac00 && code < 0xd7b0) || (code >= 0xff00 && code < 0xfff0)) {
    return cjk
  }
  if (code >= 0x1e00 && code < 0x1f00) return latin
  return code >= 0x2010 && code < 0x2070 ? signs : other
}

/** How many characters (UTF-16 units) of each script a text has. */
export const charactersOf = (text: string): PerScript => {
  const counts = [0, 0, 0, 0, 0, 0]
  for (let at = 0; at < text.length; at++) counts[scriptOf(text.charCodeAt(at))]!++
  return counts
}

const weighed = (characters: PerScript, rates: PerScript): number =>
  characters.reduce((sum, count, at) => sum + count * rates[at]!, 0)

/** Tokens of so many characters at these rates. */
export const tokensOf = (characters: PerScript, rates: PerScript): number => Math.ceil(weighed(characters, rates))

/** No tokenizer cuts coarser or finer than this, whatever a server says. */
const bounds = { least: 0.05, most: 4 }

/**
 * The rates moved towards what a model made of a text: each by its script's share of the estimate, so that a text of one
 * script teaches nothing of another. `step`, up to 1, is how much of the difference is believed.
 */
export const learned = (rates: PerScript, characters: PerScript, tokens: number, step: number): PerScript => {
  const expected = weighed(characters, rates)
  if (expected === 0 || tokens <= 0) return rates
  const off = tokens / expected - 1
  const squares = characters.reduce((sum, count, at) => sum + ((count * rates[at]!) / expected) ** 2, 0)
  return rates.map((rate, at) => {
    const share = (characters[at]! * rate) / expected
    // The scripts' shares of the move sum up to what was off.
    const moved = rate * (1 + (step * off * share) / squares)
    return Math.min(bounds.most, Math.max(bounds.least, moved))
  })
}
