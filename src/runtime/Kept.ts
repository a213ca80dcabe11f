/** Values by their keys, of so much size together; those that were added or used longest ago give way. */
export class Kept<K, V> {
  private readonly kept = new Map<K, V>()
  /** The size of all. */
  size = 0

  constructor(
    private readonly most: number,
    private readonly sizeOf: (value: V, key: K) => number = () => 1
  ) {}

  get(key: K): V | undefined {
    return this.kept.get(key)
  }

  /** The same, which counts as used now. */
  use(key: K): V | undefined {
    const known = this.kept.get(key)
    if (known !== undefined) {
      this.kept.delete(key)
      this.kept.set(key, known)
    }
    return known
  }

  add(key: K, value: V): void {
    this.drop(key)
    this.kept.set(key, value)
    this.size += this.sizeOf(value, key)
    for (const oldest of this.kept.keys()) {
      if (this.size <= this.most) break
      this.drop(oldest)
    }
  }

  private drop(key: K): void {
    const known = this.kept.get(key)
    if (known === undefined) return
    this.kept.delete(key)
    this.size -= this.sizeOf(known, key)
  }
}
