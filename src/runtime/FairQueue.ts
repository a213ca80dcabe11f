/** What waits, by who waits for it: each owner in turn, and what one owner waits for in its order. */
export class FairQueue<A> {
  private readonly waiting = new Map<string, Set<A>>()
  private count = 0

  get size(): number {
    return this.count
  }

  push(owner: string, item: A): void {
    const own = this.waiting.get(owner)
    if (own === undefined) this.waiting.set(owner, new Set([item]))
    else own.add(item)
    this.count++
  }

  /** Takes an item out; does nothing if it no longer waits. */
  delete(owner: string, item: A): void {
    const own = this.waiting.get(owner)
    if (own?.delete(item) !== true) return
    this.count--
    if (own.size === 0) this.waiting.delete(owner)
  }

  /** The next owner's first; undefined if nothing waits. */
  shift(): A | undefined {
    for (const [owner, own] of this.waiting) {
      for (const item of own) {
        this.delete(owner, item)
        // The owner's next turn comes after those of all others.
        if (own.size > 0) {
          this.waiting.delete(owner)
          this.waiting.set(owner, own)
        }
        return item
      }
    }
    return undefined
  }
}
