import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { checked, crcOf } from "../crc.ts"
import { dialectOf } from "./dialect.ts"
import { type Sql, inList, insertOne, insertRows, list, column, only } from "./rows.ts"
import { makeHidden } from "./sweep.ts"
import { unchanged } from "./unchanged.ts"
import {
  type Block,
  type Centroid,
  type CodeSet,
  type CodeStore,
  type SetKey,
  type VectorSource,
  codesFormat
} from "../../codes/CodeStore.ts"
import { bytesOf } from "../../codes/encoder.ts"
import { bodyBytes } from "../../codes/layout.ts"
import { damaged, parsed, present, rising } from "../../model/Damaged.ts"

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
export const codesOn = (sql: Sql): CodeStore<SqlError> => ({
  find: ({ collection, generation }) =>
    unchanged(
      sql,
      `${generation} codes of ${collection}`,
      Effect.map(
        sql.unsafe<CodeSet>(
          "SELECT id, width, seed, rows, sequence FROM code_sets WHERE collection_id = ? AND generation = ?",
          [collection, generation]
        ),
        ([set]) => Option.fromNullable(set)
      )
    ),

  collections: Effect.map(column<number>(sql, "SELECT collection_id FROM code_sets"), (ids) => new Set(ids)),

  create: ({ collection, generation }, width) =>
    insertOne<CodeSet>(sql, "code_sets", {
      collection_id: collection,
      generation,
      width,
      seed: 1,
      format: codesFormat
    }),

  changed: (set, rows) =>
    sql.unsafe("UPDATE code_sets SET rows = rows + ?, sequence = sequence + 1 WHERE id = ?", [rows, set.id]),

  // Read as one text, since transferring a row costs more than reading it.
  blocks: (set) =>
    Effect.map(
      sql.unsafe<{ readonly blocks: string }>(
        `SELECT ${dialectOf(sql).jsonRows("version, epoch, rows, first, last")} AS blocks
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
      blocks.map(({ body, ...block }) => ({ set_id: set, ...block, body, crc: crcOf(body, ...namesOf(set, block)) }))
    ),

  deleteBlocks: (versions) =>
    versions.length === 0
      ? Effect.void
      : sql.unsafe(`DELETE FROM code_blocks WHERE version ${inList}`, [list(versions)]),

  centroids: (set) =>
    Effect.map(
      sql.unsafe<CentroidRow>("SELECT epoch, rows, centroid, crc FROM code_epochs WHERE set_id = ? ORDER BY epoch", [
        set.id
      ]),
      (rows) => rows.map((row) => centroidOf(set, row))
    ),

  addCentroid: (set, { centroid, epoch, rows }) => {
    const bytes = Buffer.from(centroid.buffer)
    const row = { set_id: set, epoch, rows, centroid: bytes, crc: crcOf(bytes, set, epoch) }
    return insertRows(sql, "code_epochs", [row])
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
export const vectorsIn = (sql: Sql, table: string, key: SetKey): VectorSource<SqlError> => ({
  ...key,

  countUpTo: (limit) =>
    only(sql, `SELECT count(*) AS count FROM (SELECT 1 FROM ${table} AS v LIMIT ?) AS few`, [limit]),

  after: (passage, limit, width) =>
    Effect.map(
      sql.unsafe<Row>(`SELECT passage_id, vector FROM ${table} AS v WHERE passage_id > ? ORDER BY passage_id LIMIT ?`, [
        passage,
        limit
      ]),
      (rows) => rising(rows.map(toRow(width)), passage, "vectors")
    ),

  of: (passages, width) =>
    Effect.map(
      sql.unsafe<Row>(`SELECT passage_id, vector FROM ${table} AS v WHERE passage_id ${inList} ORDER BY passage_id`, [
        list([...passages])
      ]),
      (rows) => rows.map(toRow(width))
    ),

  spread: Effect.fnUntraced(function* (count, width) {
    const [range] = yield* sql.unsafe<{ readonly first: number | null; readonly last: number | null }>(
      `SELECT (SELECT min(passage_id) FROM ${table} AS v) AS first, (SELECT max(passage_id) FROM ${table} AS v) AS last`
    )
    const { first, last } = range!
    if (first === null || last === null) return []
    const step = Math.max(1, (last - first + 1) / count)
    const ids = Array.from({ length: Math.min(count, last - first + 1) }, (_, i) => Math.floor(first + i * step))
    const vectors = yield* column<Uint8Array>(
      sql,
      `SELECT (SELECT vector FROM ${table} AS v WHERE passage_id >= j.value ORDER BY passage_id LIMIT 1) AS vector
       FROM json_each(?) AS j`,
      [list(ids)]
    )
    return vectors.map((vector) => vectorOf(vector, width))
  })
})

/** Hands the codes of a generation over to a hidden collection, to be swept. */
export const moveCodes = (sql: Sql, { collection, generation }: SetKey, hidden: number) =>
  sql.unsafe("UPDATE code_sets SET collection_id = ? WHERE collection_id = ? AND generation = ?", [
    hidden,
    collection,
    generation
  ])

/** Codes that are deleted at once: a few blocks. */
const few = 16_384

/** Deletes the codes of a generation: a few at once, more through a hidden collection of their own. */
export const retireCodes = Effect.fnUntraced(function* (sql: Sql, from: SetKey) {
  const found = Option.getOrUndefined(yield* codesOn(sql).find(from))
  if (found === undefined) return
  if (found.rows > few) yield* moveCodes(sql, from, yield* makeHidden(sql))
  else yield* sql.unsafe("DELETE FROM code_sets WHERE id = ?", [found.id])
})

/** Replaces the current codes, which are gone by now, with the next ones. */
export const switchCodesOver = Effect.fnUntraced(function* (sql: Sql, collection: number) {
  yield* retireCodes(sql, { collection, generation: "rebuilt" })
  yield* sql.unsafe("DELETE FROM rebuilds WHERE collection_id = ? AND kind = 'codes'", [collection])
  yield* sql.unsafe("UPDATE code_sets SET generation = 'current' WHERE collection_id = ? AND generation = 'next'", [
    collection
  ])
})
