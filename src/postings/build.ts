import type { Language } from "../text/terms/languages.ts"
import { scan } from "../text/terms/scan.ts"
import { terms } from "../text/terms.ts"
import { type Block, BlockWriter } from "./block.ts"
import { ByteWriter } from "./bytes.ts"
import type { Head } from "./head.ts"
import { writePosting } from "./posting.ts"
import { Runs } from "./runs.ts"

/** A passage in the form from which its terms are made. */
export interface KeywordRow {
  readonly id: number
  readonly title: string
  readonly heading: string
  readonly text: string
  /** Its document's language; default English. It must be loaded. */
  readonly language?: Language | undefined
}

/** Title, heading, text. */
const fields = 3

const surrogate = /[\ud800-\udfff]/

/** Unpaired surrogates become U+FFFD, as in SQLite. */
export const wellFormed = (term: string): string => (surrogate.test(term) ? Buffer.from(term).toString() : term)

/** Characters from U+E000 on sort after surrogates in UTF-8 and before them in JavaScript. */
const ambiguous = /[\ud800-\uffff]/

const sorted = (terms: ReadonlyArray<string>): ReadonlyArray<string> =>
  terms.some((term) => ambiguous.test(term))
    ? terms.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    : terms.toSorted()

/** Postings in the order they are added: the term's number, the passage's ordinal, and three frequencies. */
class Postings {
  count = 0
  terms: Uint32Array
  ordinals: Uint32Array
  frequencies: Uint32Array

  constructor(capacity: number) {
    this.terms = new Uint32Array(capacity)
    this.ordinals = new Uint32Array(capacity)
    this.frequencies = new Uint32Array(fields * capacity)
  }

  private grow(): void {
    const larger = new Postings(2 * this.terms.length)
    for (const part of ["terms", "ordinals", "frequencies"] as const) {
      larger[part].set(this[part])
      this[part] = larger[part]
    }
  }

  add(term: number, ordinal: number): number {
    if (this.count === this.terms.length) this.grow()
    this.terms[this.count] = term
    this.ordinals[this.count] = ordinal
    return this.count++
  }
}

/**
 * Terms by number, in order of first occurrence, each with its latest posting. A custom hash table: a Map takes half as
 * long as the scanner itself.
 */
class Numbering {
  readonly terms: Array<string> = []
  readonly latest: Array<number> = []
  private slots = new Int32Array(1 << 14).fill(-1)

  private slotOf(term: string): number {
    const mask = this.slots.length - 1
    let hash = 0
    for (let i = 0; i < term.length; i++) hash = Math.imul(hash ^ term.charCodeAt(i), 0x9e3779b1)
    let slot = (hash ^ (hash >>> 15)) & mask
    for (;;) {
      const number = this.slots[slot] as number
      if (number < 0 || this.terms[number] === term) return slot
      slot = (slot + 1) & mask
    }
  }

  private grow(): void {
    this.slots = new Int32Array(2 * this.slots.length).fill(-1)
    for (const [number, term] of this.terms.entries()) this.slots[this.slotOf(term)] = number
  }

  of(term: string): number {
    const slot = this.slotOf(term)
    const known = this.slots[slot] as number
    if (known >= 0) return known
    const well = wellFormed(term)
    if (well !== term) return this.of(well)
    const number = this.terms.push(term) - 1
    this.latest.push(-1)
    this.slots[slot] = number
    if (2 * this.terms.length > this.slots.length) this.grow()
    return number
  }
}

/** Makes a segment of passages, given in order of their ids. */
export const buildSegment = (rows: ReadonlyArray<KeywordRow>): Head & { readonly blocks: ReadonlyArray<Block> } => {
  const numbering = new Numbering()
  const { latest } = numbering
  const lengths = new Uint32Array(rows.length)
  const postings = new Postings(64 * rows.length)
  let ordinal = 0
  let field = 0
  let length = 0
  const count = (term: string): void => {
    length++
    const number = numbering.of(term)
    let posting = latest[number] as number
    if (posting < 0 || postings.ordinals[posting] !== ordinal) {
      posting = postings.add(number, ordinal)
      latest[number] = posting
    }
    const at = fields * posting + field
    postings.frequencies[at] = (postings.frequencies[at] as number) + 1
  }
  // A document's passages share their title and usually their heading.
  let title = ""
  let titleLanguage: Language | undefined
  let titleTerms: ReadonlyArray<string> = []
  for (const row of rows) {
    const { language } = row
    if (row.title !== title || language !== titleLanguage) {
      title = row.title
      titleLanguage = language
      titleTerms = terms(title, language)
    }
    length = 0
    field = 0
    for (const term of titleTerms) count(term)
    field = 1
    if (row.heading !== "") scan(row.heading, count, language)
    field = 2
    scan(row.text, count, language)
    lengths[ordinal++] = length
  }

  // A counting sort: each term's postings side by side, still in order of their passages.
  const ends = new Uint32Array(numbering.terms.length + 1)
  for (let posting = 0; posting < postings.count; posting++) {
    const next = (postings.terms[posting] as number) + 1
    ends[next] = (ends[next] as number) + 1
  }
  for (let term = 0; term < numbering.terms.length; term++) {
    ends[term + 1] = (ends[term + 1] as number) + (ends[term] as number)
  }
  const places = ends.slice(0, -1)
  const byTerm = new Uint32Array(postings.count)
  for (let posting = 0; posting < postings.count; posting++) {
    const term = postings.terms[posting] as number
    const place = places[term] as number
    byTerm[place] = posting
    places[term] = place + 1
  }

  const writer = new BlockWriter()
  const out = new ByteWriter()
  const bytes = Buffer.alloc(1024)
  for (const term of sorted(numbering.terms)) {
    const number = numbering.of(term)
    const [start, end] = [ends[number] as number, ends[number + 1] as number]
    let previous = -1
    for (let place = start; place < end; place++) {
      const posting = byTerm[place] as number
      const ordinal = postings.ordinals[posting] as number
      const at = fields * posting
      writePosting(
        out,
        previous,
        ordinal,
        postings.frequencies[at] as number,
        postings.frequencies[at + 1] as number,
        postings.frequencies[at + 2] as number
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
