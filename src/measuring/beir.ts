import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { Judgements } from "./evaluation.ts"

const Query = Schema.parseJson(Schema.Struct({ _id: Schema.String, text: Schema.NonEmptyString }))
const decodeQuery = Schema.decodeUnknownEither(Query)

/** Non-empty lines with their numbers, from 1. */
const linesOf = (text: string): ReadonlyArray<readonly [line: string, number: number]> =>
  text
    .split(/\r?\n/)
    .map((line, index) => [line, index + 1] as const)
    .filter(([line]) => line.trim() !== "")

/** Grades by query id, then document id: `query-id <tab> corpus-id <tab> score`, with or without a header line. */
export const parseJudgements = (text: string): Either.Either<ReadonlyMap<string, Judgements>, string> => {
  const judgements = new Map<string, Map<string, number>>()
  for (const [line, number] of linesOf(text)) {
    const [query, document, grade, ...more] = line.split("\t")
    const value = grade === undefined || grade.trim() === "" ? Number.NaN : Number(grade)
    if (query === undefined || document === undefined || more.length > 0 || !Number.isFinite(value)) {
      if (number === 1) continue
      return Either.left(`line ${number} is not a query-id, corpus-id and score separated by tabs`)
    }
    judgements.set(query, (judgements.get(query) ?? new Map<string, number>()).set(document, value))
  }
  return Either.right(judgements)
}

/** Texts by query id: a JSON object with `_id` and `text` on each line. */
export const parseQueries = (text: string): Either.Either<ReadonlyMap<string, string>, string> => {
  const queries = new Map<string, string>()
  for (const [line, number] of linesOf(text)) {
    const query = decodeQuery(line)
    if (Either.isLeft(query)) return Either.left(`line ${number} is not a JSON object with "_id" and "text"`)
    queries.set(query.right._id, query.right.text)
  }
  return Either.right(queries)
}
