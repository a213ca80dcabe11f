import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { mostPlaces, toEntity } from "../../../entities/measure.ts"
import { list } from "../rows.ts"
import type { Entity } from "../../../model/Graph.ts"

/** The collection's entities among these hashes, each with a bounded number of places, the defining ones first. */
export const entitiesOf = (
  sql: SqlClient.SqlClient,
  collection: number,
  hashes: ReadonlyArray<number>
): Effect.Effect<ReadonlyMap<number, Entity>, SqlError> =>
  hashes.length === 0
    ? Effect.succeed(new Map())
    : Effect.map(
        sql.unsafe<{ readonly entity: number; readonly places: string }>(
          `SELECT asked.value AS entity,
                  (SELECT json_group_array(json_array(relation, passage_id, ordinal)) FROM
                    (SELECT relation, passage_id, ordinal FROM graph_mentions
                     WHERE collection_id = ? AND entity = asked.value
                     ORDER BY relation, passage_id LIMIT ${mostPlaces + 1})) AS places
           FROM json_each(?) AS asked`,
          [collection, list(hashes)]
        ),
        (rows) => {
          const found = new Map<number, Entity>()
          for (const { entity, places } of rows) {
            if (places === "[]") continue
            const parsed = JSON.parse(places) as ReadonlyArray<
              readonly [relation: number, passage: number, ordinal: number]
            >
            found.set(
              entity,
              toEntity(
                parsed.map(([relation, passage, ordinal]) => ({ relation, passage, document: passage - ordinal }))
              )
            )
          }
          return found
        }
      )
