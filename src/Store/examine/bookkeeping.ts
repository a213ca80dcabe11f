import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { termsVersion } from "../../terms/version.ts"
import { postingsFormat, State } from "../../postings/SegmentStore.ts"
import { codesFormat } from "../../codes/CodeStore.ts"
import { leaving } from "../sqlite/sweep.ts"
import { fail, ok, some, warn } from "./finding.ts"

/** The highest run number in any record. */
export const lastRun = `SELECT max(
  coalesce((SELECT max(seen_run) FROM documents), 0),
  coalesce((SELECT max(run) FROM files), 0),
  coalesce((SELECT max(run) FROM roots), 0))`

/** Invalid rows of files: with a wrong count of documents, or an unknown outcome. */
export const wrongFiles = `collection_id NOT IN (${leaving}) AND (outcome NOT IN ('indexed', 'skipped', 'failed', 'unfinished') OR many NOT IN (0, 1)
  OR (outcome = 'indexed' AND documents <>
    (SELECT count(*) FROM documents AS d WHERE d.collection_id = files.collection_id AND d.origin = files.path)))`

/** Documents of files that have no row. */
export const unlisted = `SELECT DISTINCT collection_id, origin FROM documents AS d WHERE origin IS NOT NULL
  AND collection_id NOT IN (${leaving})
  AND NOT EXISTS (SELECT 1 FROM files AS f WHERE f.collection_id = d.collection_id AND f.path = d.origin)`

export const wrongRoots = `NOT json_valid(include) OR NOT json_valid(exclude)
  OR json_type(include) IS NOT 'array' OR json_type(exclude) IS NOT 'array'`

/** An index's own records: marks, runs, files and folders. */
export const records = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const wrong: Array<string> = []
  const marks = yield* sql.unsafe<{ readonly before: Uint8Array; readonly now: Uint8Array }>(
    "SELECT before, now FROM file_mark"
  )
  if (marks.length !== 1 || marks.some(({ before, now }) => before.length !== 16 || now.length !== 16)) {
    wrong.push("the file's mark")
  }
  const [runs] = yield* sql.unsafe<{ readonly last: number | null; readonly seen: number }>(
    `SELECT (SELECT last FROM run_numbers) AS last, (${lastRun}) AS seen`
  )
  if (runs!.last === null || runs!.last < runs!.seen) wrong.push("the number of the last run")
  for (const { path } of yield* sql.unsafe<{ readonly path: string }>(
    `SELECT path FROM files WHERE ${wrongFiles} LIMIT 100`
  )) {
    wrong.push(`the file ${path}`)
  }
  for (const { origin } of yield* sql.unsafe<{ readonly origin: string }>(`${unlisted} LIMIT 100`)) {
    wrong.push(`the file ${origin}`)
  }
  for (const { path } of yield* sql.unsafe<{ readonly path: string }>(
    `SELECT path FROM roots WHERE ${wrongRoots} LIMIT 100`
  )) {
    wrong.push(`the folder ${path}`)
  }
  return wrong.length === 0
    ? [ok("records", "the records of runs, files and folders match the documents")]
    : [fail("records", `inconsistent: ${some(wrong)}`, undefined, { _tag: "Rows" })]
})

/** Files that were not read because of a limit. */
export const limited = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const files = yield* sql.unsafe<{ readonly path: string; readonly reason: string }>(
    `SELECT path, reason FROM files WHERE outcome = 'failed' AND reader GLOB 'limited to *'
       AND collection_id NOT IN (${leaving}) ORDER BY path LIMIT 100`
  )
  return files.length === 0
    ? []
    : [
        warn(
          "limits",
          `beyond a limit, so not read, or not whole: ${some(files.map(({ path, reason }) => `${path} (${reason})`))}`,
          "raise the limit in [limits] and run `clew index` again, or exclude the files"
        )
      ]
})

/** Derived data that claim a version later than this one. */
export const formats = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const segments = yield* sql.unsafe<{ readonly collection: number }>(
    `SELECT DISTINCT collection_id AS collection FROM keyword_segments
     WHERE state = ${State.live} AND (format > ${postingsFormat} OR terms_version > ${termsVersion})`
  )
  const sets = yield* sql.unsafe<{ readonly collection: number }>(
    `SELECT collection_id AS collection FROM code_sets WHERE generation = 'current' AND format > ${codesFormat}`
  )
  return [
    ...segments.map(({ collection }) => ({ collection, kind: "postings" as const })),
    ...sets.map(({ collection }) => ({ collection, kind: "codes" as const }))
  ].map(({ collection, kind }) =>
    warn(kind, `collection number ${collection}: they claim to come from a later version`, "run `clew doctor --fix`", {
      _tag: "Rebuild",
      kind,
      collection
    })
  )
})
