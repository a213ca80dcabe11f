/** A growing list of token ids, reused for many texts. */
export class TokenIds {
  ids = new Int32Array(1024)
  length = 0

  push(id: number): void {
    if (this.length === this.ids.length) {
      const larger = new Int32Array(this.length * 2)
      larger.set(this.ids)
      this.ids = larger
    }
    this.ids[this.length++] = id
  }
}
