import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { CollectionSummary } from "../../model/Collection.ts"
import { nextTurnOrEnd } from "../../runtime/EventLoop.ts"
import type { Told } from "../../upkeep/Examiner.ts"
import { crcOf } from "../crc.ts"
import { verify } from "../sqlite/keyword.ts"
import { unpack } from "../../codes/layout.ts"
import { bytesOf, encoder } from "../../codes/encoder.ts"
import { codesOn, vectorOf } from "../sqlite/codes.ts"
import { inList, list } from "../sqlite/rows.ts"
import { damaged, present, rising } from "../../model/Damaged.ts"
import { fail, ok, some } from "./finding.ts"

const rebuild = (kind: "postings" | "codes", collection: number) => ({ _tag: "Rebuild", kind, collection }) as const

/** Compares postings, lengths and tombstones with terms computed again from the texts. */
export const postings = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { id, name, passages }: CollectionSummary,
  told: Told
) {
  const said = yield* verify(sql, id, {
    pause: nextTurnOrEnd,
    through: (done) => told(`postings of ${name}`, { done, total: passages })
  })
  return said.length === 0
    ? [ok("postings", `collection ${name}: the postings of ${passages} passages match their texts`)]
    : [fail("postings", `collection ${name}: ${some(said)}`, undefined, rebuild("postings", id))]
})

interface VectorRow {
  readonly id: number
  readonly vector: Uint8Array
  readonly crc: number | null
}

const page = 2000

/** Checks vectors' checksums and lengths, and that passages have vectors. */
export const vectors = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { embedder, id, name, passages }: CollectionSummary,
  told: Told
) {
  const altered: Array<number> = []
  let count = 0
  for (let after = -1; ;) {
    const rows = yield* sql.unsafe<VectorRow>(
      `SELECT passage_id AS id, vector, crc FROM vectors_${id} WHERE passage_id > ? ORDER BY passage_id LIMIT ${page}`,
      [after]
    )
    if (rows.length === 0) break
    after = rising(rows, after, "vectors").at(-1)!.id
    count += rows.length
    yield* told(`vectors of ${name}`, { done: count, total: passages })
    for (const { crc, id: passage, vector } of rows) {
      if (vector.byteLength !== 4 * embedder.dimensions || (crc !== null && crcOf(vector, passage) !== crc)) {
        altered.push(passage)
      }
    }
  }
  const orphans = yield* sql.unsafe<{ readonly id: number }>(
    `SELECT passage_id AS id FROM vectors_${id} AS v WHERE NOT EXISTS (
       SELECT 1 FROM passages AS p JOIN documents AS d ON d.id = p.document_id
       WHERE p.id = v.passage_id AND d.collection_id = ?)`,
    [id]
  )
  const both = yield* sql.unsafe<{ readonly id: number }>(
    `SELECT passage_id AS id FROM vectorless WHERE generation = 'current'
     AND EXISTS (SELECT 1 FROM vectors_${id} AS v WHERE v.passage_id = vectorless.passage_id)`
  )
  const wrong = [...altered, ...orphans.map((row) => row.id), ...both.map((row) => row.id)]
  return wrong.length === 0
    ? [ok("vectors", `collection ${name}: ${count} vectors are unchanged`)]
    : [
        fail(
          "vectors",
          `collection ${name}: altered vectors, or vectors without a passage: ${some(wrong)}`,
          undefined,
          {
            _tag: "Vectors",
            collection: id,
            passages: wrong
          }
        )
      ]
})

/** Computes codes again from the vectors and compares them. */
export const codes = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { id, name }: CollectionSummary,
  told: Told
) {
  const store = codesOn(sql)
  const set = Option.getOrUndefined(yield* store.find({ collection: id, generation: "current" }))
  if (set === undefined) return []
  const centroids = new Map((yield* store.centroids(set)).map(({ centroid, epoch }) => [epoch, centroid]))
  const { encode } = encoder(set)
  const seen = new Set<number>()
  for (const block of yield* store.blocks(set.id)) {
    yield* told(`codes of ${name}`, { done: seen.size, total: set.rows })
    const [body] = yield* store.bodies(set, [block])
    const stored = unpack(body!, block.rows, bytesOf(set.width))
    const rows = yield* sql.unsafe<{ readonly id: number; readonly vector: Uint8Array }>(
      `SELECT passage_id AS id, vector FROM vectors_${id} WHERE passage_id ${inList} ORDER BY passage_id`,
      [list([...stored.ids])]
    )
    const centroid = present(centroids.get(block.epoch), () => `centroid ${block.epoch}`)
    const made = encode(
      rows.map((row) => ({ id: row.id, vector: vectorOf(row.vector, set.width) })),
      centroid
    )
    const isSame =
      Buffer.compare(Buffer.from(made.codes), Buffer.from(stored.codes)) === 0 &&
      made.ids.every((passage, row) => passage === stored.ids[row] && Object.is(made.factors[row], stored.factors[row]))
    if (made.ids.length !== stored.ids.length || !isSame)
      damaged(`code block ${block.version} does not match its vectors`)
    for (const passage of stored.ids) {
      if (seen.has(passage)) damaged(`passage ${passage} has two codes`)
      seen.add(passage)
    }
  }
  const [row] = yield* sql.unsafe<{ readonly count: number }>(`SELECT count(*) AS count FROM vectors_${id}`)
  return seen.size === row!.count && seen.size === set.rows
    ? [ok("codes", `collection ${name}: the codes of ${seen.size} vectors match them`)]
    : [
        fail(
          "codes",
          `collection ${name}: ${row!.count} vectors have ${seen.size} codes`,
          undefined,
          rebuild("codes", id)
        )
      ]
})
