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
    let at = this.start
    // Not indexOf, which would search the whole rest for the other line end, once per walker.
    while (at < this.to && !isLineEnd(this.text.charCodeAt(at))) at++
    this.end = at
    this.after = this.text.charCodeAt(at) === 13 && this.text.charCodeAt(at + 1) === 10 ? at + 2 : at + 1
    return true
  }
}

const isLineEnd = (code: number): boolean => code === 10 || code === 13

/** Maps offsets to 1-based lines in one pass over the text; offsets must not decrease between calls. */
export const lineCounter = (text: string): ((offset: number) => number) => {
  const walker = new LineWalker(text, 0)
  let line = walker.next() ? 1 : 0
  return (offset) => {
    while (offset >= walker.after && walker.next()) line++
    return Math.max(line, 1)
  }
}
