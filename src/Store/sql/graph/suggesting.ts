import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { hashOf, keyOf, relations, spelledAlike } from "../../../entities/mention.ts"
import type { CollectionName } from "../../../model/Collection.ts"
import type { DocumentId } from "../../../model/Document.ts"
import type { GraphPassage } from "../../../model/Graph.ts"
import type { Suggestion } from "../../../model/Suggestion.ts"
import * as collections from "../collections.ts"
import { dialectOf } from "../dialect.ts"
import { list } from "../rows.ts"
import { titleKey } from "../tables.ts"
import { insertKeys } from "./names.ts"
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
    const lower = letter.toLowerCase()
    const upper = letter.toUpperCase()
    const isBoth = lower !== upper && !/[a-z]/i.test(letter) && cased++ < mostCased
    const forms = /[a-z]/i.test(letter) ? [lower] : isBoth ? [lower, upper] : [letter]
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
const titles = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  prefix: string,
  most: number
) {
  const found: Array<TitleRow> = []
  const key = titleKey("title")
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

/** Names that begin so are taken from this many in the order of their letters, and weighed by this many mentions. */
const mostNames = 64
const mostMentions = 16

interface NameRow {
  readonly entity: number
  /** Relations and passages of its first mentions, as JSON. */
  readonly places: string
}

/** What begins so of what passages mention: titles, then headings, then names, the most mentioned first. */
const names = (sql: SqlClient.SqlClient, collection: number, prefix: string) => {
  const key = keyOf(prefix)
  return key === ""
    ? Effect.succeed([])
    : Effect.map(
        sql.unsafe<NameRow>(
          `SELECT n.entity, (
             SELECT ${dialectOf(sql).jsonRows("relation, passage_id")} FROM (
               SELECT relation, passage_id FROM graph_mentions WHERE collection_id = ? AND entity = n.entity
               ORDER BY relation, passage_id LIMIT ${mostMentions}) AS m) AS places
           FROM (SELECT entity FROM graph_names WHERE collection_id = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?) AS n`,
          [collection, collection, key, key + last, mostNames]
        ),
        (rows) =>
          rows
            .map(({ entity, places }) => {
              const mentions = JSON.parse(places) as ReadonlyArray<readonly [relation: number, passage: number]>
              const [relation, passage] = mentions[0] ?? [relations.length, 0]
              return { entity, passage, kind: kindOf(relation), mentions: mentions.length }
            })
            .sort(byKind)
      )
}

const kinds = ["title", "heading", "name"] as const

export const kindOf = (relation: number): Suggestion["kind"] =>
  relations[relation] === "defines" ? "title" : relations[relation] === "heads" ? "heading" : "name"

/** Where suggestions come from: what one collection has that begins with a text. */
export interface Suggesting<E> {
  readonly titles: (
    prefix: string,
    most: number
  ) => Effect.Effect<
    ReadonlyArray<{ readonly doc_id: DocumentId; readonly source: string | null; readonly title: string }>,
    E
  >
  readonly names: (prefix: string) => Effect.Effect<ReadonlyArray<Named>, E>
  readonly passages: (ids: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<GraphPassage>, E>
}

/** An entity whose name begins so, and its first place. */
export interface Named {
  readonly entity: number
  readonly passage: number
  readonly kind: Suggestion["kind"]
  readonly mentions: number
}

/** Titles first, then headings and names, the most mentioned first. */
export const byKind = (a: Named, b: Named): number =>
  kinds.indexOf(a.kind) - kinds.indexOf(b.kind) || b.mentions - a.mentions

/**
 * What begins with a text in some collections: titles, then headings, then other names; each text once. Of more than fit,
 * titles take half.
 */
export const suggestFrom = Effect.fnUntraced(function* <E, C extends { readonly name: CollectionName }>(
  known: ReadonlyArray<C>,
  reading: (collection: C) => Suggesting<E>,
  typed: string,
  limit: number
) {
  const prefix = typed.trimStart()
  const found: Array<Suggestion> = []
  if (prefix === "") return found
  for (const each of known) {
    const { name: collection } = each
    const reads = reading(each)
    for (const { doc_id, source, title } of yield* reads.titles(prefix, limit)) {
      found.push({ text: title, kind: "title", ...(source === null ? {} : { source }), doc_id, collection })
    }
    const named = (yield* reads.names(prefix)).slice(0, 2 * limit)
    const shown = new Map(
      (yield* reads.passages([...new Set(named.map(({ passage }) => passage))])).map((each) => [each.id, each])
    )
    for (const { entity, kind, passage } of named) {
      const place = shown.get(passage)
      const text = place?.mentions.find((mention) => mention.entity === entity)?.name
      // A title that the file's name stands for, or a plural, may begin otherwise.
      if (place === undefined || text === undefined || !spelledAlike(text, prefix)) continue
      found.push({ text, kind, source: place.source, doc_id: place.docId, collection })
    }
  }
  const texts = new Map<string, Suggestion>()
  for (const one of found.sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind))) {
    const key = one.text.toLowerCase()
    if (!texts.has(key)) texts.set(key, one)
  }
  // Titles leave half of the places to what is no title, as far as there is so much.
  const others = [...texts.values()].filter(({ kind }) => kind !== "title")
  const most = limit - Math.min(others.length, Math.floor(limit / 2))
  const shownTitles = [...texts.values()].filter(({ kind }) => kind === "title").slice(0, most)
  return [...shownTitles, ...others].slice(0, limit)
})

/** The same of a database's collections; one that does not exist has nothing. */
export const suggest = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  wanted: ReadonlyArray<CollectionName>,
  typed: string,
  limit: number
) {
  const known = (yield* collections.all(sql)).filter(({ name }) => wanted.includes(name))
  return yield* suggestFrom(
    known,
    ({ id }): Suggesting<SqlError> => ({
      titles: (prefix, most) => titles(sql, id, prefix, most),
      names: (prefix) => names(sql, id, prefix),
      passages: (ids) => passages(sql, id, ids)
    }),
    typed,
    limit
  )
})

/** The names of a passage of the graph, whose keys are those of its mentions. */
export const namesOf = ({ mentions }: GraphPassage): ReadonlyArray<readonly [entity: number, key: string]> =>
  mentions.flatMap(({ entity, name }) => {
    const key = keyOf(name)
    return hashOf(key) === entity ? [[entity, key] as const] : []
  })

/** Collects the names that the next passages after one mention; undefined if there are none. */
export const collectNames = (
  sql: SqlClient.SqlClient,
  collection: number,
  after: number,
  limit: number
): Effect.Effect<{ readonly through: number; readonly count: number } | undefined, SqlError> =>
  Effect.flatMap(passages(sql, collection, { after, limit }), (found) => {
    const end = found.at(-1)
    return end === undefined
      ? Effect.succeed(undefined)
      : Effect.as(insertKeys(sql, collection, new Map(found.flatMap(namesOf))), {
          through: end.id,
          count: found.length
        })
  })

/** How many of the names of the next passages are not collected, and the last of the passages. */
export const namesMissingIn = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  after: number,
  limit: number
) {
  const found = yield* passages(sql, collection, { after, limit })
  const entities = [...new Set(found.flatMap(namesOf).map(([entity]) => entity))]
  const [row] = yield* sql.unsafe<{ readonly count: number }>(
    `SELECT count(*) AS count FROM json_each(?) AS asked
     LEFT JOIN graph_names AS n ON n.collection_id = ? AND n.entity = asked.value WHERE n.entity IS NULL`,
    [list(entities), collection]
  )
  return { missing: row!.count, through: found.at(-1)?.id }
})
