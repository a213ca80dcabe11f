/** The usual length of a word; longer ones allocate rows in each call. */
const usual = 64
const rows = [new Uint16Array(usual + 1), new Uint16Array(usual + 1), new Uint16Array(usual + 1)] as const

/** Letters to insert, delete, replace, or swap to turn one word into the other; `limit + 1` if more. */
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

/** Treats `chunk-size`, `chunkSize` and `chunk_size` as equal. */
const plain = (word: string): string => word.toLowerCase().replace(/[-_.\s]/g, "")

/** Edits from one word to another; a candidate that starts with the word, or contains it, is one edit away. */
const edits = (word: string, candidate: string, limit: number): number => {
  const isPart = (word.length >= 3 && candidate.startsWith(word)) || (word.length >= 4 && candidate.includes(word))
  return isPart ? Math.min(1, distance(word, candidate, limit)) : distance(word, candidate, limit)
}

/** Longer names are not compared: the cost grows with the square of the length. */
const longest = 100

/** At most three candidates that a mistyped name may mean, a third of its letters wrong; none if nothing is similar. */
export const nearest = (word: string, candidates: ReadonlyArray<string>): ReadonlyArray<string> => {
  const wanted = plain(word)
  if (wanted.length > longest) return []
  let best = Infinity
  let found: Array<string> = []
  for (const candidate of candidates) {
    if (candidate.length > longest) continue
    const name = plain(candidate)
    const allowed = Math.max(1, Math.ceil(Math.min(wanted.length, name.length) / 3))
    const away = edits(wanted, name, allowed)
    if (away > allowed || away > best) continue
    if (away < best) found = []
    best = away
    found.push(candidate)
  }
  return found.slice(0, 3)
}

/** ` (did you mean X?)`, or an empty text. */
export const didYouMean = (word: string, candidates: ReadonlyArray<string>, shown = (name: string) => name): string => {
  const [found] = nearest(word, candidates)
  return found === undefined ? "" : ` (did you mean ${shown(found)}?)`
}
