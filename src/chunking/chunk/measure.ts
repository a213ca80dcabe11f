/** Most characters of a passage per token: bounds text that the tokenizer does not know. */
export const widthPerToken = 8

/**
 * Scripts written without spaces, which say about four times as much per character; ideographs beyond U+FFFF half of
 * that.
 */
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

/** A document, and the limits of its passages. */
export interface Measure {
  readonly text: string
  /** Most tokens of a passage. */
  readonly size: number
  /** Most tokens that a passage repeats. */
  readonly overlap: number
  /** Most width of a passage: its length plus `extra`. */
  readonly width: number
  readonly count: (start: number, end: number) => number
  /** The width that the span's characters of dense scripts add to its length. */
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
