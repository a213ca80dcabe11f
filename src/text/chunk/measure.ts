/** Characters a passage may have for each token it may have: bounds text that the tokenizer does not know. */
export const widthPerToken = 8

/** Scripts written without spaces, which say about four times as much in a character; ideographs beyond U+FFFF by half. */
const dense = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ud7ff\ud840-\ud88f\uf900-\ufaff\uff66-\uff9f]/

const denseExtra = (code: number): number =>
  code < 0x0e00
    ? 0
    : code >= 0x2e80
      ? code <= 0xd7ff || (code >= 0xf900 && code <= 0xfaff) || (code >= 0xff66 && code <= 0xff9f)
        ? 3
        : code >= 0xd840 && code <= 0xd88f
          ? 2
          : 0
      : code <= 0x0eff || (code >= 0x1000 && code <= 0x109f) || (code >= 0x1780 && code <= 0x17ff)
        ? 1
        : 0

/** A document and the yardsticks its passages are held to. */
export interface Measure {
  readonly text: string
  /** Tokens a passage may have. */
  readonly size: number
  /** Tokens a passage may repeat. */
  readonly overlap: number
  /** Width a passage may have: its length, and `extra`. */
  readonly width: number
  readonly count: (start: number, end: number) => number
  /** What the span's characters of dense scripts add to its length. */
  readonly extra: (start: number, end: number) => number
}

export const measure = (
  text: string,
  options: {
    readonly size: number
    readonly overlap: number
    readonly countTokens: (text: string) => number
  }
): Measure => ({
  text,
  size: options.size,
  overlap: options.overlap,
  width: options.size * widthPerToken,
  count: (start, end) => options.countTokens(text.slice(start, end)),
  extra: dense.test(text) ? (start, end) => extraWidth(text, start, end) : () => 0
})

const extraWidth = (text: string, start: number, end: number): number => {
  let extra = 0
  for (let at = start; at < end; at++) extra += denseExtra(text.charCodeAt(at))
  return extra
}
