/** The product of two vectors, summed in order. */
export const dot = (a: Float32Array, b: Float32Array): number => {
  let sum = 0
  for (let d = 0; d < a.length; d++) sum += a[d]! * b[d]!
  return sum
}

/** How many bits are set. */
export const bitsSet = (bits: Uint32Array | Uint8Array): number => {
  let count = 0
  for (let at = 0; at < bits.length; at++) for (let left = bits[at]!; left !== 0; left &= left - 1) count++
  return count
}

/** How many of so many things, in order, are before a border, by a search in halves. */
export const countBefore = (count: number, isBefore: (at: number) => boolean): number => {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  return low
}
