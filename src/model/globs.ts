/** Characters of a literal used to find where a glob may match. */
const keyLength = 32

/** Characters are distinguished by their lowest bits only: false matches are sorted out by the comparison. */
const symbols = 128

/** Steps between two checks for cancellation. */
const lookEvery = 65_536

/** The longest run of literal characters in a glob, or its end if it is long; empty if there is none. */
const keyOf = (glob: string): string =>
  glob
    .split(/[*?]+/)
    .reduce((longest, literal) => (literal.length > longest.length ? literal : longest), "")
    .slice(-keyLength)

const questionMark = "?".charCodeAt(0)
const asterisk = "*".charCodeAt(0)

/** The number of code units of the character at an offset. */
const widthAt = (text: string, at: number): number => (text.codePointAt(at)! > 0xffff ? 2 : 1)

/**
 * Matches many globs at once (`*`: any characters, `?`: one character). An Aho-Corasick automaton over one literal of
 * each glob reads a text once, and only globs whose literal occurs are compared with the text.
 */
export class Globs {
  /** Steps so far: characters read, counted again for each glob they were compared with. */
  steps = 0

  private readonly globs: ReadonlyArray<string>
  /** By node and symbol: the next node. */
  private readonly next: Int32Array
  /** By node: the globs whose literals end there, or at a suffix of the path to it. */
  private readonly ending: ReadonlyArray<ReadonlyArray<number>>
  /** By glob: the last text compared with it. */
  private readonly compared: Int32Array
  private texts = 0
  private looked = 0

  /** `isGivenUp` is polled; once it is true, `matches` returns undefined. */
  constructor(
    globs: ReadonlyArray<string>,
    private readonly isGivenUp: () => boolean = () => false
  ) {
    this.globs = [...new Set(globs.map((glob) => glob.replaceAll(/\*{2,}/g, "*")))]
    this.compared = new Int32Array(this.globs.length)
    const keys = this.globs.map(keyOf)
    const next = new Int32Array(symbols * (1 + keys.reduce((sum, key) => sum + key.length, 0)))
    const own: Array<Array<number>> = [[]]
    for (const [glob, key] of keys.entries()) {
      let node = 0
      for (let at = 0; at < key.length; at++) {
        const edge = node * symbols + (key.charCodeAt(at) % symbols)
        if (next[edge] === 0) {
          next[edge] = own.length
          own.push([])
        }
        node = next[edge]!
      }
      own[node]!.push(glob)
    }
    this.next = next.slice(0, own.length * symbols)
    this.ending = this.linked(own)
  }

  /** Whether any of the globs matches the whole text. */
  matches(text: string): boolean | undefined {
    this.texts++
    let node = 0
    for (let at = 0; ; at++) {
      for (const glob of this.ending[node]!) {
        if (this.compared[glob] === this.texts) continue
        this.compared[glob] = this.texts
        if (this.matchesOne(this.globs[glob]!, text)) return true
        if (this.isOver()) return undefined
      }
      if (at === text.length) return this.isOver() ? undefined : false
      this.steps++
      node = this.next[node * symbols + (text.charCodeAt(at) % symbols)]!
    }
  }

  private isOver(): boolean {
    if (this.steps - this.looked < lookEvery) return false
    this.looked = this.steps
    return this.isGivenUp()
  }

  /** Completes all transitions, breadth first; a node also ends what the longest proper suffix of its path ends. */
  private linked(own: ReadonlyArray<ReadonlyArray<number>>): ReadonlyArray<ReadonlyArray<number>> {
    const { next } = this
    const ending: Array<ReadonlyArray<number>> = [...own]
    const suffix = new Int32Array(own.length)
    const queue = [0]
    for (const node of queue) {
      for (let symbol = 0; symbol < symbols; symbol++) {
        const edge = node * symbols + symbol
        const shorter = node === 0 ? 0 : next[suffix[node]! * symbols + symbol]!
        const child = next[edge]!
        if (child === 0) {
          next[edge] = shorter
          continue
        }
        suffix[child] = shorter
        if (ending[shorter]!.length > 0 && shorter !== 0) ending[child] = [...own[child]!, ...ending[shorter]!]
        queue.push(child)
      }
    }
    return ending
  }

  /** If a character does not match, the last star takes one more: an earlier star could do no better. */
  private matchesOne(glob: string, text: string): boolean {
    let at = 0
    let place = 0
    let star = -1
    let taken = 0
    while (at < text.length) {
      this.steps++
      const wanted = glob.charCodeAt(place)
      if (wanted === asterisk) {
        star = place++
        taken = at
      } else if (wanted === questionMark) {
        at += widthAt(text, at)
        place++
      } else if (wanted === text.charCodeAt(at)) {
        at++
        place++
      } else if (star >= 0) {
        taken += widthAt(text, taken)
        at = taken
        place = star + 1
      } else return false
      // A final star matches the rest.
      if (star >= 0 && star === glob.length - 1) return true
    }
    while (place < glob.length && glob.charCodeAt(place) === asterisk) place++
    return place === glob.length
  }
}
