import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { checked, crcOf } from "../../crc.ts"
import { damaged, parsed, present } from "../../../model/Damaged.ts"
import { inList, insertRows, list } from "../rows.ts"
import { blockRows, bodyBytes, concat, pack, slice, sorted, unpack } from "../../../codes/layout.ts"
import { bytesOf, type Coded } from "../../../codes/encoder.ts"
import type { CodeSet } from "./sets.ts"

/** A stored block, but for its body: the rows it has, and its least and greatest passage id. */
export interface Block {
  readonly version: number
  readonly epoch: number
  readonly rows: number
  readonly first: number
  readonly last: number
}

/** Every block of a set by version; read as one text, since a row costs more to carry over than to read. */
export const blocksOf = (sql: SqlClient.SqlClient, set: number): Effect.Effect<ReadonlyArray<Block>, SqlError> =>
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
  )

/** What a block's bytes belong to. */
const namesOf = (set: number, { epoch, first, last, rows }: Omit<Block, "version">) => [set, epoch, rows, first, last]

/** Blocks' bytes, each in the order asked for; they are what was stored, and as long as their rows take. */
export const bodiesOf = (
  sql: SqlClient.SqlClient,
  set: Pick<CodeSet, "id" | "width">,
  blocks: ReadonlyArray<Block>
): Effect.Effect<ReadonlyArray<Uint8Array>, SqlError> =>
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
        if (body.length !== bodyBytes(block.rows, bytesOf(set.width))) damaged(`${what()} has another length`)
        return checked(body, crc, what, ...namesOf(set.id, block))
      })
    }
  )

/**
 * Puts codes into blocks of an epoch. Blocks that are not larger than what comes in are taken up in the new one, so
 * that a row is written over about log₂(1,024) times however few come at a time, and few blocks are not full.
 */
export const append = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  set: CodeSet,
  epoch: number,
  coded: Coded
) {
  if (coded.ids.length === 0) return
  const open = yield* sql.unsafe<Block>(
    `SELECT version, epoch, rows, first, last FROM code_blocks INDEXED BY code_blocks_set
     WHERE set_id = ? AND epoch = ? AND rows < ? ORDER BY rows, version`,
    [set.id, epoch, blockRows]
  )
  let count = coded.ids.length
  const taken: Array<Block> = []
  for (const block of open) {
    if (block.rows > Math.max(32, count)) break
    taken.push(block)
    count += block.rows
  }
  taken.sort((a, b) => a.version - b.version)
  const versions = taken.map(({ version }) => version)
  const bodies = taken.length === 0 ? [] : yield* bodiesOf(sql, set, taken)
  const all = sorted(concat([...bodies.map((body, i) => unpack(body, taken[i]!.rows, bytesOf(set.width))), coded]))
  yield* deleteBlocks(sql, versions)
  yield* insertBlocks(sql, set, epoch, all)
})

/** Stores rows as blocks of their own. */
export const insertBlocks = (sql: SqlClient.SqlClient, set: CodeSet, epoch: number, coded: Coded) => {
  const blocks: Array<ReadonlyArray<unknown>> = []
  for (let from = 0; from < coded.ids.length; from += blockRows) {
    const part = slice(coded, from, from + blockRows)
    const block = { epoch, rows: part.ids.length, first: least(part.ids), last: greatest(part.ids) }
    const body = pack(part)
    const crc = crcOf(body, ...namesOf(set.id, block))
    blocks.push([set.id, epoch, block.rows, block.first, block.last, body, crc])
  }
  return insertRows(sql, "code_blocks", ["set_id", "epoch", "rows", "first", "last", "body", "crc"], blocks)
}

const least = (ids: Uint32Array) => ids.reduce((a, b) => Math.min(a, b))
const greatest = (ids: Uint32Array) => ids.reduce((a, b) => Math.max(a, b))

export const deleteBlocks = (sql: SqlClient.SqlClient, versions: ReadonlyArray<number>) =>
  versions.length === 0 ? Effect.void : sql.unsafe(`DELETE FROM code_blocks WHERE version ${inList}`, [list(versions)])
