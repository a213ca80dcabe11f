import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Finding, Told } from "../../Store.ts"
import { bytesOf, encoder } from "../../codes/encoder.ts"
import { unpack as unpackCodes } from "../../codes/layout.ts"
import { mentionsOf } from "../../entities/extract.ts"
import { hashOf, isName, pack, relations, unpack } from "../../entities/mention.ts"
import { fromStored } from "../../entities/said.ts"
import type { CollectionSummary } from "../../model/Collection.ts"
import type { Rebuild } from "../../model/Stored.ts"
import { ok } from "../../model/Check.ts"
import { damaged, present, rising } from "../../model/Damaged.ts"
import { nextTurnOrEnd } from "../../runtime/EventLoop.ts"
import { crcOf } from "../crc.ts"
import { codesOn } from "../sql/codes.ts"
import { type GraphTextRow, askedOf } from "../core/graph.ts"
import { allEdges } from "../sql/graph/byEntity.ts"
import { graphColumns, toGraphRow } from "../sql/graph/edges.ts"
import { verify } from "../sql/keyword.ts"
import * as collections from "../sql/collections.ts"
import { dialectOf } from "../sql/dialect.ts"
import * as rebuilding from "../sql/rebuild.ts"
import { type Sql, list, column, only } from "../sql/rows.ts"
import { vectorTable } from "../sql/vectorTable.ts"
import { vectorsOf } from "../sql/vectors.ts"
import { fail, guarded, orOk, warn, wrongly } from "./findings.ts"

const countOf = (sql: Sql, from: string, params: ReadonlyArray<unknown> = []) =>
  only<number>(sql, `SELECT count(*) AS count FROM ${from}`, params)

const rebuild = (kind: Rebuild["kind"], collection: number) => ({ _tag: "Rebuild", kind, collection }) as const

/** Compares postings, lengths and tombstones with terms computed again from the texts. */
const postings = (sql: Sql, { id, name, passages }: CollectionSummary, told: Told) =>
  Effect.map(
    verify(sql, id, {
      pause: nextTurnOrEnd,
      through: (done) => told(`postings of ${name}`, { done, total: passages })
    }),
    (said) =>
      orOk(
        wrongly("postings", `collection ${name}`, said, rebuild("postings", id)),
        "postings",
        `collection ${name}: the postings of ${passages} passages match their texts`
      )
  )

const page = 2000

/** Checks vectors' checksums and lengths, and that each is of a passage; doctor asks for those that are missing. */
export const vectors = Effect.fnUntraced(function* (
  sql: Sql,
  { embedder, id, name, passages }: CollectionSummary,
  told: Told
) {
  const altered: Array<number> = []
  let count = 0
  for (let after = -1; ;) {
    const rows = yield* sql.unsafe<{ readonly id: number; readonly vector: Uint8Array; readonly crc: number | null }>(
      `SELECT passage_id AS id, vector, crc FROM ${vectorTable(sql).of(id)} AS v WHERE passage_id > ? ORDER BY passage_id LIMIT ${page}`,
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
  const others = yield* column<number>(
    sql,
    `SELECT passage_id AS id FROM ${vectorTable(sql).of(id)} AS v WHERE NOT EXISTS (
       SELECT 1 FROM passages AS p JOIN documents AS d ON d.id = p.document_id
       WHERE p.id = v.passage_id AND d.collection_id = ?)
     UNION ALL
     SELECT passage_id FROM vectorless WHERE generation = 'current'
       AND EXISTS (SELECT 1 FROM ${vectorTable(sql).of(id)} AS v WHERE v.passage_id = vectorless.passage_id)`,
    [id]
  )
  const wrong = [...altered, ...others]
  return orOk(
    wrongly("vectors", `collection ${name}: altered vectors, or vectors without a passage`, wrong, {
      _tag: "Vectors",
      collection: id,
      passages: wrong
    }),
    "vectors",
    `collection ${name}: ${count} vectors are unchanged`
  )
})

/** Computes codes again from the vectors and compares them. */
const codes = Effect.fnUntraced(function* (sql: Sql, { id, name }: CollectionSummary, told: Told) {
  const store = codesOn(sql)
  const set = Option.getOrUndefined(yield* store.find({ collection: id, generation: "current" }))
  if (set === undefined) return []
  const centroids = new Map((yield* store.centroids(set)).map(({ centroid, epoch }) => [epoch, centroid]))
  const { encode } = encoder(set)
  const seen = new Set<number>()
  for (const block of yield* store.blocks(set.id)) {
    yield* told(`codes of ${name}`, { done: seen.size, total: set.rows })
    const [body] = yield* store.bodies(set, [block])
    const stored = unpackCodes(body!, block.rows, bytesOf(set.width))
    const made = encode(
      yield* vectorsOf(sql, id).of([...stored.ids], set.width),
      present(centroids.get(block.epoch), () => `centroid ${block.epoch}`)
    )
    const isSame =
      made.ids.length === stored.ids.length &&
      Buffer.compare(Buffer.from(made.codes), Buffer.from(stored.codes)) === 0 &&
      made.ids.every((passage, row) => passage === stored.ids[row] && Object.is(made.factors[row], stored.factors[row]))
    if (!isSame) damaged(`code block ${block.version} does not match its vectors`)
    for (const passage of stored.ids) {
      if (seen.has(passage)) damaged(`passage ${passage} has two codes`)
      seen.add(passage)
    }
  }
  const count = yield* countOf(sql, `${vectorTable(sql).of(id)} AS v`)
  if (seen.size !== count || seen.size !== set.rows) damaged(`${count} vectors have ${seen.size} codes`)
  return [ok("codes", `collection ${name}: the codes of ${seen.size} vectors match them`)]
})

interface GraphRow extends GraphTextRow {
  readonly mentions: Uint8Array | null
  readonly asked: string | null
  readonly answer: string | null
}

const graphPage = 1000

/** Checks the knowledge graph: mentions and names with those of the texts, and its tables with each other. */
const graph = Effect.fnUntraced(function* (sql: Sql, { id, name, passages }: CollectionSummary, told: Told) {
  const torn = new Set<number>()
  let [known, missing, other, edges, unnamed] = [0, 0, 0, 0, 0]
  for (let after = 0; ;) {
    const rows = yield* sql.unsafe<GraphRow>(
      `SELECT ${graphColumns}, g.mentions, a.asked, a.answer
       FROM passages AS p CROSS JOIN documents AS d ON d.id = p.document_id
         LEFT JOIN graph_passages AS g ON g.passage_id = p.id LEFT JOIN graph_answers AS a ON a.passage_id = p.id
       WHERE d.collection_id = ? AND p.id > ? ORDER BY p.id LIMIT ${graphPage}`,
      [id, after]
    )
    const last = rising(rows, after, "passages").at(-1)
    if (last === undefined) break
    after = last.id
    yield* told(`graph of ${name}`, { done: known + missing, total: passages })
    const named = new Set<number>()
    const its = rows.flatMap(({ answer, asked, mentions, ...row }) => {
      if (mentions === null) return []
      const text = toGraphRow(row)
      const said = Option.getOrUndefined(Option.flatMap(Option.fromNullable(answer), fromStored))
      const made = mentionsOf({ ...text, said })
      const isAsked = asked === null || (said !== undefined && asked === askedOf(text))
      if (!isAsked || Buffer.compare(Buffer.from(pack(made)), Buffer.from(mentions)) !== 0) other++
      else for (const { key } of made) if (isName(key)) named.add(hashOf(key))
      return unpack(mentions).map(({ entity, relation }) => [entity, relations.indexOf(relation), row.id, row.ordinal])
    })
    const stored = yield* sql.unsafe<{ readonly passage: number; readonly same: number }>(
      `SELECT CAST(e.value ->> 2 AS BIGINT) AS passage,
         CASE WHEN EXISTS (SELECT 1 FROM ${allEdges} AS m WHERE m.collection_id = ?
            AND m.entity = CAST(e.value ->> 0 AS BIGINT) AND m.relation = CAST(e.value ->> 1 AS BIGINT)
            AND m.passage_id = CAST(e.value ->> 2 AS BIGINT) AND m.ordinal = CAST(e.value ->> 3 AS BIGINT))
         THEN 1 ELSE 0 END AS same
       FROM ${dialectOf(sql).rows("e")}`,
      [id, JSON.stringify(its)]
    )
    for (const { passage, same } of stored) if (same === 0) torn.add(passage)
    unnamed += yield* countOf(
      sql,
      `json_each(?) AS asked LEFT JOIN graph_names AS n ON n.collection_id = ? AND n.entity = asked.value
       WHERE n.entity IS NULL`,
      [list([...named]), id]
    )
    const graphed = rows.filter(({ mentions }) => mentions !== null).length
    known += graphed
    missing += rows.length - graphed
    edges += stored.length
  }
  const stray = (yield* countOf(sql, `${allEdges} AS m WHERE collection_id = ?`, [id])) - edges
  const nobodys = yield* countOf(
    sql,
    `graph_names AS n WHERE n.collection_id = ? AND NOT EXISTS (
       SELECT 1 FROM ${allEdges} AS m WHERE m.collection_id = n.collection_id AND m.entity = n.entity)`,
    [id]
  )
  const cure = rebuild("graph", id)
  const wrong = [
    ...[...torn].map((passage) => `passage ${passage}`),
    ...(stray === 0 ? [] : [`${stray} mentions too many`]),
    ...(unnamed === 0 ? [] : [`${unnamed} names are missing`]),
    ...(nobodys === 0 ? [] : [`${nobodys} names are of no passage`])
  ]
  if (wrong.length > 0) return wrongly("graph", `collection ${name}: inconsistent mentions or names`, wrong, cure)
  if (other > 0) {
    const text = `collection ${name}: ${other} passages have mentions from another version or another text`
    return [warn("graph", text, "run `clew doctor --fix`", cure)]
  }
  return known > 0 && missing > 0
    ? [warn("graph", `collection ${name}: ${missing} passages are not in the graph`, "run `clew graph build`", cure)]
    : [ok("graph", `collection ${name}: ${known} passages are in the graph, and their mentions match their texts`)]
})

const looks = { postings, codes, graph }

/** Passages that a second of a rebuild handles, on a slow machine. */
const aSecond = { postings: 7_000, codes: 8_000, graph: 4_000 } as const

/** Derived data of every collection, and its vectors. */
export const everyCollection = Effect.fnUntraced(function* (sql: Sql, told: Told) {
  const findings: Array<Finding> = []
  const pending = yield* Effect.orElseSucceed(rebuilding.pending(sql), () => [])
  const later = yield* Effect.orElseSucceed(rebuilding.later(sql), () => [])
  const known = yield* Effect.orElseSucceed(collections.all(sql), () => [])
  for (const collection of known) {
    const { id, name, passages } = collection
    for (const kind of ["postings", "codes", "graph"] as const) {
      if (later.some((one) => one.collection === id && one.kind === kind)) {
        findings.push(warn(kind, `collection ${name}: built by a newer Clew, so not checked`, "update Clew"))
        continue
      }
      const due = pending.find((one) => one.collection === name && one.kind === kind)
      const cure = rebuild(kind, id)
      const before = findings.length
      if (due === undefined) findings.push(...(yield* guarded(kind, looks[kind](sql, collection, told), cure)))
      else {
        const text = `collection ${name}: ${due.missing ? "missing" : "made by another version, or incomplete"}`
        findings.push(
          due.missing
            ? fail(kind, text, undefined, cure)
            : warn(kind, text, "run `clew doctor --fix`, or leave it to `clew serve` or `clew mcp`", cure)
        )
      }
      const found = findings.slice(before).find((finding) => finding.cure?._tag === "Rebuild")
      const seconds = Math.ceil(passages / aSecond[kind])
      if (found !== undefined && seconds > 1) {
        const next = `${found.next ?? ""}; the rebuild takes about ${seconds < 120 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`}`
        findings[findings.indexOf(found)] = { ...found, next }
      }
    }
    findings.push(...(yield* guarded("vectors", vectors(sql, collection, told))))
  }
  return findings
})
