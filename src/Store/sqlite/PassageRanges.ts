import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { Mask } from "../../model/Mask.ts"
import { forEachNumber } from "./numbers.ts"

/** Ranges read per statement. */
const batch = 65_536

/** An array of numbers that grows at its end. */
class Growing {
  values = new Float64Array(1024)
  length = 0

  push(value: number): void {
    if (this.length === this.values.length) {
      const more = new Float64Array(this.length * 2)
      more.set(this.values)
      this.values = more
    }
    this.values[this.length++] = value
  }
}

/**
 * Which passages a collection's documents have, by document id. It only grows: ids rise, a document's passages never
 * change, and nobody asks for deleted ones.
 */
export class PassageRanges {
  private readonly ids = new Growing()
  private readonly firsts = new Growing()
  private readonly counts = new Growing()

  /** Whether more documents are deleted from the collection than are left in it. */
  isStale(documents: number): boolean {
    return this.ids.length > 2 * documents + batch
  }

  /** Adds the documents that were stored since. */
  readonly update = Effect.fnUntraced(function* (this: PassageRanges, sql: SqlClient.SqlClient, collection: number) {
    for (;;) {
      const before = this.ids.length
      const through = before === 0 ? 0 : this.firsts.values[before - 1]!
      const [row] = yield* sql.unsafe<Record<"ids" | "firsts" | "counts", Uint8Array | null>>(
        `SELECT CAST(group_concat(id) AS BLOB) AS ids, CAST(group_concat(first_passage) AS BLOB) AS firsts,
                CAST(group_concat(passages) AS BLOB) AS counts
         FROM (SELECT id, first_passage, passages FROM documents INDEXED BY documents_passages
               WHERE collection_id = ? AND first_passage > ? ORDER BY first_passage LIMIT ?)`,
        [collection, through, batch]
      )
      const empty = new Uint8Array()
      forEachNumber(row!.ids ?? empty, (id) => this.ids.push(id))
      forEachNumber(row!.firsts ?? empty, (first) => this.firsts.push(first))
      forEachNumber(row!.counts ?? empty, (count) => this.counts.push(count))
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
      while (row < ids.length && ids.values[row]! < id) row++
      if (row === ids.length || ids.values[row] !== id) continue
      firsts[found] = this.firsts.values[row]!
      counts[found++] = this.counts.values[row]!
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
export const rangesOf = (
  sql: SqlClient.SqlClient,
  collection: number,
  documents: Uint32Array
): Effect.Effect<Mask, SqlError> =>
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
  let count = 0
  for (let word = 0; word < bits.length; word++) for (let left = bits[word]!; left !== 0; left &= left - 1) count++
  const ids = new Uint32Array(count)
  let at = 0
  for (let word = 0; word < bits.length; word++) {
    for (let left = bits[word]!; left !== 0; left &= left - 1) ids[at++] = word * 32 + 31 - Math.clz32(left & -left)
  }
  return ids
}

/** The passages of a mask, rising. */
export const passagesIn = ({ bits }: Mask): Uint32Array => idsOf(bits)
