import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { randomBytes } from "node:crypto"
import { checked, crcOf } from "../crc.ts"
import { damaged, present } from "../../model/Damaged.ts"
import { inList, insertRows, list } from "./rows.ts"
import type { Block } from "../../postings/block.ts"
import { decodeHead, encodeHead, type Head } from "../../postings/head.ts"

/**
 * What becomes of a segment: it is searched, or a merge is filling it, or its rows are being taken away, or it waits for
 * the others of a rebuild.
 */
export const State = { live: 0, building: 1, garbage: 2, waiting: 3 } as const

/** The version of how segments are stored. Postings of a lower one are made anew from the stored texts. */
export const postingsFormat = 1

/**
 * Passages that came together, in order of their ids, and the postings of their terms. Never changed once it is live
 * but for its tombstones. The segments of a collection follow each other by their passages' ids.
 */
export interface Segment {
  readonly id: number
  readonly collection_id: number
  /** Its content's name: no other segment has it, in any database, not even after a rollback. */
  readonly stamp: number
  readonly passages: number
  /** Terms of all its passages together, the deleted ones' among them. */
  readonly terms: number
  readonly dead: number
  readonly dead_terms: number
  /** Its tombstones' name; another with every change of them. */
  readonly version: number
  readonly first_id: number
  readonly last_id: number
  readonly blocks: number
  /** While a merge fills it: the last term that is done. */
  readonly through: Buffer | null
  /** While a merge fills it: the segments that it takes the place of, in order. */
  readonly inputs: string | null
  readonly format: number
  /** `termsVersion` of the program that made its terms. */
  readonly terms_version: number
}

const columns = `id, collection_id, stamp, passages, terms, dead, dead_terms, version, first_id, last_id, blocks, through, inputs, format, terms_version`

/** A number that nothing else has: 48 random bits. */
export const unique = (): number => randomBytes(6).readUIntBE(0, 6)

/** Rows of a segment in the tables of postings and tombstones: `segment · span + number`. */
const span = 2 ** 20
const key = (segment: number, number: number): number => segment * span + number

/** Passages a segment has at most, which bounds its longest postings and its number of blocks. */
export const maxPassages = 2 ** 20

export const live = (sql: SqlClient.SqlClient, collection: number): Effect.Effect<ReadonlyArray<Segment>, SqlError> =>
  sql.unsafe<Segment>(
    `SELECT ${columns} FROM keyword_segments WHERE collection_id = ? AND state = ${State.live} ORDER BY first_id`,
    [collection]
  )

/** The segments that know a collection's passages: the live ones, and those of a rebuild. */
export const holding = (
  sql: SqlClient.SqlClient,
  collection: number
): Effect.Effect<ReadonlyArray<Segment>, SqlError> =>
  sql.unsafe<Segment>(
    `SELECT ${columns} FROM keyword_segments WHERE collection_id = ? AND state IN (${State.live}, ${State.waiting})
     ORDER BY state, first_id`,
    [collection]
  )

export const inState = (
  sql: SqlClient.SqlClient,
  state: (typeof State)[keyof typeof State]
): Effect.Effect<ReadonlyArray<Segment>, SqlError> =>
  sql.unsafe<Segment>(`SELECT ${columns} FROM keyword_segments WHERE state = ? ORDER BY collection_id, first_id, id`, [
    state
  ])

/** Collections whose postings are being made anew. */
export const rebuilding = (sql: SqlClient.SqlClient): Effect.Effect<ReadonlySet<number>, SqlError> =>
  Effect.map(
    sql.unsafe<{ readonly collection_id: number }>("SELECT collection_id FROM rebuilds WHERE kind = 'postings'"),
    (rows) => new Set(rows.map((row) => row.collection_id))
  )

/** Adds a segment and gives its id. */
export const add = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  segment: Pick<
    Segment,
    "collection_id" | "passages" | "terms" | "first_id" | "last_id" | "blocks" | "format" | "terms_version"
  > & {
    readonly stamp?: number
    readonly inputs?: ReadonlyArray<number>
    readonly state?: (typeof State)[keyof typeof State]
  }
) {
  const [row] = yield* sql.unsafe<{ readonly id: number }>(
    `INSERT INTO keyword_segments
       (collection_id, state, stamp, passages, terms, version, first_id, last_id, blocks, inputs, format, terms_version)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
    [
      segment.collection_id,
      segment.state ?? (segment.inputs === undefined ? State.live : State.building),
      segment.stamp ?? unique(),
      segment.passages,
      segment.terms,
      unique(),
      segment.first_id,
      segment.last_id,
      segment.blocks,
      segment.inputs === undefined ? null : list(segment.inputs),
      segment.format,
      segment.terms_version
    ]
  )
  return row!.id
})

export const addBlocks = (
  sql: SqlClient.SqlClient,
  segment: number,
  from: number,
  blocks: ReadonlyArray<Block>
): Effect.Effect<void, SqlError> =>
  insertRows(
    sql,
    "keyword_postings",
    ["id", "data", "crc"],
    blocks.map(({ data }, index) => {
      const id = key(segment, 1 + from + index)
      return [id, data, crcOf(data, id)]
    })
  )

export const putHead = (sql: SqlClient.SqlClient, segment: number, head: Head): Effect.Effect<unknown, SqlError> =>
  Effect.suspend(() => {
    const id = key(segment, 0)
    const data = encodeHead(head)
    return sql.unsafe("INSERT OR REPLACE INTO keyword_postings (id, data, crc) VALUES (?, ?, ?)", [
      id,
      data,
      crcOf(data, id)
    ])
  })

interface PartRow {
  readonly id: number
  readonly data: Buffer
  readonly crc: number | null
}

const nameOf = (id: number): string =>
  id % span === 0 ? `the head of segment ${id / span}` : `block ${(id % span) - 1} of segment ${Math.floor(id / span)}`

const bytesOf = ({ crc, data, id }: PartRow): Buffer => checked(data, crc, () => nameOf(id), id)

/** The heads of segments, by the segments' ids; every one is there. */
export const heads = (
  sql: SqlClient.SqlClient,
  segments: ReadonlyArray<number>
): Effect.Effect<ReadonlyMap<number, Head>, SqlError> =>
  Effect.map(
    sql.unsafe<PartRow>(`SELECT id, data, crc FROM keyword_postings WHERE id ${inList}`, [
      list(segments.map((segment) => key(segment, 0)))
    ]),
    (rows) => {
      const found = new Map(rows.map((row) => [row.id / span, decodeHead(bytesOf(row))]))
      for (const segment of segments) present(found.get(segment), () => nameOf(key(segment, 0)))
      return found
    }
  )

export interface BlockRef {
  readonly segment: number
  /** From 0 on. */
  readonly block: number
}

export const readBlock = (sql: SqlClient.SqlClient, { block, segment }: BlockRef): Effect.Effect<Buffer, SqlError> =>
  Effect.map(
    sql.unsafe<PartRow>("SELECT id, data, crc FROM keyword_postings WHERE id = ?", [key(segment, 1 + block)]),
    ([row]) => bytesOf(present(row, () => nameOf(key(segment, 1 + block))))
  )

/** Calls `use` with each block, in no order. */
export const readBlocks = (
  sql: SqlClient.SqlClient,
  refs: ReadonlyArray<BlockRef>,
  use: (ref: BlockRef, data: Buffer) => void
): Effect.Effect<void, SqlError> =>
  Effect.map(
    sql.unsafe<PartRow>(`SELECT id, data, crc FROM keyword_postings WHERE id ${inList}`, [
      list(refs.map(({ block, segment }) => key(segment, 1 + block)))
    ]),
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
  )

/** Blocks beyond which only their first term is of use: a single term's postings are most of them. */
const smallBlock = 64 * 1024

/** Calls `use` with each of the blocks that is not large, in no order. */
export const readSmallBlocks = (
  sql: SqlClient.SqlClient,
  refs: ReadonlyArray<BlockRef>,
  use: (data: Buffer) => void
): Effect.Effect<void, SqlError> =>
  Effect.map(
    sql.unsafe<PartRow>(
      `SELECT id, data, crc FROM keyword_postings WHERE id ${inList} AND length(data) <= ${smallBlock}`,
      [list(refs.map(({ block, segment }) => key(segment, 1 + block)))]
    ),
    (rows) => rows.forEach((row) => use(bytesOf(row)))
  )

/** The blocks' first terms, from the blocks themselves. */
export const firstTerms = (
  sql: SqlClient.SqlClient,
  segment: number,
  read: (start: Buffer) => Buffer
): Effect.Effect<Array<Buffer>, SqlError> =>
  Effect.map(
    sql.unsafe<{ readonly start: Buffer }>(
      "SELECT substr(data, 1, 1100) AS start FROM keyword_postings WHERE id > ? AND id < ? ORDER BY id",
      [key(segment, 0), key(segment + 1, 0)]
    ),
    (rows) => rows.map(({ start }) => read(start))
  )

/** Takes a segment's rows away, `most` at a time; true when all are gone. */
export const clear = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, segment: number, most: number) {
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
})

/** Ordinals to a row of tombstones. */
const chunkOrdinals = 8192

interface ChunkRow {
  readonly id: number
  readonly bits: Buffer
  readonly crc: number | null
}

const bitsOf = ({ bits, crc, id }: ChunkRow): Buffer => {
  const what = () => `a list of what is deleted in segment ${Math.floor(id / span)}`
  return bits.length === chunkOrdinals / 8 ? checked(bits, crc, what, id) : damaged(`${what()} has another length`)
}

/** A segment's tombstones: a bit for each passage, in bytes, the lowest bit first. */
export const tombstones = (
  sql: SqlClient.SqlClient,
  { dead, id, passages }: Pick<Segment, "id" | "passages" | "dead">
): Effect.Effect<Buffer, SqlError> => {
  const bits = Buffer.alloc(Math.ceil(passages / 8))
  if (dead === 0) return Effect.succeed(bits)
  return Effect.map(
    sql.unsafe<ChunkRow>("SELECT id, bits, crc FROM keyword_tombstones WHERE id >= ? AND id < ?", [
      key(id, 0),
      key(id + 1, 0)
    ]),
    (rows) => {
      for (const row of rows) bitsOf(row).copy(bits, ((row.id % span) * chunkOrdinals) / 8)
      // Without a row of them deleted passages would be found again.
      return countBits(bits) === dead ? bits : damaged(`the list of what is deleted in segment ${id} is not whole`)
    }
  )
}

/** Marks passages of a segment as deleted, by their ordinals; those that are already stay so. */
export const bury = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  segment: number,
  ordinals: ReadonlyArray<number>,
  lengthOf: (ordinal: number) => number
) {
  const chunks = new Map<number, Array<number>>()
  for (const ordinal of ordinals) {
    const chunk = Math.floor(ordinal / chunkOrdinals)
    const within = chunks.get(chunk)
    if (within === undefined) chunks.set(chunk, [ordinal])
    else within.push(ordinal)
  }
  let dead = 0
  let terms = 0
  for (const [chunk, within] of chunks) {
    const id = key(segment, chunk)
    const [row] = yield* sql.unsafe<ChunkRow>("SELECT id, bits, crc FROM keyword_tombstones WHERE id = ?", [id])
    const bits = row === undefined ? Buffer.alloc(chunkOrdinals / 8) : bitsOf(row)
    for (const ordinal of within) {
      const at = (ordinal % chunkOrdinals) >>> 3
      const bit = 1 << (ordinal & 7)
      if (((bits[at] as number) & bit) !== 0) continue
      bits[at] = (bits[at] as number) | bit
      dead++
      terms += lengthOf(ordinal)
    }
    yield* sql.unsafe("INSERT OR REPLACE INTO keyword_tombstones (id, bits, crc) VALUES (?, ?, ?)", [
      id,
      bits,
      crcOf(bits, id)
    ])
  }
  yield* sql.unsafe(
    "UPDATE keyword_segments SET dead = dead + ?, dead_terms = dead_terms + ?, version = ? WHERE id = ?",
    [dead, terms, unique(), segment]
  )
})

const countBits = (bits: Uint8Array): number => {
  let count = 0
  for (let i = 0; i < bits.length; i++) for (let byte = bits[i] as number; byte !== 0; byte &= byte - 1) count++
  return count
}

export const isDead = (bits: Uint8Array, ordinal: number): boolean =>
  (((bits[ordinal >>> 3] as number) >>> (ordinal & 7)) & 1) === 1
