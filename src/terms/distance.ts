/** The usual length of a word; longer ones allocate rows in each call. */
const usual = 64
const rows = [new Uint16Array(usual + 1), new Uint16Array(usual + 1), new Uint16Array(usual + 1)] as const

/**
 * Letters to insert, delete, replace, or swap with their neighbour to turn one word into the other; `limit + 1` if
 * more.
 */
export const distance = (a: string, b: string, limit: number): number => {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  const width = b.length
  let [before, last, row] =
    width > usual ? (rows.map(() => new Uint16Array(width + 1)) as [Uint16Array, Uint16Array, Uint16Array]) : rows
  for (let j = 0; j <= width; j++) last[j] = j
  for (let i = 1; i <= a.length; i++) {
    const letter = a.charCodeAt(i - 1)
    row[0] = i
    let least = i
    for (let j = 1; j <= width; j++) {
      const other = b.charCodeAt(j - 1)
      let edits = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (letter === other ? 0 : 1))
      if (i > 1 && j > 1 && letter === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === other) {
        edits = Math.min(edits, before[j - 2]! + 1)
      }
      row[j] = edits
      if (edits < least) least = edits
    }
    if (least > limit) return limit + 1
    ;[before, last, row] = [last, row, before]
  }
  return Math.min(last[width]!, limit + 1)
}
