import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { CollectionSummary } from "../../model/Collection.ts"
import { damaged, rising } from "../../model/Damaged.ts"
import type { Told } from "../../upkeep/Examiner.ts"
import { mentionsOf } from "../../entities/extract.ts"
import { relations } from "../../entities/mention.ts"
import { pack, unpack } from "../../entities/pack.ts"
import { fromStored } from "../../entities/said.ts"
import { crcOf } from "../crc.ts"
import { askedOf } from "../sqlite/graph/answers.ts"
import { textColumns, type TextRow, toGraphRow } from "../sqlite/graph/edges.ts"
import { fail, ok, some, warn } from "./finding.ts"

interface Row extends TextRow {
  readonly mentions: Uint8Array | null
  readonly asked: string | null
  readonly answer: string | null
}

interface Edge {
  readonly entity: number
  readonly relation: number
  readonly passage: number
  readonly ordinal: number
}

const page = 1000

const isAfter = (a: Edge, b: Edge): boolean =>
  (a.entity - b.entity || a.relation - b.relation || a.passage - b.passage) > 0

const nothing = new Uint8Array()

/** A digest of a passage's edges, independent of their order. */
const digestOf = ({ entity, ordinal, passage, relation }: Edge): number =>
  crcOf(nothing, entity, relation, passage, ordinal)

/**
 * Checks the knowledge graph: compares mentions computed again from the texts, and both of its tables with each other.
 */
export const graph = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { id, name, passages }: CollectionSummary,
  told: Told
) {
  // What remains of each passage's edges when those of one table are subtracted from those of the other.
  const digests = new Map<number, number>()
  const add = (passage: number, digest: number) => digests.set(passage, (digests.get(passage) ?? 0) + digest)
  const other: Array<number> = []
  let known = 0
  let missing = 0
  for (let after = 0; ;) {
    const rows = yield* sql.unsafe<Row>(
      `SELECT ${textColumns}, g.mentions, a.asked, a.answer
       FROM passages AS p CROSS JOIN documents AS d ON d.id = p.document_id
         LEFT JOIN graph_passages AS g ON g.passage_id = p.id LEFT JOIN graph_answers AS a ON a.passage_id = p.id
       WHERE d.collection_id = ? AND p.id > ? ORDER BY p.id LIMIT ${page}`,
      [id, after]
    )
    const last = rising(rows, after, "passages").at(-1)
    if (last === undefined) break
    after = last.id
    yield* told(`graph of ${name}`, { done: known + missing, total: passages })
    for (const { answer, asked, mentions, ...row } of rows) {
      const { id: passage, ordinal } = row
      if (mentions === null) {
        missing++
        continue
      }
      known++
      const its = toGraphRow(row)
      const said = Option.getOrUndefined(Option.flatMap(Option.fromNullable(answer), fromStored))
      const made = pack(mentionsOf({ ...its, said }))
      if (asked !== null && (said === undefined || asked !== askedOf(its))) other.push(passage)
      else if (Buffer.compare(Buffer.from(made), Buffer.from(mentions)) !== 0) other.push(passage)
      const edges = new Set(
        unpack(mentions).map(({ entity, relation }) =>
          digestOf({ entity, relation: relations.indexOf(relation), passage, ordinal })
        )
      )
      for (const digest of edges) add(passage, digest)
    }
  }
  let at: Edge = { entity: -1, relation: -1, passage: -1, ordinal: -1 }
  for (;;) {
    const rows = yield* sql.unsafe<Edge>(
      `SELECT entity, relation, passage_id AS passage, ordinal FROM graph_mentions
       WHERE collection_id = ? AND (entity, relation, passage_id) > (?, ?, ?)
       ORDER BY entity, relation, passage_id LIMIT ${page}`,
      [id, at.entity, at.relation, at.passage]
    )
    for (const row of rows) {
      if (!isAfter(row, at)) damaged(`mentions are out of order at passage ${row.passage}`)
      at = row
      add(row.passage, -digestOf(row))
    }
    if (rows.length < page) break
    yield* told(`mentions in the graph of ${name}`)
  }
  const cure = { _tag: "Graph", collection: id } as const
  const torn = [...digests].flatMap(([passage, digest]) => (digest === 0 ? [] : [passage]))
  if (torn.length > 0) {
    return [fail("graph", `collection ${name}: inconsistent mentions of passages: ${some(torn)}`, undefined, cure)]
  }
  if (other.length > 0) {
    const text = `collection ${name}: ${other.length} passages have mentions from another version or another text`
    return [warn("graph", text, "run `clew doctor --fix`", cure)]
  }
  return known > 0 && missing > 0
    ? [warn("graph", `collection ${name}: ${missing} passages are not in the graph`, "run `clew graph build`", cure)]
    : [ok("graph", `collection ${name}: ${known} passages are in the graph, and their mentions match their texts`)]
})
