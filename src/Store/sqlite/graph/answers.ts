import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { createHash } from "node:crypto"
import type { Said } from "../../../model/Graph.ts"
import type { PreparedDocument } from "../../../model/Stored.ts"
import { type Asked, fromStored, questionOf, toStored } from "../../../entities/said.ts"
import { inList, insertRows, list } from "../rows.ts"

/** A hash of 128 bits of the question. */
export const askedOf = (passage: Asked): string =>
  createHash("sha256").update(questionOf(passage)).digest("hex").slice(0, 32)

interface Answer {
  readonly asked: string
  readonly model: string
  readonly answer: string
}

/** Answers by question. */
export type Answers = ReadonlyMap<string, Answer>

interface Row extends Asked {
  readonly id: number
}

/** Whether a model was ever asked; if not, nothing else is looked up. */
export const isAny = (sql: SqlClient.SqlClient) =>
  Effect.map(sql.unsafe("SELECT 1 FROM graph_answers LIMIT 1"), (rows) => rows.length > 0)

const byQuestion = (rows: ReadonlyArray<Answer>): Answers => new Map(rows.map((row) => [row.asked, row]))

/** The answers about documents' passages, for the passages that replace them. */
export const ofDocuments = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, documents: ReadonlyArray<number>) {
  if (documents.length === 0 || !(yield* isAny(sql))) return byQuestion([])
  return byQuestion(
    yield* sql.unsafe<Answer>(
      `SELECT a.asked, a.model, a.answer FROM passages AS p CROSS JOIN graph_answers AS a ON a.passage_id = p.id
       WHERE p.document_id ${inList}`,
      [list(documents)]
    )
  )
})

/** Adds the answers that passages bring with them. */
export const carry = (
  carried: Map<string, Answer>,
  title: string | undefined,
  passages: PreparedDocument["passages"]
): void => {
  for (const { heading, said, text } of passages) {
    if (said === undefined) continue
    const asked = askedOf({ title, heading, text })
    carried.set(asked, { asked, model: said.model, answer: toStored(said) })
  }
}

/** The answers to these questions, from this model or from any, about whatever passages. */
export const to = (sql: SqlClient.SqlClient, asked: ReadonlyArray<string>, model?: string) =>
  Effect.map(
    sql.unsafe<Answer>(
      `SELECT a.asked, a.model, a.answer FROM json_each(?) AS t CROSS JOIN graph_answers AS a ON a.passage_id =
         (SELECT passage_id FROM graph_answers WHERE asked = t.value ${model === undefined ? "" : "AND model = ?"} LIMIT 1)`,
      model === undefined ? [list(asked)] : [list(asked), model]
    ),
    byQuestion
  )

/** Writes answers about passages, replacing the previous ones. */
export const write = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  rows: ReadonlyArray<Answer & { readonly id: number }>
) {
  yield* sql.unsafe(`DELETE FROM graph_answers WHERE passage_id ${inList}`, [list(rows.map(({ id }) => id))])
  const values = rows.map(({ answer, asked, id, model }) => [id, asked, model, answer])
  yield* insertRows(sql, "graph_answers", ["passage_id", "asked", "model", "answer"], values)
})

/**
 * The answers about passages that are added to the graph: a passage's own, else that about a passage with the same
 * words, stored or carried over. An answer that does not fit its passage is deleted.
 */
export const take = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  rows: ReadonlyArray<Row>,
  carried: Answers = new Map()
) {
  const said = new Map<number, Said>()
  if (rows.length === 0 || (carried.size === 0 && !(yield* isAny(sql)))) return said
  const own = yield* sql.unsafe<Answer & { readonly id: number }>(
    `SELECT passage_id AS id, asked, model, answer FROM graph_answers WHERE passage_id ${inList}`,
    [list(rows.map(({ id }) => id))]
  )
  const questions = new Map(rows.map((row) => [row.id, askedOf(row)]))
  const fitting = new Set<number>()
  for (const { answer, asked, id } of own) {
    const found = asked === questions.get(id) ? fromStored(answer) : Option.none()
    if (Option.isNone(found)) continue
    said.set(id, found.value)
    fitting.add(id)
  }
  const misfits = own.filter(({ id }) => !fitting.has(id)).map(({ id }) => id)
  if (misfits.length > 0) yield* sql.unsafe(`DELETE FROM graph_answers WHERE passage_id ${inList}`, [list(misfits)])
  const open = rows.flatMap(({ id }) => (fitting.has(id) ? [] : [{ id, asked: questions.get(id)! }]))
  const stored = yield* to(sql, [...new Set(open.map(({ asked }) => asked))])
  const taken = open.flatMap(({ asked, id }) => {
    const answer = carried.get(asked) ?? stored.get(asked)
    const found = answer === undefined ? Option.none() : fromStored(answer.answer)
    if (answer === undefined || Option.isNone(found)) return []
    said.set(id, found.value)
    return [{ ...answer, id }]
  })
  if (taken.length > 0) yield* write(sql, taken)
  return said
})
