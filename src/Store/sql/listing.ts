import * as Effect from "effect/Effect"
import type { ListPage } from "../../model/Stored.ts"
import { isEmptyFilter } from "../../model/Filter.ts"
import { dialectOf } from "./dialect.ts"
import { containing, documentsWhere, type Where } from "./filter.ts"
import { type SummaryRow, toListed } from "../core/document.ts"
import { type Sql, inList, list, only } from "./rows.ts"

/** Up to this many matches of a filter are sorted directly. */
const fewMatch = 1000

interface Row extends SummaryRow {
  readonly id: number
  readonly indexed_at: number
  readonly characters: number
}

/** An order of rows, and the condition under which rows come after the page before. */
interface Order {
  readonly keys: string
  readonly after?: Where | undefined
}

/** A page of documents, by source, else doc_id, or by a figure. */
export const page = Effect.fnUntraced(function* (sql: Sql, collection: number, options: ListPage) {
  const { after, by = "source", falling = false, filter = {}, from, limit, named } = options
  const dialect = dialectOf(sql)
  const matching = yield* documentsWhere(sql, collection, filter)
  const ids = named === undefined ? undefined : yield* containing(sql, collection, named)
  const where: Where =
    ids === undefined
      ? matching
      : { sql: `${matching.sql} AND d.id ${inList}`, params: [...matching.params, list(ids)] }
  const few =
    isEmptyFilter(filter) && ids === undefined
      ? undefined
      : yield* only<number>(
          sql,
          `SELECT count(*) AS count FROM (SELECT 1 FROM documents AS d WHERE ${where.sql} LIMIT ${fewMatch}) AS few`,
          where.params
        )
  // A few matches are found by the filter and then sorted; with many, walking all documents in order soon fills the
  // page.
  const isSorted = few !== undefined && few < fewMatch
  const direction = falling ? "DESC" : "ASC"
  const beyond = falling ? "<" : ">"

  const rowsIn = ({ after: begin, keys }: Order, most: number) =>
    sql.unsafe<Row>(
      `SELECT d.id, d.doc_id, d.source, d.origin, d.title, d.passages, d.indexed_at,
              coalesce((SELECT p."end" FROM passages AS p WHERE p.document_id = d.id ORDER BY p.ordinal DESC LIMIT 1), 0) AS characters
       FROM documents AS d WHERE ${where.sql}${begin === undefined ? "" : ` AND ${begin.sql}`} ORDER BY ${keys} LIMIT ?`,
      [...where.params, ...(begin?.params ?? []), most]
    )

  const bySource = Effect.suspend(() => {
    // As values, both are found in the index; a row from a subquery would only bound the first.
    const keys = (name: string): ReadonlyArray<string> => (isSorted ? [`${name} || ''`] : dialect.indexed(name))
    const sorted = [...keys("d.name"), "d.doc_id"]
    return rowsIn(
      {
        keys: sorted.map((key) => `${key} ${direction}`).join(", "),
        after: after && {
          sql: `(${sorted.join(", ")}) ${beyond} (${[...keys("?"), "?"].join(", ")})`,
          params: [...keys("").map(() => after.source ?? after.docId), after.docId]
        }
      },
      limit
    )
  })

  const byFigure = Effect.gen(function* () {
    const column = isSorted ? `d.${by} + 0` : `d.${by}`
    const keys = `${column} ${direction}, d.id ${direction}`
    if (from === undefined) return yield* rowsIn({ keys }, limit)
    const [figure, place] = from
    // Those with the same figure first: of both together an index would bound the figure alone.
    const same = { sql: `${column} = ? AND d.id ${beyond} ?`, params: [figure, place] }
    const ties = yield* rowsIn({ keys: `d.id ${direction}`, after: same }, limit)
    const next = { sql: `${column} ${beyond} ?`, params: [figure] }
    return ties.length === limit ? ties : [...ties, ...(yield* rowsIn({ keys, after: next }, limit - ties.length))]
  })

  const rows = yield* by === "source" ? bySource : byFigure
  return rows.map(toListed)
})
