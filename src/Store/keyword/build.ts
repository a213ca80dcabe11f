import { terms } from "../../text/terms.ts"
import { type Block, BlockWriter } from "./block.ts"
import { ByteWriter } from "./bytes.ts"
import type { Head } from "./head.ts"
import { writePosting } from "./postings.ts"
import { Runs } from "./runs.ts"

/** A passage as its terms are made from it. */
export interface KeywordRow {
  readonly id: number
  readonly title: string
  readonly heading: string
  readonly text: string
}

const fields = ["title", "heading", "text"] as const

const surrogate = /[\ud800-\udfff]/

/** As SQLite keeps it: half of a character that was cut in two becomes U+FFFD. */
export const wellFormed = (term: string): string => (surrogate.test(term) ? Buffer.from(term).toString() : term)

/** Characters from U+E000 on stand behind surrogates in UTF-8 and before them in JavaScript's order. */
const ambiguous = /[\ud800-\uffff]/

const sorted = (terms: ReadonlyArray<string>): ReadonlyArray<string> =>
  terms.some((term) => ambiguous.test(term))
    ? terms.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    : terms.toSorted()

/** Each term's number, in order of first occurrence. */
class Numbering {
  readonly terms: Array<string> = []
  private readonly numbers = new Map<string, number>()

  of(term: string): number {
    const known = this.numbers.get(term)
    if (known !== undefined) return known
    const well = wellFormed(term)
    if (well !== term) {
      const number = this.of(well)
      this.numbers.set(term, number)
      return number
    }
    this.numbers.set(term, this.terms.length)
    return this.terms.push(term) - 1
  }
}

/** Makes a segment of passages, in order of their ids. */
export const buildSegment = (rows: ReadonlyArray<KeywordRow>): Head & { readonly blocks: ReadonlyArray<Block> } => {
  const numbering = new Numbering()
  const lengths = new Uint32Array(rows.length)
  // A posting is a place in these: its term, its passage, and three frequencies.
  const postingTerm: Array<number> = []
  const postingOrdinal: Array<number> = []
  const frequencies: Array<number> = []
  /** Each term's latest posting. */
  const latest: Array<number> = []

  // A document's passages share their title and mostly their heading.
  const known = fields.map(() => ({ text: "", terms: [] as ReadonlyArray<string> }))
  for (const [ordinal, row] of rows.entries()) {
    for (let field = 0; field < fields.length; field++) {
      const text = row[fields[field]!]
      if (text === "") continue
      const memory = known[field]!
      if (memory.text !== text) {
        memory.text = text
        memory.terms = terms(text)
      }
      lengths[ordinal] = (lengths[ordinal] as number) + memory.terms.length
      for (const term of memory.terms) {
        const number = numbering.of(term)
        let posting = latest[number]
        if (posting === undefined || postingOrdinal[posting] !== ordinal) {
          posting = postingTerm.length
          postingTerm.push(number)
          postingOrdinal.push(ordinal)
          frequencies.push(0, 0, 0)
          latest[number] = posting
        }
        const at = 3 * posting + field
        frequencies[at] = (frequencies[at] as number) + 1
      }
    }
  }

  // Sorted by counting: each term's postings side by side, still in order of their passages.
  const counts = new Uint32Array(numbering.terms.length + 1)
  for (const term of postingTerm) counts[term + 1] = (counts[term + 1] as number) + 1
  for (let term = 0; term < numbering.terms.length; term++) {
    counts[term + 1] = (counts[term + 1] as number) + (counts[term] as number)
  }
  const places = counts.slice(0, -1)
  const byTerm = new Uint32Array(postingTerm.length)
  for (let posting = 0; posting < postingTerm.length; posting++) {
    const term = postingTerm[posting] as number
    const place = places[term] as number
    byTerm[place] = posting
    places[term] = place + 1
  }

  const writer = new BlockWriter()
  const out = new ByteWriter()
  const bytes = Buffer.alloc(1024)
  for (const term of sorted(numbering.terms)) {
    const number = numbering.of(term)
    const [start, end] = [counts[number] as number, counts[number + 1] as number]
    let previous = -1
    for (let place = start; place < end; place++) {
      const posting = byTerm[place] as number
      const ordinal = postingOrdinal[posting] as number
      const at = 3 * posting
      writePosting(
        out,
        previous,
        ordinal,
        frequencies[at] as number,
        frequencies[at + 1] as number,
        frequencies[at + 2] as number
      )
      previous = ordinal
    }
    writer.add(bytes, bytes.write(term), end - start, previous, out)
    out.length = 0
  }
  writer.close()
  return {
    ids: Runs.of(rows.map((row) => row.id)),
    lengths,
    firsts: writer.blocks.map((block) => block.first),
    blocks: writer.blocks
  }
}
