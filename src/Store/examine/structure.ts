import * as Effect from "effect/Effect"
import { ok } from "../../model/Check.ts"
import { State } from "../../postings/SegmentStore.ts"
import { nextTurnOrEnd } from "../../runtime/EventLoop.ts"
import { type Dialect, dialectOf, same } from "../sql/dialect.ts"
import { isPresent, hiddenCollections } from "../sql/tables.ts"
import { connect, memory } from "../sqlite/connect.ts"
import { mending, orOk, salvaging, someOf, warn, wrongly } from "./findings.ts"
import { type Sql, column, only } from "../sql/rows.ts"

const anew = "restore a backup with `clew restore`, or index into a new file"

/** Whether SQLite reports damaged pages. If only indices are damaged, they can be rebuilt from the rows. */
const isOfPages = (line: string): boolean =>
  /^(\*\*\*|tree|page|freelist|max rootpage|database disk|disk i\/o)/i.test(line)

/** Documents whose collection has no row. */
export const adrift = "collection_id NOT IN (SELECT id FROM collections NOT INDEXED)"

/** SQLite's own checks of pages, indices and references, which block the thread. */
export const integrity = Effect.fnUntraced(function* (sql: Sql) {
  const lines = yield* column<string>(sql, "PRAGMA integrity_check(20)")
  const said = lines.filter((line) => line !== "ok")
  yield* nextTurnOrEnd
  const orphans = yield* column<string>(
    sql,
    `SELECT count(*) || ' of ' || "table" AS what FROM pragma_foreign_key_check GROUP BY "table"`
  )
  return [
    ...orOk(
      wrongly("pages", "SQLite says", said, said.some(isOfPages) ? salvaging : mending),
      "pages",
      "SQLite's checks of pages and indices pass"
    ),
    ...orOk(
      [
        ...wrongly("references", "orphaned rows", orphans, mending),
        ...wrongly(
          "references",
          "documents in no collection, so not found",
          yield* column<string>(
            sql,
            `SELECT coalesce(source, doc_id) AS what FROM documents NOT INDEXED WHERE ${adrift}`
          ),
          mending
        )
      ],
      "references",
      "there are no orphaned rows"
    )
  ]
})

const objects = (sql: Sql) =>
  sql.unsafe<{ readonly name: string; readonly sql: string }>(
    "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'vectors_%'"
  )

/** The tables and indices of a new index. */
export const fresh = Effect.scoped(Effect.flatMap(connect({ filename: memory, mode: "create" }), objects))

/** Columns that were added later are written with other spaces. */
const unspaced = (text: string) => text.replaceAll(/\s/g, "")

/** Collections whose vectors have no table. */
export const tableless = `SELECT id FROM collections WHERE ${isPresent}
  AND NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'vectors_' || collections.id)`

/** The tables and indices that are defined otherwise than in a new index. */
export const altered = (sql: Sql, fresh: Effect.Effect.Success<ReturnType<typeof objects>>) =>
  Effect.map(objects(sql), (all) => {
    const found = new Map(all.map((object) => [object.name, unspaced(object.sql)]))
    return fresh.filter(({ name, sql }) => found.has(name) && found.get(name) !== unspaced(sql))
  })

/** Compares tables and indices with those of a new index. */
export const schema = Effect.fnUntraced(function* (
  sql: Sql,
  fresh: ReadonlyArray<{ readonly name: string; readonly sql: string }>
) {
  const found = new Set((yield* objects(sql)).map(({ name }) => name))
  const missing = fresh.filter(({ name }) => !found.has(name))
  const tables = yield* column<string>(sql, `SELECT 'vectors_' || id AS what FROM (${tableless})`)
  const names = (those: typeof fresh) => those.map(({ name }) => name)
  return orOk(
    [
      ...wrongly("schema", "missing", names(missing), undefined, anew),
      ...wrongly("schema", "missing", tables, mending),
      ...wrongly("schema", "altered", names(yield* altered(sql, fresh)), undefined, anew)
    ],
    "schema",
    "every table and index exists"
  )
})

/** Tables whose numbers Clew gives out itself in PostgreSQL. */
export const rowIds = ["documents", "passages"] as const

/** Tables that never reuse a number, and the column it is in. */
export const counted = {
  collections: "id",
  documents: "id",
  passages: "id",
  keyword_segments: "id",
  code_sets: "id",
  code_blocks: "version",
  files: "id"
} as const

/** Tables, the columns of their numbers, and the last numbers that count as given: a server keeps most of them itself. */
const given = (sql: Sql): ReadonlyArray<readonly [table: string, id: string, last: string]> =>
  sql.onDialectOrElse({
    pg: () =>
      rowIds.map((table) => [table, "id", `coalesce((SELECT next - 1 FROM row_ids WHERE name = '${table}'), -1)`]),
    orElse: () =>
      Object.entries(counted).map(([table, id]) => [
        table,
        id,
        `coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = '${table}'), 0)`
      ])
  })

/** Checks that numbers are not given twice. */
export const sequences = (sql: Sql) =>
  Effect.map(
    column<string>(
      sql,
      given(sql)
        .map(
          ([table, id, last]) =>
            `SELECT '${table}' AS what WHERE coalesce((SELECT max(${id}) FROM ${table}), 0) > ${last}`
        )
        .join(" UNION ALL ")
    ),
    (wrong) =>
      orOk(wrongly("sequences", "the next number is taken", wrong, mending), "sequences", "the next numbers are free")
  )

/** The highest run number in any record. */
export const lastRun = `SELECT coalesce(max(run), 0) FROM (SELECT max(seen_run) AS run FROM documents
  UNION ALL SELECT max(run) FROM files UNION ALL SELECT max(run) FROM roots) AS runs`

/** Invalid rows of files: with a wrong count of documents, but for records that were kept, or an unknown outcome. */
export const wrongFiles = (
  dialect: Dialect
) => `collection_id NOT IN (${hiddenCollections}) AND (outcome NOT IN ('indexed', 'skipped', 'failed', 'unfinished') OR many NOT IN (0, 1)
  OR (outcome = 'indexed' AND documents <>
    (SELECT CASE WHEN files.many = 1 AND files.documents < count(*) THEN files.documents ELSE count(*) END
     FROM documents AS d WHERE d.collection_id = files.collection_id AND ${same(dialect, "d.origin", "files.path")})))`

/** Documents of files that have no row. */
export const unlisted = `SELECT DISTINCT collection_id, origin FROM documents AS d WHERE origin IS NOT NULL
  AND collection_id NOT IN (${hiddenCollections})
  AND NOT EXISTS (SELECT 1 FROM files AS f WHERE f.collection_id = d.collection_id AND f.path = d.origin)`

export const wrongRoots = `NOT json_valid(include) OR NOT json_valid(exclude)
  OR json_type(include) IS NOT 'array' OR json_type(exclude) IS NOT 'array'`

/** What only a file has: its mark, and lists of folders that SQLite can tell from other texts. */
const ofFile = [
  `SELECT 'the file''s mark' AS what
   WHERE (SELECT count(*) FILTER (WHERE length(before) = 16 AND length(now) = 16) FROM file_mark) <> 1
     OR (SELECT count(*) FROM file_mark) <> 1`,
  `SELECT * FROM (SELECT 'the folder ' || path FROM roots WHERE ${wrongRoots} LIMIT 100)`
]

/** An index's own records: marks, runs, files and folders. */
export const records = (sql: Sql) =>
  Effect.map(
    column<string>(
      sql,
      [
        `SELECT 'the number of the last run' AS what WHERE coalesce((SELECT last FROM run_numbers), -1) < (${lastRun})`,
        `SELECT * FROM (SELECT 'the file ' || path FROM files WHERE ${wrongFiles(dialectOf(sql))} LIMIT 100) AS wrong`,
        `SELECT * FROM (SELECT 'the file ' || origin FROM (${unlisted}) AS origins LIMIT 100) AS missing`,
        ...(dialectOf(sql).hasFiles ? ofFile : [])
      ].join(" UNION ALL ")
    ),
    (wrong) =>
      orOk(
        wrongly("records", "inconsistent", wrong, mending),
        "records",
        "the records of runs, files and folders match the documents"
      )
  )

/** Files that were not read because of a limit. */
export const limited = (sql: Sql) =>
  Effect.map(
    column<string>(
      sql,
      `SELECT path || ' (' || reason || ')' AS what FROM files WHERE outcome = 'failed' AND reader GLOB 'limited to *'
         AND collection_id NOT IN (${hiddenCollections}) ORDER BY path LIMIT 100`
    ),
    (files) =>
      files.length === 0
        ? []
        : [
            warn(
              "limits",
              `beyond a limit, so not read, or not whole: ${someOf(files)}`,
              "raise the limit in [limits] and run `clew index` again, or exclude the files"
            )
          ]
  )

/** Free space in the file, and unfinished work: merges, dropped rows, changes of embedder. */
export const upkeep = Effect.fnUntraced(function* (sql: Sql) {
  const impossible = yield* column<string>(
    sql,
    `SELECT id AS what FROM keyword_segments WHERE state = ${State.building}
       AND CASE WHEN json_valid(inputs) AND json_type(inputs) = 'array' AND json_array_length(inputs) > 0 THEN EXISTS (
         SELECT 1 FROM json_each(inputs) AS input WHERE NOT EXISTS (
           SELECT 1 FROM keyword_segments WHERE id = input.value AND state = ${State.live})) ELSE 1 END`
  )
  const segments = yield* only<number>(sql, "SELECT count(*) FROM keyword_segments")
  const live = yield* only<number>(sql, `SELECT count(*) FROM keyword_segments WHERE state = ${State.live}`)
  const misnamed = yield* column<string>(
    sql,
    `SELECT json_quote(name) AS what FROM collections NOT INDEXED
     WHERE id IN (${hiddenCollections}) AND name <> '~' || id ORDER BY id`
  )
  const dropped = (yield* only<number>(sql, `SELECT count(*) FROM (${hiddenCollections})`)) - misnamed.length
  const free = yield* only<number>(sql, "SELECT freelist_count FROM pragma_freelist_count")
  const pages = yield* only<number>(sql, "SELECT page_count FROM pragma_page_count")
  const share = Math.round((100 * free) / Math.max(1, pages))
  const reindexes = yield* column<string>(
    sql,
    "SELECT c.name AS what FROM reindexes AS r JOIN collections AS c ON c.id = r.collection_id"
  )
  return [
    ...orOk(
      wrongly("segments", "merges of segments that do not exist", impossible, mending),
      "segments",
      `postings are in ${live === 1 ? "one part" : `${live} parts`}${segments === live ? "" : `; ${segments - live} more are being merged or deleted`}`
    ),
    ...wrongly("sweeps", "invalid collection name", misnamed, undefined, anew),
    ...(dropped === 0
      ? []
      : [
          warn(
            "sweeps",
            `dropped rows are still being deleted: ${dropped} left`,
            "leave it to `clew serve` or the next command that writes, or run `clew compact`"
          )
        ]),
    free > 1000 && share > 50
      ? warn("free pages", `${share} % of the file is free`, "run `clew compact`")
      : ok("free pages", `${share} % of the file is free`),
    ...(reindexes.length === 0
      ? []
      : [warn("reindex", `a change of embedder is unfinished: ${someOf(reindexes)}`, "continue with `clew reindex`")])
  ]
})
