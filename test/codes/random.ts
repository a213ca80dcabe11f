/** Numbers from the normal distribution, the same for the same seed (mulberry32, Box–Muller). */
export const normal = (seed: number) => {
  const uniform = () => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())
}

/** Directions spread evenly. */
export const randomVectors = (count: number, width: number, seed: number): ReadonlyArray<Float32Array> => {
  const next = normal(seed)
  return Array.from({ length: count }, () => Float32Array.from({ length: width }, next))
}

export const cosine = (a: Float32Array, b: Float32Array): number => {
  let [dot, x, y] = [0, 0, 0]
  for (let d = 0; d < a.length; d++) {
    dot += a[d]! * b[d]!
    x += a[d]! ** 2
    y += b[d]! ** 2
  }
  return dot / Math.sqrt(x * y)
}
