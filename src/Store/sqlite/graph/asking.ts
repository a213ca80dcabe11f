import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { rising } from "../../../model/Damaged.ts"
import type { GraphUnasked, Said } from "../../../model/Graph.ts"
import { toStored } from "../../../entities/said.ts"
import { inList, list } from "../rows.ts"
import * as answers from "./answers.ts"
import { type GraphRow, insert, textColumns, type TextRow, remove, toGraphRow } from "./edges.ts"

interface Row extends TextRow {
  readonly model: string | null
}

const select = `SELECT ${textColumns}, a.model
  FROM passages AS p CROSS JOIN documents AS d ON d.id = p.document_id LEFT JOIN graph_answers AS a ON a.passage_id = p.id`

/** Adds passages to the graph again, with the current answers about them. */
const again = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  rows: ReadonlyArray<GraphRow>
) {
  yield* remove(
    sql,
    collection,
    rows.map(({ id }) => id)
  )
  yield* insert(sql, collection, rows)
  // The stored linkage of a collection belongs to one state of it.
  yield* sql.unsafe("UPDATE collections SET changes = changes + 1 WHERE id = ?", [collection])
})

/** Those of the next passages after an id that a model was not asked about; answers about the same words are copied. */
export const unasked = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  model: string,
  after: number,
  limit: number
) {
  const found = yield* sql.unsafe<Row>(`${select} WHERE d.collection_id = ? AND p.id > ? ORDER BY p.id LIMIT ?`, [
    collection,
    after,
    limit
  ])
  const seen = rising(found, after, "passages")
  const rows = seen.filter((row) => row.model !== model).map((row) => ({ row: toGraphRow(row), asked: "" }))
  for (const one of rows) one.asked = answers.askedOf(one.row)
  const known = yield* answers.to(
    sql,
    rows.map(({ asked }) => asked),
    model
  )
  const taken = rows.flatMap(({ asked, row }) => {
    const answer = known.get(asked)
    return answer === undefined ? [] : [{ row, answer: { ...answer, id: row.id } }]
  })
  if (taken.length > 0) {
    yield* answers.write(
      sql,
      taken.map(({ answer }) => answer)
    )
    yield* again(
      sql,
      collection,
      taken.map(({ row }) => row)
    )
  }
  return {
    seen: seen.length,
    through: seen.at(-1)?.id ?? after,
    taken: taken.length,
    passages: rows.flatMap(({ asked, row: { heading, id, text, title } }) =>
      known.has(asked) ? [] : [{ id, heading, text, title }]
    )
  } satisfies GraphUnasked
})

/** Stores a model's answer about a passage and adds it to the graph; false: the passage is gone. */
export const keepSaid = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  passage: number,
  model: string,
  said: Said
) {
  const [found] = yield* sql.unsafe<Row>(`${select} WHERE p.id ${inList} AND d.collection_id = ?`, [
    list([passage]),
    collection
  ])
  if (found === undefined) return false
  const row = toGraphRow(found)
  yield* answers.write(sql, [{ id: passage, asked: answers.askedOf(row), model, answer: toStored(said) }])
  yield* again(sql, collection, [row])
  return true
})
