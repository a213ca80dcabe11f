/**
 * Walks the lines of `[from, to)`; a line ends at `\n`, `\r\n` or a lone `\r`. After `next()` says true, `start` and
 * `end` bound the line without its terminator and `after` is where the next one starts.
 */
export class LineWalker {
  start = 0
  end = 0
  after: number
  private feed = -1
  private carriage = -1

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
    if (this.feed < this.start) this.feed = find(this.text, "\n", this.start)
    if (this.carriage < this.start) this.carriage = find(this.text, "\r", this.start)
    this.end = Math.min(this.feed, this.carriage, this.to)
    this.after = this.carriage + 1 === this.feed && this.end === this.carriage ? this.end + 2 : this.end + 1
    return true
  }
}

const find = (text: string, char: string, from: number): number => {
  const at = text.indexOf(char, from)
  return at === -1 ? Infinity : at
}

/** Maps offsets to 1-based lines, in one pass over the text: each call must ask for no less than the one before. */
export const lineCounter = (text: string): ((offset: number) => number) => {
  const walker = new LineWalker(text, 0)
  let line = walker.next() ? 1 : 0
  return (offset) => {
    while (offset >= walker.after && walker.next()) line++
    return Math.max(line, 1)
  }
}
