import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { Cure } from "../../upkeep/Examiner.ts"
import { State } from "../../postings/SegmentStore.ts"
import { codesFrom } from "../../codes/CodeStore.ts"
import { inList, list } from "../sqlite/rows.ts"
import { mendRows } from "./rows.ts"

/** Marks derived data as made by no version, so that a rebuild makes them again. */
const mark = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, kind: "postings" | "codes", collection: number) {
  yield* sql.unsafe("DELETE FROM rebuilds WHERE collection_id = ? AND kind = ?", [collection, kind])
  if (kind === "postings") {
    yield* sql.unsafe(
      `UPDATE keyword_segments SET terms_version = 0, format = 0, state = CASE WHEN state = ${State.live} THEN state ELSE ${State.garbage} END
       WHERE collection_id = ?`,
      [collection]
    )
    return
  }
  const [row] = yield* sql.unsafe<{ readonly count: number }>(
    `SELECT count(*) AS count FROM (SELECT 1 FROM vectors_${collection} LIMIT ${codesFrom})`
  )
  yield* row!.count < codesFrom
    ? sql.unsafe("DELETE FROM code_sets WHERE collection_id = ? AND generation = 'current'", [collection])
    : sql.unsafe("UPDATE code_sets SET format = 0 WHERE collection_id = ? AND generation = 'current'", [collection])
})

/**
 * Repairs what can be repaired at once, in the caller's transaction, and returns what it did. A rebuild does the rest,
 * which it marks.
 */
export const mend = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, cures: ReadonlyArray<Cure>) {
  const done: Array<string> = []
  const rebuilt = new Map<string, readonly ["postings" | "codes", number]>()
  const rebuild = (kind: "postings" | "codes", collection: number) =>
    rebuilt.set(`${kind} ${collection}`, [kind, collection])
  if (cures.some(({ _tag }) => _tag === "Rows" || _tag === "Replace")) {
    for (const collection of yield* mendRows(sql)) {
      rebuild("postings", collection)
      rebuild("codes", collection)
    }
    done.push("counts, indices, lists of metadata and positions of passages were corrected; orphaned rows were deleted")
  }
  for (const cure of cures) {
    if (cure._tag === "Replace") {
      const rows = yield* sql.unsafe<{ readonly source: string; readonly origin: string | null }>(
        `UPDATE documents SET fingerprint = '' WHERE id ${inList} RETURNING coalesce(source, doc_id) AS source, origin`,
        [list(cure.documents)]
      )
      // Otherwise the next `index` would skip a file that looks unchanged.
      yield* sql.unsafe(
        `UPDATE files SET size = NULL, outcome = 'unfinished', settings = '' WHERE path IN (SELECT origin FROM documents WHERE id ${inList})`,
        [list(cure.documents)]
      )
      const lost = rows.filter(({ origin }) => origin === null)
      if (rows.length > lost.length) {
        done.push(
          `the next \`clew index\` replaces ${rows
            .filter(({ origin }) => origin !== null)
            .map(({ source }) => source)
            .join(", ")}`
        )
      }
      if (lost.length > 0) {
        done.push(
          `these came from no file, so index them again yourself: ${lost.map(({ source }) => source).join(", ")}`
        )
      }
    }
    if (cure._tag === "Languages") {
      // The rebuild of the postings detects them again.
      const rows = yield* sql.unsafe<{ readonly collection: number }>(
        `UPDATE documents SET language = NULL WHERE id ${inList} RETURNING collection_id AS collection`,
        [list(cure.documents)]
      )
      for (const { collection } of rows) rebuild("postings", collection)
      done.push(`the languages of ${rows.length} documents were detected again`)
    }
    if (cure._tag === "Vectors") {
      yield* sql.unsafe(`DELETE FROM vectors_${cure.collection} WHERE passage_id ${inList}`, [list(cure.passages)])
      rebuild("codes", cure.collection)
      done.push(`${cure.passages.length} vectors were deleted, to be embedded again`)
    }
    if (cure._tag === "Graph") {
      yield* sql.unsafe("DELETE FROM graph_mentions WHERE collection_id = ?", [cure.collection])
      yield* sql.unsafe(
        `DELETE FROM graph_passages WHERE passage_id IN (
           SELECT p.id FROM passages AS p JOIN documents AS d ON d.id = p.document_id WHERE d.collection_id = ?)`,
        [cure.collection]
      )
      done.push(`the graph of collection ${cure.collection} was rebuilt`)
    }
    if (cure._tag === "Rebuild") rebuild(cure.kind, cure.collection)
  }
  for (const [kind, collection] of rebuilt.values()) {
    yield* mark(sql, kind, collection)
    done.push(`the ${kind} of collection ${collection} were rebuilt`)
  }
  return done
})
