import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { type CodeSet, codesFrom } from "../../codes/CodeStore.ts"
import { meanOf } from "../../codes/encoder.ts"
import type { CollectionSummary } from "../../model/Collection.ts"
import type { Mean } from "../core/direction.ts"
import { codesOn } from "./codes.ts"
import { vectorTable } from "./vectorTable.ts"
import { vectorsOf } from "./vectors.ts"
import type { Sql } from "./rows.ts"

interface Known extends Mean {
  /** Distinguishes the states of the collection that have different ones. */
  readonly state: string
}

interface State extends CodeSet {
  readonly changes: number
  /** The last passage with a vector. */
  readonly last: number | null
  readonly epoch: number | null
}

/**
 * The means of collections' vectors, each computed once per state of the collection. One with codes has the centroid of
 * their latest epoch, which is computed again when it has grown sixteenfold; one without has the mean of its vectors, of
 * 4,096 at most. Run it in the snapshot that is searched.
 */
export const makeBackgrounds = () => {
  const known = new Map<number, Known>()

  return Effect.fnUntraced(function* (sql: Sql, { embedder, id }: CollectionSummary): Effect.fn.Return<Mean, SqlError> {
    const [found] = yield* sql.unsafe<State>(
      `SELECT c.changes, (SELECT max(passage_id) FROM ${vectorTable(sql).of(id)} AS v) AS last,
         s.id, s.width, s.rows, (SELECT max(epoch) FROM code_epochs WHERE set_id = s.id) AS epoch
       FROM collections AS c LEFT JOIN code_sets AS s ON s.collection_id = c.id AND s.generation = 'current'
       WHERE c.id = ?`,
      [id]
    )
    const { changes, epoch, last, ...set } = found!
    const state = JSON.stringify([embedder, ...(epoch === null ? [changes, last] : [set.id, epoch])])
    const before = known.get(id)
    if (before?.state === state) return before
    const latest = epoch === null ? undefined : (yield* codesOn(sql).centroids(set)).at(-1)
    const sample = latest === undefined ? yield* vectorsOf(sql, id).spread(codesFrom, embedder.dimensions) : []
    const mean: Known = {
      state,
      vector: latest?.centroid ?? meanOf(sample, embedder.dimensions),
      of: latest === undefined ? sample.length : set.rows
    }
    known.set(id, mean)
    return mean
  })
}
