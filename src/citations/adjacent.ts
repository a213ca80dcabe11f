import type { Hit } from "../model/SearchResult.ts"

/** Consecutive passages of one document as one text, word for word. */
export interface Stretch {
  /** Their ranks, from 0, best first. */
  readonly ranks: ReadonlyArray<number>
  /** Joined into one passage, from the first one's start to the last one's end. */
  readonly hit: Hit
}

/** The text between two passages, if their spans determine it: nothing, a blank, or line ends. */
const between = (before: Hit["passage"], after: Hit["passage"]): string | undefined => {
  const gap = after.start - before.end
  const lines = after.startLine - before.endLine
  if (gap === lines && gap >= 0 && gap <= 3) return "\n".repeat(gap)
  return gap === 1 && lines === 0 ? " " : undefined
}

/** Joins two passages; undefined if the text between them is unknown, or they have different headings or pages. */
const joined = (before: Hit, after: Hit): Hit | undefined => {
  const [a, b] = [before.passage, after.passage]
  if (a.locator !== undefined || b.locator !== undefined || a.heading.join("\n") !== b.heading.join("\n")) return
  if (b.tableHeader !== undefined && b.tableHeader !== a.tableHeader && !a.text.includes("|")) return
  if (b.end <= a.end) return
  const text =
    b.start < a.end
      ? a.text.slice(b.start - a.start) === b.text.slice(0, a.end - b.start) && a.text + b.text.slice(a.end - b.start)
      : between(a, b) !== undefined && a.text + between(a, b) + b.text
  return text === false ? undefined : { ...before, passage: { ...a, text, end: b.end, endLine: b.endLine } }
}

/** The hits, with consecutive passages of a document joined, each at its best rank. */
export const stretchesOf = (hits: ReadonlyArray<Hit>): ReadonlyArray<Stretch> => {
  const byDocument = new Map<string, Array<Stretch>>()
  for (const [rank, hit] of hits.entries()) {
    const key = `${hit.collection}\n${hit.document.docId}`
    const own = byDocument.get(key) ?? []
    own.push({ ranks: [rank], hit })
    byDocument.set(key, own)
  }
  const found: Array<Stretch> = []
  for (const own of byDocument.values()) {
    let open: Stretch | undefined
    for (const next of own.toSorted((a, b) => a.hit.passage.start - b.hit.passage.start)) {
      const both = open === undefined ? undefined : joined(open.hit, next.hit)
      if (open !== undefined && both === undefined) found.push(open)
      open = open === undefined || both === undefined ? next : { ranks: [...open.ranks, ...next.ranks], hit: both }
    }
    if (open !== undefined) found.push(open)
  }
  return found
    .map(({ hit, ranks }) => ({ hit, ranks: ranks.toSorted((a, b) => a - b) }))
    .toSorted((a, b) => a.ranks[0]! - b.ranks[0]!)
}
