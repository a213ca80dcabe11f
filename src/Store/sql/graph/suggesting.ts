import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { CollectionName } from "../../../model/Collection.ts"
import type { DocumentId } from "../../../model/Document.ts"
import { mostMentions, mostNames, type NamedEntity, type Suggesting, suggestFrom } from "../../core/suggesting.ts"
import * as collections from "../collections.ts"
import { dialectOf } from "../dialect.ts"
import { type Sql, column } from "../rows.ts"
import { placesOf } from "./byEntity.ts"
import { passages } from "./reading.ts"

/** After every text that begins with a prefix, by code points. */
const last = "\u{10ffff}"

const titleCharacters = 80

/** Most letters beyond the English ones of which both cases are looked for. */
const mostCased = 3

/**
 * A prefix as the index of titles may have it: it has English letters in lower case, all others as they were written.
 */
const writtenAs = (prefix: string): ReadonlyArray<string> => {
  let cased = 0
  let all = [""]
  for (const letter of prefix) {
    // The other case of a letter may be English letters: ß is SS.
    const others = [letter.toLowerCase(), letter.toUpperCase()].filter(
      (form) => form !== letter && !/[a-z]/i.test(form)
    )
    const isEnglish = /[a-z]/i.test(letter)
    const isBoth = !isEnglish && others.length > 0 && cased++ < mostCased
    const forms = isEnglish ? [letter.toLowerCase()] : isBoth ? [letter, ...others] : [letter]
    all = all.flatMap((before) => forms.map((form) => before + form))
  }
  return all
}

interface TitleRow {
  readonly doc_id: DocumentId
  readonly source: string | null
  readonly title: string
  readonly key: string
}

/** Titles that begin so, each once: from one to the next, past all documents that have the same. */
const titles = Effect.fnUntraced(function* (sql: Sql, collection: number, prefix: string, most: number) {
  const found: Array<TitleRow> = []
  const key = dialectOf(sql).caseless("title")
  for (const form of writtenAs(Array.from(prefix).slice(0, titleCharacters).join(""))) {
    for (let after: string | undefined; found.length < most;) {
      const [row] = yield* sql.unsafe<TitleRow>(
        `SELECT doc_id, source, title, ${key} AS key FROM documents
         WHERE collection_id = ? AND title IS NOT NULL AND ${key} ${after === undefined ? ">=" : ">"} ? AND ${key} < ?
         ORDER BY ${key} LIMIT 1`,
        [collection, after ?? form, form + last]
      )
      if (row === undefined) break
      found.push(row)
      after = row.key
    }
  }
  return found
})

/** Entities whose key begins so. */
const names = Effect.fnUntraced(function* (sql: Sql, collection: number, key: string) {
  const entities = yield* column<number>(
    sql,
    "SELECT entity FROM graph_names WHERE collection_id = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?",
    [collection, key, key + last, mostNames]
  )
  return Array.from(yield* placesOf(sql, collection, entities, mostMentions), ([entity, places]): NamedEntity => ({
    ...places[0]!,
    entity,
    mentions: places.length
  }))
})

/** The same of a database's collections; one that does not exist has nothing. */
export const suggest = Effect.fnUntraced(function* (
  sql: Sql,
  wanted: ReadonlyArray<CollectionName>,
  typed: string,
  limit: number
) {
  const known = (yield* collections.all(sql)).filter(({ name }) => wanted.includes(name))
  return yield* suggestFrom(
    known,
    ({ id }): Suggesting<SqlError> => ({
      titles: (prefix, most) => titles(sql, id, prefix, most),
      names: (key) => names(sql, id, key),
      passages: (ids) => passages(sql, id, ids)
    }),
    typed,
    limit
  )
})
