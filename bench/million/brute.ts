import { type Data, passageAt, type Share, shares, type Task, topK } from "./data.ts"
import type { Result, Truth } from "./result.ts"
import { measure } from "./timing.ts"

/** The indexes of the best, best first. */
export const best = (scores: Float32Array, allowed: Uint8Array | undefined): ReadonlyArray<number> => {
  const kept: Array<number> = []
  let least = -Infinity
  for (let at = 0; at < scores.length; at++) {
    const score = scores[at]!
    if (score <= least || (allowed !== undefined && allowed[at] === 0)) continue
    let place = kept.length
    while (place > 0 && scores[kept[place - 1]!]! < score) place--
    kept.splice(place, 0, at)
    if (kept.length > topK) kept.pop()
    if (kept.length === topK) least = scores[kept[topK - 1]!]!
  }
  return kept
}

/** The dot product of the query with each row. */
export const dots = (rows: Float32Array, query: Float32Array, scores: Float32Array): void => {
  const width = query.length
  for (let row = 0, at = 0; row < scores.length; row++, at += width) {
    let a = 0
    let b = 0
    let c = 0
    let d = 0
    for (let i = 0; i < width; i += 4) {
      a += rows[at + i]! * query[i]!
      b += rows[at + i + 1]! * query[i + 1]!
      c += rows[at + i + 2]! * query[i + 2]!
      d += rows[at + i + 3]! * query[i + 3]!
    }
    scores[row] = a + b + (c + d)
  }
}

/** Compares every vector, in JavaScript; its results are the truth for the others. */
export const brute = async ({ queries, source, vectors }: Data, { size }: Task): Promise<Result & { truth: Truth }> => {
  const all = vectors(0, size)
  const flag = { "1 %": "one", "10 %": "ten", "50 %": "half" } as const satisfies Record<Share, string>
  const allowed = Object.fromEntries(shares.map((share) => [share, new Uint8Array(size)])) as Record<Share, Uint8Array>
  for (let at = 0; at < size; at++) {
    const { metadata } = passageAt(source, at)
    for (const share of shares) allowed[share][at] = Number(metadata[flag[share]])
  }
  const truth: Record<string, Array<ReadonlyArray<number>>> = { all: [], "1 %": [], "10 %": [], "50 %": [] }
  const scores = new Float32Array(size)
  const scan = (query: Float32Array) => {
    dots(all, query, scores)
    return best(scores, undefined)
  }
  const rows = [await measure("float32 in JavaScript", queries, undefined, ({ vector }) => scan(vector))]
  for (const { vector } of queries) {
    truth["all"]!.push(scan(vector))
    for (const share of shares) truth[share]!.push(best(scores, allowed[share]))
  }
  return {
    rows: rows.map((row) => ({ ...row, recall: 1 })),
    buildSeconds: null,
    rss: process.memoryUsage().rss,
    bytes: null,
    notes: [],
    truth
  }
}
