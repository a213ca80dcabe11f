import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { Mask } from "../../model/Passage.ts"
import type { Demands } from "../../model/SearchResult.ts"
import { holding } from "../../postings/load.ts"
import { type Finding, demandedBy, writtenBy } from "../core/demands.ts"
import { bitsSet } from "../../model/numbers.ts"
import { idsOf } from "./Masks.ts"
import { Cancelled } from "./Cancelled.ts"
import * as keyword from "./keyword.ts"
import { type Sql, inList, list } from "./rows.ts"
import { segmentsOn } from "./segments.ts"

const page = 500

type Bits = Uint32Array

/** Finds passages as bitmaps of their ids. */
const finding = (sql: Sql, collection: number): Finding<Bits, SqlError> => ({
  holding: (terms, field) =>
    Effect.flatMap(Cancelled, (isCancelled) => holding(segmentsOn(sql), collection, terms, { field, isCancelled })),
  both: (a, b) => a.map((word, at) => word & (b[at] ?? 0)),
  butNot: (a, b) => a.map((word, at) => word & ~(b[at] ?? 0)),
  passing: Effect.fnUntraced(function* (among, text, { most, test }) {
    const all = bitsSet(among)
    const ids =
      all <= most
        ? [...idsOf(among)]
        : (yield* keyword.search(sql, [collection], text, { depth: most, mask: { bits: among }, also: [] }))
            .slice(0, most)
            .map(({ id }) => id)
    const isCancelled = yield* Cancelled
    const found = new Uint32Array(among.length)
    let count = 0
    for (let from = 0; from < ids.length; from += page) {
      if (isCancelled()) return yield* Effect.interrupt
      const rows = yield* sql.unsafe<keyword.SearchedRow>(
        `SELECT ${keyword.searchedColumns}
         FROM passages AS p JOIN documents AS d ON d.id = p.document_id WHERE p.id ${inList}`,
        [list(ids.slice(from, from + page))]
      )
      for (const { heading, id, text, title } of rows.map(keyword.toKeywordRow)) {
        if (!test(text) && !test(heading) && !test(title)) continue
        found[id >>> 5]! |= 1 << (id & 31)
        count++
      }
    }
    return { found, count, unread: all - ids.length }
  })
})

/** The passages of a collection, or of a mask, that meet the demands, and how many were left unread. */
export const demanded = (sql: Sql, collection: number, mask: Mask | undefined, demands: Demands) =>
  Effect.map(demandedBy(finding(sql, collection), mask?.bits, demands), ({ left, unchecked }) => ({
    mask: left === mask?.bits ? mask : { bits: left!, count: bitsSet(left!) },
    unchecked
  }))

/** Which words occur literally in a passage. */
export const written = (sql: Sql, collection: number, words: ReadonlyArray<string>) =>
  writtenBy(finding(sql, collection), words)
