import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type Text, mentionsOf } from "../../../entities/extract.ts"
import { type Mention, hashOf, isName, pack, relations, unpack } from "../../../entities/mention.ts"
import { fromStored } from "../../../entities/said.ts"
import { rising } from "../../../model/Damaged.ts"
import type { GraphStep, GraphUnasked, Said } from "../../../model/Graph.ts"
import type { PreparedDocument } from "../../../model/Stored.ts"
import { headingOf } from "../../core/passage.ts"
import { answerAbout, answersIn, askedOf, type GraphTextRow, type StoredAnswer } from "../../core/graph.ts"
import { dialectOf } from "../dialect.ts"
import { type Sql, inList, insertRows, list } from "../rows.ts"
import { allEdges, deleteEdges, type Edge, insertEdges } from "./byEntity.ts"

/** A passage to add to the graph. */
export interface GraphRow extends Text {
  readonly id: number
  readonly title: string | undefined
  /** What it mentions by the rules alone, if that is known. */
  readonly mentions?: ReadonlyArray<Mention> | undefined
}

/** The columns from which the graph is made, of `passages AS p` and `documents AS d`. */
export const graphColumns = "p.id, p.ordinal, p.text, p.heading, d.title, d.source"

export const toGraphRow = ({ heading, id, ordinal, source, text, title }: GraphTextRow): GraphRow => ({
  id,
  ordinal,
  text,
  heading: headingOf(heading),
  title: title ?? undefined,
  source: source ?? undefined
})

/** Answers by question. */
type Answers = ReadonlyMap<string, StoredAnswer>

/** Whether a model was ever asked; if not, nothing else is looked up. */
export const isAnyAnswered = (sql: Sql) =>
  Effect.map(sql.unsafe("SELECT 1 FROM graph_answers LIMIT 1"), (rows) => rows.length > 0)

/** The answers about documents' passages, and those that documents bring with them, for the passages to be stored. */
export const carriedBy = Effect.fnUntraced(function* (
  sql: Sql,
  replaced: ReadonlyArray<number>,
  documents: ReadonlyArray<PreparedDocument>
) {
  const carried = new Map<string, StoredAnswer>()
  if (replaced.length > 0 && (yield* isAnyAnswered(sql))) {
    const rows = yield* sql.unsafe<StoredAnswer>(
      `SELECT a.asked, a.model, a.answer FROM passages AS p CROSS JOIN graph_answers AS a ON a.passage_id = p.id
       WHERE p.document_id ${inList}`,
      [list(replaced)]
    )
    for (const row of rows) carried.set(row.asked, row)
  }
  return new Map([...carried, ...answersIn(documents)]) satisfies Answers as Answers
})

/** Answers to the questions about passages: their own, else those about passages with the same words; by passage. */
const answersTo = (sql: Sql, asked: ReadonlyMap<number, string>, model: string | null = null) =>
  Effect.map(
    sql.unsafe<StoredAnswer & { readonly id: number }>(
      `SELECT CAST(t.value ->> 0 AS BIGINT) AS id, a.asked, a.model, a.answer
       FROM ${dialectOf(sql).rows("t")} CROSS JOIN graph_answers AS a ON a.passage_id = coalesce(
         (SELECT passage_id FROM graph_answers
          WHERE passage_id = CAST(t.value ->> 0 AS BIGINT) AND asked = t.value ->> 1 AND model = coalesce(?, model)),
         (SELECT passage_id FROM graph_answers WHERE asked = t.value ->> 1 AND model = coalesce(?, model) LIMIT 1))`,
      [JSON.stringify([...asked]), model, model]
    ),
    (rows) => new Map(rows.map((row) => [row.id, row]))
  )

/** Writes answers about passages, and forgets the other ones about these. */
const writeAnswers = Effect.fnUntraced(function* (
  sql: Sql,
  passages: ReadonlyArray<number>,
  answers: ReadonlyMap<number, StoredAnswer>
) {
  yield* sql.unsafe(`DELETE FROM graph_answers WHERE passage_id ${inList}`, [list(passages)])
  const rows = Array.from(answers, ([passage_id, { answer, asked, model }]) => ({ passage_id, asked, model, answer }))
  yield* insertRows(sql, "graph_answers", rows)
})

/** What models said about passages, in `carried`, about them or about the same words; it is kept as theirs. */
export const saidAbout = Effect.fnUntraced(function* (sql: Sql, rows: ReadonlyArray<GraphRow>, carried: Answers) {
  const said = new Map<number, Said>()
  if (rows.length === 0 || (carried.size === 0 && !(yield* isAnyAnswered(sql)))) return said
  const asked = new Map(rows.map((row) => [row.id, askedOf(row)]))
  const answers = new Map(yield* answersTo(sql, asked)) as Map<number, StoredAnswer>
  for (const [id, question] of asked) if (carried.has(question)) answers.set(id, carried.get(question)!)
  for (const [id, { answer }] of answers) {
    const found = fromStored(answer)
    if (Option.isSome(found)) said.set(id, found.value)
    else answers.delete(id)
  }
  yield* writeAnswers(sql, [...asked.keys()], answers)
  return said
})

/** Adds names by their entities; the first key of an entity stays. */
const addNames = (sql: Sql, collection: number, keys: Iterable<readonly [number, string]>) =>
  insertRows(
    sql,
    "graph_names",
    // In the order of the table, so that neighbours are written while their page is cached.
    [...keys].sort(([a], [b]) => a - b).map(([entity, key]) => ({ collection_id: collection, entity, key })),
    " ON CONFLICT DO NOTHING"
  )

/**
 * Adds passages' mentions, with what models said about them. Call it in the transaction that adds the passages;
 * `carried` are the answers of those that they replace, `known` the passages that the collection had before.
 */
export const insert = Effect.fnUntraced(function* (
  sql: Sql,
  collection: number,
  rows: ReadonlyArray<GraphRow>,
  carried: Answers = new Map(),
  known = 0
) {
  const said = yield* saidAbout(sql, rows, carried)
  const mentions = rows.map(
    (row) => (said.has(row.id) ? undefined : row.mentions) ?? mentionsOf({ ...row, said: said.get(row.id) })
  )
  const packed: Array<object> = []
  const edges: Array<Edge> = []
  const keys = new Map<number, string>()
  for (const [at, { id: passage_id, ordinal }] of rows.entries()) {
    const own = mentions[at]!
    const entities = own.map(({ key }) => hashOf(key))
    packed.push({ passage_id, mentions: Buffer.from(pack(own, entities)) })
    for (const [index, { key, relation }] of own.entries()) {
      const entity = entities[index]!
      edges.push({ collection_id: collection, entity, relation: relations.indexOf(relation), passage_id, ordinal })
      if (isName(key)) keys.set(entity, key)
    }
  }
  yield* insertRows(sql, "graph_passages", packed)
  yield* insertEdges(sql, collection, edges, known)
  yield* addNames(sql, collection, keys)
})

/** The stored mentions of passages, by passage id; a passage that is not in the graph has none. */
export const mentionsIn = (sql: Sql, passages: ReadonlyArray<number>) =>
  Effect.map(
    sql.unsafe<{ readonly id: number; readonly mentions: Uint8Array }>(
      `SELECT passage_id AS id, mentions FROM graph_passages WHERE passage_id ${inList}`,
      [list(passages)]
    ),
    (rows) => new Map(rows.map(({ id, mentions }) => [id, unpack(mentions)]))
  )

/** Removes passages from the graph. Call it in the transaction that deletes them elsewhere. */
export const remove = Effect.fnUntraced(function* (sql: Sql, collection: number, passages: ReadonlyArray<number>) {
  if (passages.length === 0) return
  const edges = [...(yield* mentionsIn(sql, passages))].flatMap(([id, mentions]) =>
    mentions.map(({ entity, relation }) => [entity, relations.indexOf(relation), id])
  )
  yield* deleteEdges(sql, collection, edges)
  const entities = edges.map(([entity]) => entity!)
  if (entities.length > 0) {
    yield* sql.unsafe(
      `DELETE FROM graph_names WHERE collection_id = ? AND entity ${inList}
         AND NOT EXISTS (SELECT 1 FROM ${allEdges} AS m
                         WHERE m.collection_id = graph_names.collection_id AND m.entity = graph_names.entity)`,
      [collection, list([...new Set(entities)])]
    )
  }
  yield* sql.unsafe(`DELETE FROM graph_passages WHERE passage_id ${inList}`, [list(passages)])
})

/** Adds passages of a collection to the graph, anew if they are in it. */
const again = Effect.fnUntraced(function* (sql: Sql, collection: number, rows: ReadonlyArray<GraphRow>) {
  if (rows.length === 0) return
  yield* remove(
    sql,
    collection,
    rows.map(({ id }) => id)
  )
  yield* insert(sql, collection, rows)
  // The stored linkage of a collection belongs to one state of it, and may be of documents that were not in the graph.
  yield* sql.unsafe("UPDATE collections SET changes = changes + ? WHERE id = ?", [rows.length, collection])
})

const select = `SELECT ${graphColumns}, g.passage_id AS known, a.model
  FROM passages AS p CROSS JOIN documents AS d ON d.id = p.document_id
    LEFT JOIN graph_passages AS g ON g.passage_id = p.id LEFT JOIN graph_answers AS a ON a.passage_id = p.id`

interface Row extends GraphTextRow {
  readonly known: number | null
  readonly model: string | null
}

const rowsAfter = (sql: Sql, collection: number, after: number, limit: number) =>
  Effect.map(
    sql.unsafe<Row>(`${select} WHERE d.collection_id = ? AND p.id > ? ORDER BY p.id LIMIT ?`, [
      collection,
      after,
      limit
    ]),
    (rows) => rising(rows, after, "passages")
  )

/** Adds some of the next passages after an id. */
const adding = (isWanted: (row: Row) => boolean) =>
  Effect.fnUntraced(function* (sql: Sql, collection: number, after: number, limit: number) {
    const seen = yield* rowsAfter(sql, collection, after, limit)
    const rows = seen.filter(isWanted)
    yield* again(sql, collection, rows.map(toGraphRow))
    return { added: rows.length, seen: seen.length, through: seen.at(-1)?.id ?? after } satisfies GraphStep
  })

/** Adds those of the next passages after an id that are not in the graph yet. */
export const extend = adding(({ known }) => known === null)

/** Adds all of them, anew if they are in the graph. */
export const renew = adding(() => true)

/** Those of the next passages after an id that a model was not asked about; answers about the same words are copied. */
export const unasked = Effect.fnUntraced(function* (
  sql: Sql,
  collection: number,
  model: string,
  after: number,
  limit: number
) {
  const seen = yield* rowsAfter(sql, collection, after, limit)
  const rows = seen.filter((row) => row.model !== model).map(toGraphRow)
  const answers = yield* answersTo(sql, new Map(rows.map((row) => [row.id, askedOf(row)])), model)
  const taken = rows.filter(({ id }) => answers.has(id))
  yield* writeAnswers(sql, [...answers.keys()], answers)
  yield* again(sql, collection, taken)
  return {
    seen: seen.length,
    through: seen.at(-1)?.id ?? after,
    taken: taken.length,
    passages: rows.flatMap(({ heading, id, text, title }) => (answers.has(id) ? [] : [{ id, heading, text, title }]))
  } satisfies GraphUnasked
})

/** Stores a model's answer about a passage and adds it to the graph; false: the passage is gone. */
export const keepSaid = Effect.fnUntraced(function* (
  sql: Sql,
  collection: number,
  passage: number,
  model: string,
  said: Said
) {
  const [found] = yield* sql.unsafe<Row>(`${select} WHERE p.id = ? AND d.collection_id = ?`, [passage, collection])
  if (found === undefined) return false
  const row = toGraphRow(found)
  yield* writeAnswers(sql, [passage], new Map([[passage, answerAbout(row, model, said)]]))
  yield* again(sql, collection, [row])
  return true
})
