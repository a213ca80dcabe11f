/** Characters of a literal that tell where a glob may match. */
const keyLength = 32

/** Characters are told apart by their lowest bits alone: what is mistaken is compared anyway. */
const symbols = 128

/** Steps between two looks at whether anybody waits. */
const lookEvery = 65_536

/** The longest run of characters that a glob names, or its end where that is long; empty where it names none. */
const keyOf = (glob: string): string =>
  glob
    .split(/[*?]+/)
    .reduce((longest, literal) => (literal.length > longest.length ? literal : longest), "")
    .slice(-keyLength)

const questionMark = "?".charCodeAt(0)
const asterisk = "*".charCodeAt(0)

/** How many code units the character there has. */
const widthAt = (text: string, at: number): number => (text.codePointAt(at)! > 0xffff ? 2 : 1)

/**
 * Many globs (`*`: any characters, `?`: one character) together. An automaton of Aho and Corasick over a literal of each
 * goes through a text once, and only the globs whose literals it meets are compared with the text.
 */
export class Globs {
  /** Steps done so far: characters of texts that were looked at, once for each glob that they were compared with. */
  steps = 0

  private readonly globs: ReadonlyArray<string>
  /** By node and symbol: the next node. */
  private readonly next: Int32Array
  /** By node: the globs whose literals end there, or at a suffix of what led there. */
  private readonly ending: ReadonlyArray<ReadonlyArray<number>>
  /** By glob: the last text that it was compared with. */
  private readonly compared: Int32Array
  private texts = 0
  private looked = 0

  /** `isGivenUp` is asked now and then; once it says so, `matches` gives undefined. */
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

  /** Makes every step lead on, breadth first; a node ends what the longest proper suffix of its way ends, too. */
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

  /** Where a character does not fit, the last star takes one more: an earlier one could do no better. */
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
      // What the last star takes to the end needs no look.
      if (star >= 0 && star === glob.length - 1) return true
    }
    while (place < glob.length && glob.charCodeAt(place) === asterisk) place++
    return place === glob.length
  }
}
