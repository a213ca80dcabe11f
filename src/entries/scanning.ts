/**
 * Walks the lines of `[from, to)`; a line ends at `\n`, `\r\n` or a lone `\r`. After `next()` says true, `start` and
 * `end` bound the line without its terminator and `after` is where the next one starts.
 */
export class LineWalker {
  start = 0
  end = 0
  after: number

  constructor(
    private readonly text: string,
    from: number,
    private readonly to: number = text.length
  ) {
    this.after = from
  }

  next(): boolean {
    if (this.after >= this.to) return false
    this.start = this.after
    const { text, to } = this
    let at = this.start
    // Not indexOf, which would search the whole rest for the other line end, once per walker.
    while (at < to && !isLineEnd(text.charCodeAt(at))) at++
    this.end = at
    const isPair = at + 1 < text.length && text.charCodeAt(at) === 13 && text.charCodeAt(at + 1) === 10
    this.after = isPair ? at + 2 : at + 1
    return true
  }
}

const isLineEnd = (code: number): boolean => code === 10 || code === 13

const lineEnd = /\r\n?|\n/g

/** Maps offsets to 1-based lines in one pass over the text; offsets must not decrease between calls. */
export const lineCounter = (text: string): ((offset: number) => number) => {
  let line = 1
  /** Where the next line starts. */
  let after = 0
  const next = (): number => {
    lineEnd.lastIndex = after
    return lineEnd.test(text) ? lineEnd.lastIndex : text.length + 1
  }
  after = next()
  return (offset) => {
    while (offset >= after && after < text.length) {
      after = next()
      line++
    }
    return line
  }
}

/** Whether JavaScript's `\s` and `trim` treat this UTF-16 unit as white space. */
export const isSpace = (code: number): boolean =>
  code <= 32
    ? code === 32 || (code >= 9 && code <= 13)
    : code >= 0xa0 &&
      (code === 0xa0 ||
        code === 0x1680 ||
        (code >= 0x2000 && code <= 0x200a) ||
        code === 0x2028 ||
        code === 0x2029 ||
        code === 0x202f ||
        code === 0x205f ||
        code === 0x3000 ||
        code === 0xfeff)

/** First offset in `[from, to)` that is not white space, or `to`. */
export const skipSpace = (text: string, from: number, to: number): number => {
  let at = from
  while (at < to && isSpace(text.charCodeAt(at))) at++
  return at
}

/** Offset after the last character of `[from, to)` that is not white space, or `from`. */
export const trimEnd = (text: string, from: number, to: number): number => {
  let at = to
  while (at > from && isSpace(text.charCodeAt(at - 1))) at--
  return at
}

/** First white space in `[from, to)`, or `to`. */
export const skipWord = (text: string, from: number, to: number): number => {
  let at = from
  while (at < to && !isSpace(text.charCodeAt(at))) at++
  return at
}
