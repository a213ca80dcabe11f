import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { ViaStep } from "../../../model/Graph.ts"
import type { Step } from "../../../entities/walk.ts"
import { nameOf } from "./name.ts"
import { inList, list } from "../rows.ts"
import { mentionsIn, type TextRow } from "./edges.ts"

export type Way = ReadonlyArray<ViaStep>

interface Row extends TextRow {
  readonly source: string
}

/** Paths as they are shown: entities by the words with which the passages name them, passages by their sources. */
export const waysOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  ways: ReadonlyMap<number, ReadonlyArray<Step & { readonly to: number }>>
) {
  const passages = [
    ...new Set([...ways.values()].flat().flatMap(({ from, to }) => (from === undefined ? [to] : [from, to])))
  ]
  const mentions = yield* mentionsIn(sql, passages)
  const rows = yield* sql.unsafe<Row>(
    `SELECT p.id, p.ordinal, p.text, p.heading, d.title, coalesce(d.source, d.doc_id) AS source
     FROM passages AS p JOIN documents AS d ON d.id = p.document_id WHERE p.id ${inList}`,
    [list(passages)]
  )
  const found = new Map(rows.map((row) => [row.id, row]))
  return new Map(
    [...ways].map(([passage, steps]): readonly [number, Way] => [
      passage,
      steps.map(({ entity, from, to }) => {
        const named = [from, to].flatMap((id) => {
          const row = id === undefined ? undefined : found.get(id)
          const mention = id === undefined ? undefined : mentions.get(id)?.find((one) => one.entity === entity)
          return row === undefined || mention === undefined ? [] : [nameOf(mention, row)]
        })
        const start = from === undefined ? undefined : found.get(from)
        return {
          entity: named.find((name) => name !== "") ?? "",
          ...(start === undefined ? {} : { source: start.source, chunk_index: start.ordinal })
        }
      })
    ])
  )
})
