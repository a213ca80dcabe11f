import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import {
  type Block,
  type Centroid,
  type CodeSet,
  codesFormat,
  type CodeStore,
  type SetKey,
  type VectorSource
} from "../../codes/CodeStore.ts"
import { bytesOf } from "../../codes/encoder.ts"
import { bodyBytes } from "../../codes/layout.ts"
import { damaged, parsed, present, rising } from "../../model/Damaged.ts"
import { checked, crcOf } from "../crc.ts"
import { inList, insertRows, list } from "./rows.ts"

export const toVector = (blob: Uint8Array): Float32Array =>
  new Float32Array(blob.buffer.slice(blob.byteOffset, blob.byteOffset + blob.byteLength))

/** A stored vector of a known width. */
export const vectorOf = (blob: Uint8Array, width: number): Float32Array =>
  blob.byteLength === 4 * width ? toVector(blob) : damaged(`a vector has ${blob.byteLength} bytes, not ${4 * width}`)

/** The numbers that identify a block, for its checksum. */
const namesOf = (set: number, { epoch, first, last, rows }: Omit<Block, "version">) => [set, epoch, rows, first, last]

interface CentroidRow {
  readonly epoch: number
  readonly rows: number
  readonly centroid: Uint8Array
  readonly crc: number | null
}

const centroidOf = ({ id, width }: Pick<CodeSet, "id" | "width">, row: CentroidRow): Centroid => {
  const bytes = checked(row.centroid, row.crc, () => `centroid ${row.epoch} of set ${id}`, id, row.epoch)
  return { epoch: row.epoch, rows: row.rows, centroid: vectorOf(bytes, width) }
}

/** The codes in a database. */
export const codesOn = (sql: SqlClient.SqlClient): CodeStore<SqlError> => ({
  find: ({ collection, generation }) =>
    Effect.map(
      sql.unsafe<CodeSet>(
        "SELECT id, width, seed, rows, sequence FROM code_sets WHERE collection_id = ? AND generation = ?",
        [collection, generation]
      ),
      ([set]) => Option.fromNullable(set)
    ),

  collections: Effect.map(
    sql.unsafe<{ readonly collection_id: number }>("SELECT collection_id FROM code_sets"),
    (rows) => new Set(rows.map((row) => row.collection_id))
  ),

  create: ({ collection, generation }, width) =>
    Effect.map(
      sql.unsafe<CodeSet>(
        "INSERT INTO code_sets (collection_id, generation, width, seed, format) VALUES (?, ?, ?, ?, ?) RETURNING *",
        [collection, generation, width, 1, codesFormat]
      ),
      ([made]) => made!
    ),

  changed: (set, rows) =>
    sql.unsafe("UPDATE code_sets SET rows = rows + ?, sequence = sequence + 1 WHERE id = ?", [rows, set.id]),

  // Read as one text, since transferring a row costs more than reading it.
  blocks: (set) =>
    Effect.map(
      sql.unsafe<{ readonly blocks: string }>(
        `SELECT json_group_array(json_array(version, epoch, rows, first, last)) AS blocks
         FROM code_blocks INDEXED BY code_blocks_set WHERE set_id = ?`,
        [set]
      ),
      ([row]) =>
        parsed<ReadonlyArray<[number, number, number, number, number]>>(row!.blocks, () => "the list of code blocks")
          .map(([version, epoch, rows, first, last]) => ({ version, epoch, rows, first, last }))
          .sort((a, b) => a.version - b.version)
    ),

  smallBlocks: (set, epoch, below) =>
    sql.unsafe<Block>(
      `SELECT version, epoch, rows, first, last FROM code_blocks INDEXED BY code_blocks_set
       WHERE set_id = ? AND epoch = ? AND rows < ? ORDER BY rows, version`,
      [set, epoch, below]
    ),

  bodies: (set, blocks) =>
    Effect.map(
      sql.unsafe<{ readonly version: number; readonly body: Uint8Array; readonly crc: number | null }>(
        `SELECT version, body, crc FROM code_blocks WHERE version ${inList}`,
        [list(blocks.map(({ version }) => version))]
      ),
      (rows) => {
        const found = new Map(rows.map((row) => [row.version, row]))
        return blocks.map((block) => {
          const what = () => `code block ${block.version}`
          const { body, crc } = present(found.get(block.version), what)
          if (body.length !== bodyBytes(block.rows, bytesOf(set.width))) damaged(`${what()} has the wrong length`)
          return checked(body, crc, what, ...namesOf(set.id, block))
        })
      }
    ),

  insertBlocks: (set, blocks) =>
    insertRows(
      sql,
      "code_blocks",
      ["set_id", "epoch", "rows", "first", "last", "body", "crc"],
      blocks.map(({ body, ...block }) => {
        const crc = crcOf(body, ...namesOf(set, block))
        return [set, block.epoch, block.rows, block.first, block.last, body, crc]
      })
    ),

  deleteBlocks: (versions) =>
    versions.length === 0
      ? Effect.void
      : sql.unsafe(`DELETE FROM code_blocks WHERE version ${inList}`, [list(versions)]),

  centroids: (set) =>
    Effect.map(
      sql.unsafe<CentroidRow>("SELECT epoch, rows, centroid, crc FROM code_epochs WHERE set_id = ?", [set.id]),
      (rows) => rows.map((row) => centroidOf(set, row))
    ),

  latestCentroid: (set) =>
    Effect.map(
      sql.unsafe<CentroidRow>(
        "SELECT epoch, rows, centroid, crc FROM code_epochs WHERE set_id = ? ORDER BY epoch DESC LIMIT 1",
        [set.id]
      ),
      ([row]) => (row === undefined ? undefined : centroidOf(set, row))
    ),

  addCentroid: (set, { centroid, epoch, rows }) => {
    const bytes = Buffer.from(centroid.buffer)
    return sql.unsafe("INSERT INTO code_epochs (set_id, epoch, rows, centroid, crc) VALUES (?, ?, ?, ?, ?)", [
      set,
      epoch,
      rows,
      bytes,
      crcOf(bytes, set, epoch)
    ])
  }
})

interface Row {
  readonly passage_id: number
  readonly vector: Uint8Array
}

const toRow =
  (width: number) =>
  ({ passage_id, vector }: Row) => ({ id: passage_id, vector: vectorOf(vector, width) })

/** The vectors in a table, from which codes are made. */
export const vectorsIn = (sql: SqlClient.SqlClient, table: string, key: SetKey): VectorSource<SqlError> => ({
  ...key,

  countUpTo: (limit) =>
    Effect.map(
      sql.unsafe<{ readonly count: number }>(`SELECT count(*) AS count FROM (SELECT 1 FROM ${table} LIMIT ?)`, [limit]),
      ([row]) => row!.count
    ),

  after: (passage, limit, width) =>
    Effect.map(
      sql.unsafe<Row>(`SELECT passage_id, vector FROM ${table} WHERE passage_id > ? ORDER BY passage_id LIMIT ?`, [
        passage,
        limit
      ]),
      (rows) => rising(rows.map(toRow(width)), passage, "vectors")
    ),

  of: (passages, width) =>
    Effect.map(
      sql.unsafe<Row>(`SELECT passage_id, vector FROM ${table} WHERE passage_id ${inList} ORDER BY passage_id`, [
        list([...passages])
      ]),
      (rows) => rows.map(toRow(width))
    ),

  spread: Effect.fnUntraced(function* (count, width) {
    const [range] = yield* sql.unsafe<{ readonly first: number; readonly last: number }>(
      `SELECT (SELECT min(passage_id) FROM ${table}) AS first, (SELECT max(passage_id) FROM ${table}) AS last`
    )
    const { first, last } = range!
    const step = Math.max(1, (last - first + 1) / count)
    const ids = Array.from({ length: Math.min(count, last - first + 1) }, (_, i) => Math.floor(first + i * step))
    const rows = yield* sql.unsafe<{ readonly vector: Uint8Array }>(
      `SELECT (SELECT vector FROM ${table} WHERE passage_id >= j.value ORDER BY passage_id LIMIT 1) AS vector
       FROM json_each(?) AS j`,
      [list(ids)]
    )
    return rows.map(({ vector }) => vectorOf(vector, width))
  })
})
