import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { mostPlaces, toEntity } from "../../../entities/walk.ts"
import { rising } from "../../../model/Damaged.ts"
import type { GraphPassage } from "../../../model/Graph.ts"
import type { Searched } from "../../../ranking/Snapshot.ts"
import { expandBy, type GraphPassageRow, toGraphPassage, type Walking, type WayRow } from "../../core/graph.ts"
import type { Searching } from "../Database.ts"
import { type Sql, inList, list } from "../rows.ts"
import { unchangedOf } from "../unchanged.ts"
import { placesOf } from "./byEntity.ts"
import { mentionsIn } from "./edges.ts"
import { titled } from "./linkage.ts"

/** The collection's entities among these hashes, each with a bounded number of places, the defining ones first. */
export const entitiesOf = (sql: Sql, collection: number, hashes: ReadonlyArray<number>) =>
  Effect.map(
    unchangedOf(sql, `phrases of ${collection}`, hashes, (unread) =>
      Effect.map(
        placesOf(sql, collection, unread, mostPlaces + 1),
        (found) => new Map(Array.from(found, ([entity, places]) => [entity, toEntity(places)]))
      )
    ),
    (found) => new Map(hashes.flatMap((hash) => (found.has(hash) ? [[hash, found.get(hash)!]] : [])))
  )

const select = `SELECT p.*, d.doc_id, coalesce(d.source, d.doc_id) AS source, d.title, d.line, g.mentions, a.answer
  FROM graph_passages AS g CROSS JOIN passages AS p ON p.id = g.passage_id CROSS JOIN documents AS d ON d.id = p.document_id
    LEFT JOIN graph_answers AS a ON a.passage_id = p.id`

/** Passages of the graph by id: those with some ids, or the next after one. */
export const passages = (
  sql: Sql,
  collection: number,
  which: ReadonlyArray<number> | { readonly after: number; readonly limit: number }
): Effect.Effect<ReadonlyArray<GraphPassage>, SqlError> => {
  const [among, after, limit, most] =
    "after" in which ? ["> ?", which.after, " LIMIT ?", [which.limit]] : [inList, list(which), "", []]
  return Effect.map(
    sql.unsafe<GraphPassageRow>(
      `${select} WHERE g.passage_id ${among} AND d.collection_id = ? ORDER BY g.passage_id${limit}`,
      [after, collection, ...most]
    ),
    (found) => rising(found, "after" in which ? which.after : -1, "passages of the graph").map(toGraphPassage)
  )
}

interface Expansion extends Walking, Pick<Searched, "vector" | "background" | "mask"> {
  readonly collection: number
}

/** The same as `expandBy`, in a database. */
export const expand = (
  sql: Sql,
  { scoring }: Pick<Searching, "scoring">,
  { background, collection, mask, vector, ...rest }: Expansion
) =>
  expandBy<SqlError>(
    {
      entities: (hashes) => entitiesOf(sql, collection, hashes),
      mentions: (passages) => mentionsIn(sql, passages),
      titled: (entities) => titled(sql, collection, entities),
      score: vector && ((passages) => scoring.score(sql, collection, { vector, background }, passages)),
      allowed: (passage) => mask === undefined || (((mask.bits[passage >>> 5] ?? 0) >>> (passage & 31)) & 1) === 1,
      rows: (passages) =>
        sql.unsafe<WayRow>(
          `SELECT p.id, p.ordinal, p.text, p.heading, d.title, coalesce(d.source, d.doc_id) AS source
           FROM passages AS p JOIN documents AS d ON d.id = p.document_id WHERE p.id ${inList}`,
          [list(passages)]
        )
    },
    rest
  )
