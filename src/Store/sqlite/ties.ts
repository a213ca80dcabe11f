import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { Scored } from "../../model/Scored.ts"
import { list } from "./rows.ts"

/** Most equals that are returned, for their places to be looked up; of more, only the first. */
const mostTied = (depth: number): number => 2 * depth

/** All of these passages with equal scores; of too many, the first `depth` by their places. */
export const firstOf = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<number>,
  depth: number
): Effect.Effect<ReadonlyArray<number>, SqlError> =>
  ids.length <= mostTied(depth)
    ? Effect.succeed(ids)
    : Effect.map(
        sql.unsafe<{ readonly id: number }>(
          `SELECT p.id FROM json_each(?) AS asked CROSS JOIN passages AS p ON p.id = asked.value
             CROSS JOIN documents AS d ON d.id = p.document_id CROSS JOIN collections AS c ON c.id = d.collection_id
           ORDER BY d.doc_id, c.name, p.ordinal LIMIT ?`,
          [list(ids), depth]
        ),
        (rows) => rows.map(({ id }) => id)
      )

/** Passages by falling scores. Of too many that tie with the one at `depth`, only the first and those asked for. */
export const thinned = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  scored: ReadonlyArray<Scored>,
  depth: number,
  asked: ReadonlyArray<number>
) {
  const last = scored[depth - 1]?.score
  const tied = scored.flatMap(({ id, score }) => (score === last ? [id] : []))
  if (tied.length <= mostTied(depth)) return scored
  const kept = new Set([...(yield* firstOf(sql, tied, depth)), ...asked])
  return scored.filter(({ id, score }) => score !== last || kept.has(id))
})
