import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { damaged, present } from "../../model/Damaged.ts"
import { type BlockRef, type Segment, type SegmentStore, State, chunkOrdinals } from "../../postings/SegmentStore.ts"
import { decodeHead, encodeHead } from "../../postings/block.ts"
import { unique } from "../../postings/tombstones.ts"
import { checked, crcOf } from "../crc.ts"
import { type Sql, inList, insertOne, insertRows, list, column, replaceRow } from "./rows.ts"
import { unchanged } from "./unchanged.ts"

const columns = `id, collection_id, stamp, passages, terms, dead, dead_terms, version, first_id, last_id, blocks, through, inputs, format, terms_version, languages`

/** Row ids of a segment in the tables of postings and tombstones: `segment * span + number`. */
const span = 2 ** 20
const key = (segment: number, number: number): number => segment * span + number

interface PartRow {
  readonly id: number
  readonly data: Buffer
  readonly crc: number | null
}

const nameOf = (id: number): string =>
  id % span === 0 ? `the head of segment ${id / span}` : `block ${(id % span) - 1} of segment ${Math.floor(id / span)}`

const bytesOf = ({ crc, data, id }: PartRow): Buffer => checked(data, crc, () => nameOf(id), id)

interface ChunkRow {
  readonly id: number
  readonly bits: Buffer
  readonly crc: number | null
}

const bitsOf = ({ bits, crc, id }: ChunkRow): Buffer => {
  const what = () => `a list of deleted passages in segment ${Math.floor(id / span)}`
  return bits.length === chunkOrdinals / 8 ? checked(bits, crc, what, id) : damaged(`${what()} has the wrong length`)
}

const keysOf = (refs: ReadonlyArray<BlockRef>): string =>
  list(refs.map(({ block, segment }) => key(segment, 1 + block)))

const made = new WeakMap<Sql, SegmentStore<SqlError>>()

/** The segments in a database: heads and blocks in one table, chunks of tombstones in another. One per connection. */
export const segmentsOn = (sql: Sql): SegmentStore<SqlError> => {
  const known = made.get(sql) ?? make(sql)
  made.set(sql, known)
  return known
}

const make = (sql: Sql): SegmentStore<SqlError> => ({
  live: (collection) =>
    unchanged(
      sql,
      `segments of ${collection}`,
      sql.unsafe<Segment>(
        `SELECT ${columns} FROM keyword_segments WHERE collection_id = ? AND state = ${State.live} ORDER BY first_id`,
        [collection]
      )
    ),

  holding: (collection) =>
    sql.unsafe<Segment>(
      `SELECT ${columns} FROM keyword_segments WHERE collection_id = ? AND state IN (${State.live}, ${State.waiting})
       ORDER BY state, first_id`,
      [collection]
    ),

  inState: (state) =>
    sql.unsafe<Segment>(
      `SELECT ${columns} FROM keyword_segments WHERE state = ? ORDER BY collection_id, first_id, id`,
      [state]
    ),

  rebuilding: Effect.map(
    column<number>(sql, "SELECT collection_id FROM rebuilds WHERE kind = 'postings'"),
    (ids) => new Set(ids)
  ),

  add: ({ inputs, stamp = unique(), state = inputs === undefined ? State.live : State.building, ...segment }) => {
    const row = { ...segment, stamp, state, version: unique(), inputs: inputs === undefined ? null : list(inputs) }
    return Effect.map(insertOne<Segment>(sql, "keyword_segments", row), ({ id }) => id)
  },

  advanced: (segment, through, blocks) =>
    sql.unsafe("UPDATE keyword_segments SET through = ?, blocks = ? WHERE id = ?", [through, blocks, segment]),

  completed: (segment, blocks) =>
    sql.unsafe(
      `UPDATE keyword_segments SET state = ${State.live}, blocks = ?, through = NULL, inputs = NULL WHERE id = ?`,
      [blocks, segment]
    ),

  discard: (segment) => sql.unsafe(`UPDATE keyword_segments SET state = ${State.garbage} WHERE id = ?`, [segment]),

  clear: Effect.fnUntraced(function* (segment, most) {
    const range = [key(segment, 0), key(segment + 1, 0)]
    const taken = yield* sql.unsafe(
      `DELETE FROM keyword_postings WHERE id IN
         (SELECT id FROM keyword_postings WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT ?) RETURNING 1`,
      [...range, most]
    )
    if (taken.length === most) return false
    yield* sql.unsafe("DELETE FROM keyword_tombstones WHERE id >= ? AND id < ?", range)
    yield* sql.unsafe("DELETE FROM keyword_segments WHERE id = ?", [segment])
    return true
  }),

  putHead: (segment, head) =>
    Effect.suspend(() => {
      const id = key(segment, 0)
      const data = encodeHead(head)
      return replaceRow(sql, "keyword_postings", "id", { id, data, crc: crcOf(data, id) })
    }),

  heads: (segments) =>
    Effect.map(
      sql.unsafe<PartRow>(`SELECT id, data, crc FROM keyword_postings WHERE id ${inList}`, [
        list(segments.map((segment) => key(segment, 0)))
      ]),
      (rows) => {
        const found = new Map(rows.map((row) => [row.id / span, decodeHead(bytesOf(row))]))
        for (const segment of segments) present(found.get(segment), () => nameOf(key(segment, 0)))
        return found
      }
    ),

  addBlocks: (segment, from, blocks) =>
    insertRows(
      sql,
      "keyword_postings",
      blocks.map(({ data }, index) => {
        const id = key(segment, 1 + from + index)
        return { id, data, crc: crcOf(data, id) }
      })
    ),

  readBlock: ({ block, segment }) =>
    Effect.map(
      sql.unsafe<PartRow>("SELECT id, data, crc FROM keyword_postings WHERE id = ?", [key(segment, 1 + block)]),
      ([row]) => bytesOf(present(row, () => nameOf(key(segment, 1 + block))))
    ),

  readBlocks: (refs, use) =>
    Effect.map(
      sql.unsafe<PartRow>(`SELECT id, data, crc FROM keyword_postings WHERE id ${inList}`, [keysOf(refs)]),
      (rows) => {
        if (rows.length < refs.length) {
          const there = new Set(rows.map(({ id }) => id))
          const gone = refs.find(({ block, segment }) => !there.has(key(segment, 1 + block)))
          if (gone !== undefined) present(undefined, () => nameOf(key(gone.segment, 1 + gone.block)))
        }
        for (const row of rows) {
          const { id } = row
          use({ segment: Math.floor(id / span), block: (id % span) - 1 }, bytesOf(row))
        }
      }
    ),

  readSmallBlocks: (refs, most, use) =>
    Effect.map(
      sql.unsafe<PartRow>(`SELECT id, data, crc FROM keyword_postings WHERE id ${inList} AND length(data) <= ?`, [
        keysOf(refs),
        most
      ]),
      (rows) => rows.forEach((row) => use(bytesOf(row)))
    ),

  blockStarts: (segment, bytes) =>
    column(sql, "SELECT substr(data, 1, ?) AS start FROM keyword_postings WHERE id > ? AND id < ? ORDER BY id", [
      bytes,
      key(segment, 0),
      key(segment + 1, 0)
    ]),

  tombstones: (segment, chunk) =>
    Effect.map(
      sql.unsafe<ChunkRow>("SELECT id, bits, crc FROM keyword_tombstones WHERE id >= ? AND id < ?", [
        key(segment, chunk ?? 0),
        chunk === undefined ? key(segment + 1, 0) : key(segment, chunk + 1)
      ]),
      (rows) => new Map(rows.map((row) => [row.id % span, bitsOf(row)]))
    ),

  putTombstones: (segment, chunk, bits) => {
    const id = key(segment, chunk)
    return replaceRow(sql, "keyword_tombstones", "id", { id, bits, crc: crcOf(bits, id) })
  },

  buried: (segment, dead, terms, version) =>
    sql.unsafe("UPDATE keyword_segments SET dead = dead + ?, dead_terms = dead_terms + ?, version = ? WHERE id = ?", [
      dead,
      terms,
      version,
      segment
    ])
})
