import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { type Condition, type Filter, isEmptyFilter } from "../../model/Filter.ts"
import { documentsOf, type Mask } from "./filter.ts"
import { forEachNumber } from "./numbers.ts"
import { Documents, idsOf, rangesOf } from "./passageRanges.ts"

/** Bytes of the masks that a connection keeps. */
const mostBytes = 32 * 1024 * 1024

/**
 * A connection's masks of filters, each computed once for a state of the collection; those last used are kept. What they
 * are made of is documents' ids, taken from indices as one text, since rows cost more to carry over than to find.
 */
export class Masks {
  private readonly documents = new Map<number, Documents>()
  private readonly kept = new Map<string, Mask>()
  private bytes = 0

  /** Up to so many matching documents are looked up one by one. */
  constructor(private readonly few = 10_000) {}

  /** Undefined: all passages. To be asked for in the snapshot that is searched. */
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
    const conditions = Object.entries(filter).sort(([a], [b]) => (a < b ? -1 : 1))
    const key = JSON.stringify([collection, state!.changes, conditions])
    const known = this.kept.get(key)
    if (known !== undefined) {
      this.kept.delete(key)
      this.kept.set(key, known)
      return known
    }
    const matching = yield* documentsMatching(sql, collection, conditions)
    // To look up a few documents costs less than to learn about all.
    const mask =
      matching.length <= this.few
        ? yield* rangesOf(sql, collection, matching)
        : (yield* this.documentsOf(sql, collection, state!.documents)).passagesOf(matching)
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
    const documents = known === undefined || known.isStale(count) ? new Documents() : known
    yield* documents.update(sql, collection)
    this.documents.set(collection, documents)
    return documents
  })

  private keep(key: string, mask: Mask): void {
    this.kept.set(key, mask)
    this.bytes += mask.bits.byteLength
    for (const [oldest, { bits }] of this.kept) {
      if (this.bytes <= mostBytes || oldest === key) break
      this.kept.delete(oldest)
      this.bytes -= bits.byteLength
    }
  }
}

/** Ids, rising, of the documents that meet every condition; some may be of other collections. */
const documentsMatching = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  conditions: ReadonlyArray<readonly [string, Condition]>
) {
  const [last] = yield* sql.unsafe<{ readonly seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'documents'")
  let matching: Uint32Array | undefined
  for (const [key, condition] of conditions) {
    const found = new Uint32Array(((last?.seq ?? 0) >>> 5) + 1)
    for (const { params, sql: select } of documentsOf(collection, key, condition)) {
      const [row] = yield* sql.unsafe<{ readonly ids: Uint8Array | null }>(
        `WITH found (id) AS (${select}) SELECT CAST(group_concat(id) AS BLOB) AS ids FROM found`,
        params
      )
      if (row!.ids !== null) forEachNumber(row!.ids, (id) => (found[id >>> 5]! |= 1 << (id & 31)))
    }
    if (matching === undefined) matching = found
    else for (let word = 0; word < found.length; word++) matching[word]! &= found[word]!
  }
  return idsOf(matching!)
})
