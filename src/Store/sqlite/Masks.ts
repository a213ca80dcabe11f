import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { type Condition, type Filter, filtersUnder, isEmptyFilter } from "../../model/Filter.ts"
import { allDocuments, clausesOf, documentsOf, manyGlobs, type Where } from "./filter.ts"
import { matching } from "./globbing.ts"
import type { Mask } from "../../model/Mask.ts"
import { forEachNumber } from "./numbers.ts"
import { PassageRanges, idsOf, rangesOf } from "./PassageRanges.ts"

/** Bytes of masks that a connection keeps. */
const mostBytes = 32 * 1024 * 1024

/**
 * A connection's masks of filters, each computed once per state of the collection; the last used are kept. They are
 * made from documents' ids, read from indices as one text, since transferring rows costs more than finding them.
 */
export class Masks {
  private readonly documents = new Map<number, PassageRanges>()
  private readonly kept = new Map<string, Mask>()
  private bytes = 0

  /** Up to this many matching documents are looked up one by one. */
  constructor(private readonly few = 10_000) {}

  /** Bytes in use. */
  get size(): number {
    return this.bytes
  }

  /** Undefined: all passages. Call it in the snapshot that is searched. */
  readonly of = Effect.fnUntraced(function* (
    this: Masks,
    sql: SqlClient.SqlClient,
    collection: number,
    filter: Filter
  ) {
    if (isEmptyFilter(filter)) return undefined
    const [state] = yield* sql.unsafe<{ readonly changes: number; readonly documents: number }>(
      "SELECT changes, documents FROM collections WHERE id = ?",
      [collection]
    )
    const key = JSON.stringify([collection, state!.changes, inOrder(filter)])
    const known = this.kept.get(key)
    if (known !== undefined) {
      this.kept.delete(key)
      this.kept.set(key, known)
      return known
    }
    const documents = yield* documentsMatching(sql, collection, filter)
    // Looking up a few documents costs less than reading the ranges of all.
    const mask =
      documents.length <= this.few
        ? yield* rangesOf(sql, collection, documents)
        : (yield* this.documentsOf(sql, collection, state!.documents)).passagesOf(documents)
    this.keep(key, mask)
    return mask
  })

  private readonly documentsOf = Effect.fnUntraced(function* (
    this: Masks,
    sql: SqlClient.SqlClient,
    collection: number,
    count: number
  ) {
    const known = this.documents.get(collection)
    const documents = known === undefined || known.isStale(count) ? new PassageRanges() : known
    yield* documents.update(sql, collection)
    this.documents.set(collection, documents)
    return documents
  })

  private keep(key: string, mask: Mask): void {
    this.kept.set(key, mask)
    this.bytes += bytesOf(key, mask)
    for (const [oldest, other] of this.kept) {
      if (this.bytes <= mostBytes) break
      this.kept.delete(oldest)
      this.bytes -= bytesOf(oldest, other)
    }
  }
}

/** A key can be a thousand times longer than its mask. */
const bytesOf = (key: string, { bits }: Mask): number => 2 * key.length + bits.byteLength

/** Makes filters equal that differ only in the order of their keys. */
const inOrder = (filter: Filter): unknown =>
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

const either = (a: Found, b: Found): Found => inverse(both(inverse(a), inverse(b)))

/** Ids of the documents that match a filter, rising; some may belong to other collections. */
const documentsMatching = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, collection: number, filter: Filter) {
  const [last] = yield* sql.unsafe<{ readonly seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'documents'")
  const none = () => new Uint32Array(((last?.seq ?? 0) >>> 5) + 1)

  const bitsOf = (ids: ReadonlyArray<number>) => {
    const bits = none()
    for (const id of ids) bits[id >>> 5]! |= 1 << (id & 31)
    return bits
  }

  const select = Effect.fnUntraced(function* (wheres: ReadonlyArray<Where>) {
    const found = none()
    for (const { params, sql: select } of wheres) {
      const [row] = yield* sql.unsafe<{ readonly ids: Uint8Array | null }>(
        `WITH found (id) AS (${select}) SELECT CAST(group_concat(id) AS BLOB) AS ids FROM found`,
        params
      )
      if (row!.ids !== null) forEachNumber(row!.ids, (id) => (found[id >>> 5]! |= 1 << (id & 31)))
    }
    return found
  })

  const everything: Found = { bits: none(), without: true }

  const meet = (filter: Filter): Effect.Effect<Found, SqlError> =>
    Effect.gen(function* () {
      let found = everything
      for (const [key, condition] of Object.entries(filter)) {
        const filters = filtersUnder(key, condition)
        if (filters !== undefined) {
          let inner = yield* meet(filters[0]!)
          for (const filter of filters.slice(1)) inner = (key === "or" ? either : both)(inner, yield* meet(filter))
          found = both(found, inner)
          continue
        }
        for (const clause of clausesOf(condition as Condition)) {
          const globs = key === "source" && !clause.present ? manyGlobs(clause.comparison) : undefined
          const bits =
            globs === undefined
              ? yield* select(documentsOf(collection, key, clause))
              : bitsOf(yield* matching(sql, collection, globs))
          found = both(found, { bits, without: clause.negated })
        }
      }
      return found
    })

  const { bits, without } = yield* meet(filter)
  return idsOf(without ? each(yield* select([allDocuments(collection)]), bits, (all, out) => all & ~out) : bits)
})
