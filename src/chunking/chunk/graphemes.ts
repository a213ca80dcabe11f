const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" })

/** How far to search for a grapheme's bounds; longer ones are stacks of marks made to break software. */
const reach = 64

const splitsPair = (text: string, at: number): boolean =>
  at > 0 && (text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800

/**
 * The last offset up to `to` that splits no surrogate pair; always after `from`, even if a pair then extends beyond
 * `to`.
 */
export const wholePairs = (text: string, from: number, to: number): number =>
  splitsPair(text, to) ? (to - 1 > from ? to - 1 : to + 1) : to

/** Bounds of the grapheme that a cut at `at` would split; both `at` if it splits none. */
export const graphemeAround = (text: string, from: number, at: number): readonly [start: number, end: number] => {
  if (at <= from || at >= text.length) return [at, at]
  const right = text.charCodeAt(at)
  // No grapheme but CR LF joins characters below U+0300.
  if (right !== 10 && right < 0x300 && text.charCodeAt(at - 1) < 0x300) return [at, at]
  const base = wholePairs(text, from, Math.max(from, at - reach))
  const around = segmenter.segment(text.slice(base, at + reach)).containing(at - base)
  if (around === undefined || base + around.index === at) return [at, at]
  return [base + around.index, base + around.index + around.segment.length]
}
