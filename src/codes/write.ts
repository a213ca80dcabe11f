import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { inList, list } from "../Store/sqlite/rows.ts"
import { blockRows, concat, idsIn, pick, unpack } from "./layout.ts"
import { append, blocksOf, bodiesOf, deleteBlocks, insertBlocks } from "../Store/sqlite/codes/blocks.ts"
import { bytesOf, type Coded, encoder } from "./encoder.ts"
import { beginEpoch, currentEpoch } from "../Store/sqlite/codes/epochs.ts"
import { changed, type CodeSet, codesFormat, find, vectorOf, type Vectors } from "../Store/sqlite/codes/sets.ts"

interface Row {
  readonly id: number
  readonly vector: Float32Array
}

/** Vectors that a collection has before codes are made of them: fewer are scored exactly in no time. */
export const codesFrom = 4096

export const createSet = (sql: SqlClient.SqlClient, { collection, generation }: Vectors, width: number) =>
  Effect.map(
    sql.unsafe<CodeSet>(
      "INSERT INTO code_sets (collection_id, generation, width, seed, format) VALUES (?, ?, ?, ?, ?) RETURNING *",
      [collection, generation, width, 1, codesFormat]
    ),
    ([made]) => made!
  )

/** Makes codes of all vectors in a table. */
export const build = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  vectors: Vectors,
  { count, width }: { readonly count: number; readonly width: number }
) {
  const set = yield* createSet(sql, vectors, width)
  const { centroid, epoch } = yield* beginEpoch(sql, set, vectors.table, { epoch: 1, rows: count })
  const { encode } = encoder(set)
  let through = -1
  let rows = 0
  for (;;) {
    const some = yield* sql.unsafe<{ readonly passage_id: number; readonly vector: Uint8Array }>(
      `SELECT passage_id, vector FROM ${vectors.table} WHERE passage_id > ? ORDER BY passage_id LIMIT ?`,
      [through, blockRows]
    )
    if (some.length === 0) break
    const coded = encode(
      some.map((row) => ({ id: row.passage_id, vector: vectorOf(row.vector, width) })),
      centroid
    )
    yield* append(sql, set, epoch, coded)
    through = some.at(-1)!.passage_id
    rows += some.length
  }
  yield* changed(sql, set, rows)
})

export const countUpTo = (sql: SqlClient.SqlClient, table: string, limit: number) =>
  Effect.map(
    sql.unsafe<{ readonly count: number }>(`SELECT count(*) AS count FROM (SELECT 1 FROM ${table} LIMIT ?)`, [limit]),
    ([row]) => row!.count
  )

/** Makes codes of vectors that have just been put into their table. */
export const insert = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  vectors: Vectors,
  rows: ReadonlyArray<Row>
) {
  const first = rows[0]
  if (first === undefined) return
  const found = yield* find(sql, vectors)
  if (Option.isNone(found)) {
    const count = yield* countUpTo(sql, vectors.table, codesFrom + rows.length)
    // Where there were enough before, codes are missing: making them is a rebuild's business, a step at a time.
    if (count < codesFrom || count - rows.length >= codesFrom) return
    yield* build(sql, vectors, { count, width: first.vector.length })
    return
  }
  const set = found.value
  const { centroid, epoch } = yield* currentEpoch(sql, set, vectors.table, rows.length)
  yield* append(sql, set, epoch, encoder(set).encode(rows, centroid))
  yield* changed(sql, set, rows.length)
})

/** Takes passages' codes out, before or after their vectors go. What is left of a block is stored anew at once. */
export const remove = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  vectors: Vectors,
  ids: ReadonlyArray<number>
) {
  const found = yield* find(sql, vectors)
  if (Option.isNone(found) || ids.length === 0) return
  const set = found.value
  const leaving = Float64Array.from(ids).sort()
  const gone = new Set(ids)
  const latest = yield* currentEpoch(sql, set, vectors.table, 0)
  let removed = 0
  const small: Array<Coded> = []
  for (const block of yield* blocksOf(sql, set.id)) {
    const at = firstAtLeast(leaving, block.first)
    if (at === leaving.length || leaving[at]! > block.last) continue
    const [body] = yield* bodiesOf(sql, set, [block])
    const left: Array<number> = []
    idsIn(body!, block.rows).forEach((id, row) => gone.has(id) || left.push(row))
    if (left.length === block.rows) continue
    removed += block.rows - left.length
    yield* deleteBlocks(sql, [block.version])
    if (left.length === 0) continue
    const rest = pick(unpack(body!, block.rows, bytesOf(set.width)), left)
    if (left.length * 2 >= blockRows) yield* insertBlocks(sql, set, block.epoch, rest)
    else if (block.epoch === latest.epoch) small.push(rest)
    else {
      // What has grown small moves on to the latest centroid, where it finds others to go together with.
      const again = yield* sql.unsafe<{ readonly passage_id: number; readonly vector: Uint8Array }>(
        `SELECT passage_id, vector FROM ${vectors.table} WHERE passage_id ${inList} ORDER BY passage_id`,
        [list([...rest.ids])]
      )
      const rows = again.map((row) => ({ id: row.passage_id, vector: vectorOf(row.vector, set.width) }))
      small.push(encoder(set).encode(rows, latest.centroid))
    }
  }
  if (small.length > 0) yield* append(sql, set, latest.epoch, concat(small))
  if (removed > 0) yield* changed(sql, set, -removed)
})

const firstAtLeast = (sorted: Float64Array, value: number): number => {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! < value) low = middle + 1
    else high = middle
  }
  return low
}
