import * as Effect from "effect/Effect"
import type { EmbedderIdentity } from "../../model/Collection.ts"
import { rising } from "../../model/Damaged.ts"
import { State } from "../../postings/SegmentStore.ts"
import { nextTurnOrEnd } from "../../runtime/EventLoop.ts"
import type { Rebuild } from "../../model/Stored.ts"
import type { Cure } from "../../Store.ts"
import { crcOf } from "../crc.ts"
import * as collections from "../sql/collections.ts"
import { type Dialect, dialectOf } from "../sql/dialect.ts"
import { metadataRows } from "../sql/filter.ts"
import { allEdges } from "../sql/graph/byEntity.ts"
import { type CheckedRow, passageCrc } from "../core/passage.ts"
import { drop, step } from "../sql/rebuild.ts"
import { type Sql, inList, insertOne, insertRows, list, column, only } from "../sql/rows.ts"
import { sweepStep } from "../sql/sweep.ts"
import { isPresent, hiddenCollections } from "../sql/tables.ts"
import { vectorTable } from "../sql/vectorTable.ts"
import type { Run } from "./rows.ts"
import { adrift, counted, lastRun, rowIds, tableless, unlisted, wrongFiles, wrongRoots } from "./structure.ts"

/** Corrects the records of runs and files. A file whose record is in doubt is read again. */
const records = (dialect: Dialect) => [
  "INSERT INTO run_numbers (id, last) VALUES (1, 0) ON CONFLICT DO NOTHING",
  `UPDATE run_numbers SET last = (${lastRun}) WHERE last < (${lastRun})`,
  `UPDATE files SET modified_ns = NULL, outcome = 'unfinished', many = CASE many WHEN 0 THEN 0 ELSE 1 END, run = 0
   WHERE ${wrongFiles(dialect)}`,
  `INSERT INTO files (collection_id, path, settings, outcome, documents, many, run, indexed_at)
   SELECT collection_id, origin, '', 'unfinished', 1, 0, 0, 0 FROM (${unlisted}) AS origins`
]

/** The next numbers that Clew gives out itself, where a server keeps its other numbers, and its rows and references. */
const nextNumbers = rowIds.map(
  (table) => `INSERT INTO row_ids (name, next) SELECT '${table}', coalesce(max(id), 0) + 1 FROM ${table}
    ON CONFLICT (name) DO UPDATE SET next = greatest(row_ids.next, excluded.next)`
)

/** Deletes rows whose owner is gone, child before parent, never a document, and corrects what only a file has. */
const corrections = [
  "DELETE FROM passages WHERE document_id NOT IN (SELECT id FROM documents)",
  ...["graph_passages", "graph_answers", "vectorless"].map(
    (table) => `DELETE FROM ${table} WHERE passage_id NOT IN (SELECT id FROM passages)`
  ),
  // Those of documents that could get no collection yet stay.
  ...["code_sets", "reindexes", "rebuilds", "files", "roots", "graph_linkages"].map(
    (table) =>
      `DELETE FROM ${table} WHERE ${adrift} AND collection_id NOT IN (SELECT collection_id FROM documents WHERE ${adrift})`
  ),
  "DELETE FROM code_epochs WHERE set_id NOT IN (SELECT id FROM code_sets)",
  "DELETE FROM code_blocks WHERE set_id NOT IN (SELECT id FROM code_sets)",
  // Interrupted merges start again.
  `UPDATE keyword_segments SET state = ${State.garbage}
   WHERE state = ${State.building} OR ${adrift}`,
  ...Object.entries(counted).flatMap(([table, id]) => [
    `INSERT INTO sqlite_sequence (name, seq) SELECT '${table}', 0
     WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = '${table}')`,
    `UPDATE sqlite_sequence SET seq = max(seq, coalesce((SELECT max(${id}) FROM ${table}), 0)) WHERE name = '${table}'`
  ]),
  "DELETE FROM file_mark WHERE length(before) <> 16 OR length(now) <> 16 OR (SELECT count(*) FROM file_mark) > 1",
  "INSERT OR IGNORE INTO file_mark (id, before, now) VALUES (1, randomblob(16), randomblob(16))",
  `DELETE FROM roots WHERE ${wrongRoots}`,
  // Invalid JSON. The documents stay among those that must be indexed again.
  "UPDATE documents SET metadata = '{}' WHERE NOT json_valid(metadata) OR json_type(metadata) IS NOT 'object'",
  "UPDATE passages SET heading = '[]' WHERE NOT json_valid(heading) OR json_type(heading) IS NOT 'array'"
]

/** A number that a collection may have had; damage may have made any other of it. */
const plausible = "collection_id BETWEEN 1 AND 999999999"

/**
 * Mends the indices, and gives documents whose collection is lost another, without the vectors: which model made them is
 * lost, too. Returns the collections by their names, and whether documents are left since no embedder is known.
 */
const recovered = Effect.fnUntraced(function* (sql: Sql, embedder: EmbedderIdentity | undefined) {
  yield* sql.unsafe("REINDEX")
  const made = new Map<string, number>()
  // Numbers that are kept come first, so that no new one is among them.
  const lost = yield* sql.unsafe<{ readonly given: string; readonly id: number | null; readonly created_at: number }>(
    `SELECT CAST(collection_id AS TEXT) AS given, CASE WHEN ${plausible} THEN collection_id END AS id,
       min(indexed_at) AS created_at
     FROM documents WHERE ${adrift} GROUP BY 1, 2 ORDER BY ${plausible} DESC`
  )
  if (embedder === undefined) return { made, isLeft: lost.length > 0 }
  const names = new Set(yield* column<string>(sql, "SELECT name FROM collections"))
  for (const { created_at, given, id: kept } of lost) {
    if (kept !== null) {
      for (const generation of ["current", "next"] as const)
        yield* sql.unsafe(`DROP TABLE IF EXISTS ${vectorTable(sql).of(kept, generation)}`)
      yield* sql.unsafe("DELETE FROM reindexes WHERE collection_id = ?", [kept])
    }
    const { id } = yield* insertOne<{ readonly id: number }>(sql, "collections", {
      id: kept,
      name: "~",
      ...collections.toRow(embedder),
      created_at
    })
    let name = `recovered-${id}`
    while (names.has(name)) name += "-"
    yield* sql.unsafe("UPDATE collections SET name = ? WHERE id = ?", [name, id])
    yield* sql.unsafe("UPDATE documents SET collection_id = ? WHERE collection_id = CAST(? AS INTEGER)", [id, given])
    made.set(name, id)
  }
  return { made, isLeft: false }
})

/**
 * Gives new numbers at the end to documents whose passages no longer have consecutive numbers; their vectors move with
 * them. Returns their collections.
 */
const places = Effect.fnUntraced(function* (sql: Sql) {
  yield* sql.unsafe(
    `UPDATE documents SET passages = 0, first_passage = NULL
     WHERE id NOT IN (SELECT document_id FROM passages) AND collection_id NOT IN (${hiddenCollections}) AND (passages <> 0 OR first_passage IS NOT NULL)`
  )
  const found = yield* sql.unsafe<{ readonly id: number; readonly collection_id: number }>(
    `SELECT d.id, d.collection_id FROM documents AS d JOIN (
       SELECT document_id, count(*) AS count, min(id) AS first, max(id) AS last, min(ordinal) AS least, max(ordinal) AS most
       FROM passages NOT INDEXED GROUP BY document_id
     ) AS p ON p.document_id = d.id
     WHERE d.collection_id NOT IN (${hiddenCollections}) AND (
        p.count <> d.passages OR p.first IS NOT d.first_passage OR p.last - p.first + 1 <> p.count
        OR p.least <> 0 OR p.most + 1 <> p.count)`
  )
  // Until a passage's rows elsewhere have its new number.
  yield* sql.unsafe("PRAGMA defer_foreign_keys = ON")
  for (const { collection_id: collection, id } of found) {
    const passages = yield* sql.unsafe<CheckedRow>("SELECT * FROM passages WHERE document_id = ? ORDER BY start, id", [
      id
    ])
    const first = yield* only<number>(
      sql,
      "SELECT max((SELECT max(id) FROM passages), (SELECT seq FROM sqlite_sequence WHERE name = 'passages')) + 1 AS first"
    )
    yield* sql.unsafe(
      `DELETE FROM graph_passages WHERE passage_id IN (SELECT id FROM passages WHERE document_id = ?)`,
      [id]
    )
    // Negative first, to avoid collisions: a document has each ordinal only once.
    yield* sql.unsafe("UPDATE passages SET ordinal = -1 - ordinal - id WHERE document_id = ?", [id])
    for (const [ordinal, passage] of passages.entries()) {
      const moved = first + ordinal
      // What has changed stays marked as changed.
      const isSame = passage.crc !== null && passageCrc(passage) === passage.crc
      const crc = isSame ? passageCrc({ ...passage, id: moved, ordinal }) : passage.crc
      yield* sql.unsafe("UPDATE passages SET id = ?, ordinal = ?, crc = ? WHERE id = ?", [
        moved,
        ordinal,
        crc,
        passage.id
      ])
      yield* sql.unsafe("UPDATE graph_answers SET passage_id = ? WHERE passage_id = ?", [moved, passage.id])
      const [row] = yield* sql.unsafe<{ readonly vector: Uint8Array; readonly crc: number | null }>(
        `SELECT vector, crc FROM vectors_${collection} WHERE passage_id = ?`,
        [passage.id]
      )
      if (row === undefined) continue
      const isWhole = row.crc !== null && crcOf(row.vector, passage.id) === row.crc
      yield* sql.unsafe(`UPDATE vectors_${collection} SET passage_id = ?, crc = ? WHERE passage_id = ?`, [
        moved,
        isWhole ? crcOf(row.vector, moved) : row.crc,
        passage.id
      ])
    }
    yield* sql.unsafe("UPDATE sqlite_sequence SET seq = ? WHERE name = 'passages'", [first + passages.length - 1])
    yield* sql.unsafe("UPDATE documents SET passages = ?, first_passage = ? WHERE id = ?", [passages.length, first, id])
  }
  return new Set(found.map((row) => row.collection_id))
})

const page = 500

/** Rewrites the metadata that filters use from the documents' metadata. */
const metadata = Effect.fnUntraced(function* (sql: Sql) {
  yield* sql.unsafe("DELETE FROM metadata_values")
  for (let after = 0; ;) {
    const rows = yield* sql.unsafe<{ readonly id: number; readonly metadata: string }>(
      "SELECT id, metadata FROM documents WHERE id > ? ORDER BY id LIMIT ?",
      [after, page]
    )
    if (rows.length === 0) return
    after = rising(rows, after, "documents").at(-1)!.id
    yield* nextTurnOrEnd
    yield* insertRows(
      sql,
      "metadata_values",
      rows.flatMap(({ id: document_id, metadata }) =>
        metadataRows(dialectOf(sql), JSON.parse(metadata) as Readonly<Record<string, unknown>>).map((row) => ({
          ...row,
          document_id
        }))
      )
    )
  }
})

/** Counts documents and passages again, and rewrites what filters use. */
const recount = Effect.fnUntraced(function* (sql: Sql) {
  yield* metadata(sql)
  yield* sql.unsafe(
    `UPDATE collections SET
       documents = (SELECT count(*) FROM documents WHERE collection_id = collections.id),
       passages = (SELECT coalesce(sum(passages), 0) FROM documents WHERE collection_id = collections.id),
       changes = changes + 1`
  )
})

/** Documents that the next `index` replaces; otherwise it would skip files that look unchanged. */
const replace = Effect.fnUntraced(function* (sql: Sql, documents: ReadonlyArray<number>) {
  const rows = yield* sql.unsafe<{ readonly source: string; readonly origin: string | null }>(
    `UPDATE documents SET fingerprint = '' WHERE id ${inList} RETURNING coalesce(source, doc_id) AS source, origin`,
    [list(documents)]
  )
  yield* sql.unsafe(
    `UPDATE files SET size = NULL, outcome = 'unfinished', settings = '' WHERE path IN (SELECT origin FROM documents WHERE id ${inList})`,
    [list(documents)]
  )
  const names = (those: typeof rows) => those.map(({ source }) => source).join(", ")
  const [lost, kept] = [rows.filter(({ origin }) => origin === null), rows.filter(({ origin }) => origin !== null)]
  return [
    ...(kept.length === 0 ? [] : [`the next \`clew index\` replaces ${names(kept)}`]),
    ...(lost.length === 0 ? [] : [`these came from no file, so index them again yourself: ${names(lost)}`])
  ]
})

/** Corrects rows in the caller's transaction, drops derived data that do not match them, and returns what it did. */
const mend = Effect.fnUntraced(function* (
  sql: Sql,
  cures: ReadonlyArray<Cure>,
  embedder: EmbedderIdentity | undefined
) {
  const done: Array<string> = []
  const dropped = new Map<string, Extract<Cure, { readonly _tag: "Rebuild" }>>()
  const rebuild = (kind: Rebuild["kind"], collection: number) =>
    dropped.set(`the ${kind} of collection ${collection} ${kind === "graph" ? "was" : "were"} rebuilt`, {
      _tag: "Rebuild",
      kind,
      collection
    })
  if (cures.some(({ _tag }) => _tag === "Rows" || _tag === "Replace")) {
    const dialect = dialectOf(sql)
    const isFile = dialect.hasFiles
    const { isLeft, made } = isFile
      ? yield* recovered(sql, embedder)
      : { isLeft: false, made: new Map<string, number>() }
    for (const statement of [...(isFile ? corrections : nextNumbers), ...records(dialect)]) yield* sql.unsafe(statement)
    if (isFile) {
      for (const id of yield* column<number>(sql, tableless)) yield* vectorTable(sql).create(id, "current")
      const graphs = yield* column<number>(
        sql,
        `SELECT id FROM collections AS c WHERE ${isPresent}
           AND EXISTS (SELECT 1 FROM ${allEdges} AS e WHERE collection_id = c.id)`
      )
      const moved = new Set([...(yield* places(sql)), ...made.values()])
      for (const collection of moved) {
        rebuild("postings", collection)
        rebuild("codes", collection)
      }
      for (const id of graphs) if (moved.has(id)) rebuild("graph", id)
      if (graphs.length > 0) for (const id of made.values()) rebuild("graph", id)
    }
    yield* recount(sql)
    done.push(
      isFile
        ? "counts, indices, lists of metadata and positions of passages were corrected; orphaned rows were deleted"
        : "counts, next numbers, records of files and lists of metadata were corrected"
    )
    if (made.size > 0) done.push(`documents whose collection was lost are in a new one: ${[...made.keys()].join(", ")}`)
    if (isLeft) {
      done.push("documents are left in no collection: start the embedder, or set [embedding], and run --fix again")
    }
  }
  for (const cure of cures) {
    if (cure._tag === "Replace") done.push(...(yield* replace(sql, cure.documents)))
    if (cure._tag === "Vectors") {
      yield* vectorTable(sql).remove(cure.collection, "current", cure.passages)
      yield* sql.unsafe(`DELETE FROM vectorless WHERE generation = 'current' AND passage_id ${inList}`, [
        list(cure.passages)
      ])
      rebuild("codes", cure.collection)
      done.push(`${cure.passages.length} vectors were deleted, to be embedded again`)
    }
    if (cure._tag === "Rebuild") rebuild(cure.kind, cure.collection)
  }
  for (const { collection, kind } of dropped.values()) yield* drop(sql, collection, kind)
  return [...done, ...dropped.keys()]
})

/** Takes findings away: corrects rows, and rebuilds what is derived from them, step by step. Returns what it did. */
export const cured = Effect.fnUntraced(function* (
  write: Run,
  cures: ReadonlyArray<Cure>,
  embedder?: EmbedderIdentity | undefined
) {
  // Damage may make this fail, but not the repair.
  const sweep = Effect.ignore(
    Effect.repeat(
      write((sql) => sweepStep(sql)),
      { while: (more) => more }
    )
  )
  yield* sweep
  const done = yield* write((sql) => mend(sql, cures, embedder))
  while ((yield* write(step)) !== undefined);
  yield* sweep
  return done
})
