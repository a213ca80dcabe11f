import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { type Filter, filtersUnder, isEmptyFilter } from "../../model/Filter.ts"
import { bitsSet, countBefore } from "../../model/numbers.ts"
import type { Mask } from "../../model/Passage.ts"
import { Kept } from "../../runtime/Kept.ts"
import { type Where, allDocuments, documentsOf, forEachId, manyGlobs, matching } from "./filter.ts"
import { compiled } from "../core/clauses.ts"
import { dialectOf } from "./dialect.ts"
import { type Sql, forEachNumber } from "./rows.ts"

const mostBytes = 32 * 1024 * 1024

/** A key can be a thousand times longer than its mask. */
const bytesOf = ({ bits }: Mask, key: string): number => 2 * key.length + bits.byteLength

/**
 * A connection's masks of filters, each computed once per state of the collection; the last used are kept. They are
 * made from documents' ids, read from indices as one text, since transferring rows costs more than finding them.
 */
export class Masks {
  private readonly documents = new Map<number, PassageRanges>()
  readonly kept = new Kept<string, Mask>(mostBytes, bytesOf)

  /** Up to this many matching documents are looked up one by one. */
  constructor(private readonly few = 10_000) {}

  /** Undefined: all passages. Call it in the snapshot that is searched. */
  readonly of = Effect.fnUntraced(function* (this: Masks, sql: Sql, collection: number, filter: Filter) {
    if (isEmptyFilter(filter)) return undefined
    const [state] = yield* sql.unsafe<{ readonly changes: number; readonly documents: number }>(
      "SELECT changes, documents FROM collections WHERE id = ?",
      [collection]
    )
    const key = JSON.stringify([collection, state!.changes, inOrder(filter)])
    const known = this.kept.use(key)
    if (known !== undefined) return known
    const documents = yield* documentsMatching(sql, collection, filter)
    // Looking up a few documents costs less than reading the ranges of all.
    const mask =
      documents.length <= this.few
        ? yield* rangesOf(sql, collection, documents)
        : (yield* this.documentsOf(sql, collection, state!.documents)).passagesOf(documents)
    this.kept.add(key, mask)
    return mask
  })

  /** Which passages the documents of a collection have, those that have come since the last time among them. */
  readonly documentsOf = Effect.fnUntraced(function* (this: Masks, sql: Sql, collection: number, count: number) {
    const known = this.documents.get(collection)
    const documents = known === undefined || known.isStale(count) ? new PassageRanges() : known
    yield* documents.update(sql, collection)
    this.documents.set(collection, documents)
    return documents
  })
}

/** Makes filters equal that differ only in the order of their keys. */
export const inOrder = (filter: Filter): unknown =>
  Object.entries(filter)
    .map(([key, condition]) => [key, filtersUnder(key, condition)?.map(inOrder) ?? condition] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))

/** A set of document ids: those in `bits`, or with `without` all of the collection but those. */
interface Found {
  readonly bits: Uint32Array
  readonly without: boolean
}

const each = (a: Uint32Array, b: Uint32Array, f: (a: number, b: number) => number): Uint32Array =>
  a.map((word, index) => f(word, b[index]!))

const both = (a: Found, b: Found): Found =>
  a.without && b.without
    ? { without: true, bits: each(a.bits, b.bits, (a, b) => a | b) }
    : a.without
      ? { without: false, bits: each(a.bits, b.bits, (a, b) => ~a & b) }
      : { without: false, bits: each(a.bits, b.bits, b.without ? (a, b) => a & ~b : (a, b) => a & b) }

const inverse = ({ bits, without }: Found): Found => ({ bits, without: !without })

/** Ids of the documents that match a filter, rising; some may belong to other collections. */
const documentsMatching = Effect.fnUntraced(function* (sql: Sql, collection: number, filter: Filter) {
  const next = yield* dialectOf(sql).nextIds(sql, "documents", 0)
  const none = () => new Uint32Array((next >>> 5) + 1)

  const bitsOf = (ids: ReadonlyArray<number>) => {
    const bits = none()
    for (const id of ids) bits[id >>> 5]! |= 1 << (id & 31)
    return bits
  }

  const select = Effect.fnUntraced(function* (wheres: ReadonlyArray<Where>) {
    const found = none()
    for (const where of wheres) yield* forEachId(sql, where, (id) => (found[id >>> 5]! |= 1 << (id & 31)))
    return found
  })

  type Finding = Effect.Effect<Found, SqlError>
  const not = (finding: Finding): Finding => Effect.map(finding, inverse)
  const all = (findings: ReadonlyArray<Finding>): Finding =>
    Effect.reduce(findings, { bits: none(), without: true }, (found: Found, finding) =>
      Effect.map(finding, (one) => both(found, one))
    )
  const { bits, without } = yield* compiled<Finding>(filter, {
    all,
    any: (findings) => not(all(findings.map(not))),
    not,
    clause: (key, clause) => {
      const globs = key === "source" ? manyGlobs(clause.comparison) : undefined
      const found =
        globs === undefined
          ? select(documentsOf(dialectOf(sql), collection, key, clause))
          : Effect.map(matching(sql, collection, globs), bitsOf)
      return Effect.map(found, (bits) => ({ bits, without: false }))
    }
  })
  return idsOf(without ? each(yield* select([allDocuments(collection)]), bits, (all, out) => all & ~out) : bits)
})

const batch = 65_536

/**
 * Which passages a collection's documents have, by document id. It only grows: ids rise, a document's passages never
 * change, and nobody asks for deleted ones.
 */
export class PassageRanges {
  readonly ids: Array<number> = []
  readonly firsts: Array<number> = []
  readonly counts: Array<number> = []

  /** Where a document's id is among `ids`, which rise; -1 if it is not. */
  rowOf(document: number): number {
    const { ids } = this
    const row = countBefore(ids.length, (at) => ids[at]! < document)
    return ids[row] === document ? row : -1
  }

  /** Whether more documents are deleted from the collection than are left in it. */
  isStale(documents: number): boolean {
    return this.ids.length > 2 * documents + batch
  }

  readonly update = Effect.fnUntraced(function* (this: PassageRanges, sql: Sql, collection: number) {
    const digits = (column: string) => dialectOf(sql).digits(column, "first_passage")
    for (;;) {
      const before = this.ids.length
      const through = before === 0 ? 0 : this.firsts[before - 1]!
      const [row] = yield* sql.unsafe<Record<"ids" | "firsts" | "counts", Uint8Array | null>>(
        `SELECT ${digits("id")} AS ids, ${digits("first_passage")} AS firsts, ${digits("passages")} AS counts
         FROM (SELECT id, first_passage, passages FROM documents INDEXED BY documents_passages
               WHERE collection_id = ? AND first_passage > ? ORDER BY first_passage LIMIT ?) AS d`,
        [collection, through, batch]
      )
      forEachNumber(row!.ids, (id) => this.ids.push(id))
      forEachNumber(row!.firsts, (first) => this.firsts.push(first))
      forEachNumber(row!.counts, (count) => this.counts.push(count))
      if (this.ids.length - before < batch) return
    }
  })

  /** The passages of some documents, given by rising ids. */
  passagesOf(documents: Uint32Array): Mask {
    const { ids } = this
    const firsts = new Float64Array(documents.length)
    const counts = new Float64Array(documents.length)
    let found = 0
    let row = 0
    for (const id of documents) {
      while (row < ids.length && ids[row]! < id) row++
      if (row === ids.length || ids[row] !== id) continue
      firsts[found] = this.firsts[row]!
      counts[found++] = this.counts[row]!
    }
    return maskOf(firsts.subarray(0, found), counts.subarray(0, found))
  }
}

/** The passages from each of `firsts`, which rise; `counts` says how many. */
const maskOf = (firsts: ArrayLike<number>, counts: ArrayLike<number>): Mask => {
  const last = firsts.length - 1
  const bits = new Uint32Array(last < 0 ? 0 : ((firsts[last]! + counts[last]!) >>> 5) + 1)
  let sum = 0
  for (let row = 0; row <= last; row++) {
    const end = firsts[row]! + counts[row]!
    sum += counts[row]!
    for (let passage = firsts[row]!; passage < end; passage++) bits[passage >>> 5]! |= 1 << (passage & 31)
  }
  return { bits, count: sum }
}

/** The passages of a few documents of the collection, given by their ids. */
const rangesOf = (sql: Sql, collection: number, documents: Uint32Array): Effect.Effect<Mask, SqlError> =>
  Effect.map(
    sql.unsafe<{ readonly first: number; readonly count: number }>(
      `SELECT d.first_passage AS first, d.passages AS count
       FROM json_each(?) AS asked CROSS JOIN documents AS d ON d.id = asked.value
       WHERE d.collection_id = ? AND d.first_passage IS NOT NULL ORDER BY d.first_passage`,
      [`[${documents.join(",")}]`, collection]
    ),
    (rows) =>
      maskOf(
        rows.map(({ first }) => first),
        rows.map(({ count }) => count)
      )
  )

/** The indices of the set bits, rising. */
export const idsOf = (bits: Uint32Array): Uint32Array => {
  const ids = new Uint32Array(bitsSet(bits))
  let at = 0
  for (let word = 0; word < bits.length; word++) {
    for (let left = bits[word]!; left !== 0; left &= left - 1) ids[at++] = word * 32 + 31 - Math.clz32(left & -left)
  }
  return ids
}
