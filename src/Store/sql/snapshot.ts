import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { type CollectionNotFound, EmbedderChanged } from "../../Store.ts"
import { type CollectionName, identicalEmbedder } from "../../model/Collection.ts"
import { parsed } from "../../model/Damaged.ts"
import type { DocumentId } from "../../model/Document.ts"
import type { Filter } from "../../model/Filter.ts"
import type { Mask } from "../../model/Passage.ts"
import type { Hit } from "../../model/SearchResult.ts"
import type { Asked, FindRequest, RankRequest } from "../../model/Stored.ts"
import { search, termScores } from "../../postings/Postings.ts"
import { learned } from "../../terms/stemmers.ts"
import { nearTerms } from "../../postings/spelling.ts"
import type { Place, Searched, Shown, Snapshot } from "../../ranking/Snapshot.ts"
import * as ranking from "../../ranking/rank.ts"
import type { Searching } from "./Database.ts"
import { Cancelled } from "./Cancelled.ts"
import * as collections from "./collections.ts"
import { demanded } from "./demands.ts"
import { expand } from "./graph/reading.ts"
import { languageNamed } from "../../terms/languages.ts"
import { withBackgrounds } from "../core/direction.ts"
import { toShown as shownDocument } from "../core/document.ts"
import { type CheckedRow, type DocumentRow, checkHead, checkPassage, toPassage } from "../core/passage.ts"
import { dialectOf } from "./dialect.ts"
import { type FileColumns, fileColumns, fileJoin, fileOf } from "./readFile.ts"
import { type Sql, inList, list } from "./rows.ts"
import { segmentsOn } from "./segments.ts"
import { unchangedOf } from "./unchanged.ts"
import * as vectors from "./vectors.ts"

type HitRow = CheckedRow &
  FileColumns &
  Pick<DocumentRow, "head_crc" | "collection_id" | "doc_id" | "source" | "title" | "metadata" | "line" | "language">

const toShown = (row: HitRow): Shown => {
  checkPassage(row)
  checkHead({ ...row, id: row.document_id }, row.head_crc)
  return {
    collection: row.collection_id,
    language: languageNamed(row.language),
    hit: {
      passage: toPassage(row, row.line),
      document: { ...shownDocument(row), file: fileOf(row) }
    }
  }
}

/** Some three thousand passages, by their characters and about what one takes besides. */
export const shownKept = { most: 6_000_000, sizeOf: ({ hit }: Shown): number => 700 + hit.passage.text.length }

const snapshotOn = (sql: Sql, searching: Searching): Snapshot<SqlError | CollectionNotFound | EmbedderChanged> => ({
  searched: (request) => searched(sql, searching, request),

  matching: (asked, query, options) =>
    Effect.flatMap(Cancelled, (isCancelled) =>
      search(
        segmentsOn(sql),
        asked.map(({ id }) => id),
        query,
        {
          ...options,
          mask: union(asked),
          passages: asked.reduce((sum, { passages }) => sum + passages, 0),
          isCancelled
        }
      )
    ).pipe(
      Effect.flatMap((matching) =>
        Effect.map(vectors.thinned(sql, matching.found, options.depth, options.also), (found) => ({
          ...matching,
          found
        }))
      )
    ),

  near: (asked, query) =>
    nearTerms(
      segmentsOn(sql),
      asked.map(({ id }) => id),
      query
    ),

  terms: (asked, query, { most, near, passages }) =>
    Effect.flatMap(Cancelled, (isCancelled) =>
      termScores(
        segmentsOn(sql),
        asked.map(({ id }) => id),
        query,
        passages,
        { mask: union(asked), near, most, isCancelled }
      )
    ),

  nearest: (asked, depth) => vectors.search(sql, searching, asked.id, asked, { ...asked, depth }),

  similarity: (asked, passages) => searching.scoring.score(sql, asked.id, asked, passages),

  places: (passages) =>
    unchangedOf(sql, "places", passages, (unknown) =>
      Effect.map(
        sql.unsafe<Place & { readonly id: number }>(
          `SELECT p.id, d.doc_id, c.name AS collection, p.ordinal FROM passages AS p
           JOIN documents AS d ON d.id = p.document_id JOIN collections AS c ON c.id = d.collection_id WHERE p.id ${inList}`,
          [list(unknown)]
        ),
        (rows) => new Map(rows.map((row) => [row.id, row]))
      )
    ),

  texts: (passages) =>
    sql.unsafe<{ readonly id: number; readonly heading: string; readonly text: string }>(
      `SELECT id, heading, text FROM passages WHERE id ${inList}`,
      [list(passages)]
    ),

  metadata: (passages, key) =>
    Effect.map(
      sql.unsafe<{ readonly id: number; readonly doc_id: DocumentId; readonly metadata: string }>(
        `SELECT p.id, d.doc_id, d.metadata FROM passages AS p JOIN documents AS d ON d.id = p.document_id
         WHERE p.id ${inList} AND ${dialectOf(sql).contains("d.metadata")}`,
        [list(passages), JSON.stringify(key)]
      ),
      (rows) =>
        new Map(
          rows.flatMap(({ doc_id: docId, id, metadata }): ReadonlyArray<readonly [number, unknown]> => {
            const found = parsed<Hit["document"]["metadata"]>(metadata, () => `the metadata of document ${docId}`)
            return Object.hasOwn(found, key) ? [[id, found[key]]] : []
          })
        )
    ),

  beside: (passages) =>
    unchangedOf(sql, "beside", passages, (unknown) =>
      Effect.map(
        sql.unsafe<{ readonly id: number; readonly beside: number }>(
          `SELECT p.id, n.id AS beside FROM json_each(?) AS asked CROSS JOIN passages AS p ON p.id = asked.value
           CROSS JOIN passages AS n ON n.id IN (p.id - 1, p.id + 1) AND n.document_id = p.document_id`,
          [list(unknown)]
        ),
        (rows) => {
          const found = new Map<number, Array<number>>()
          for (const { beside, id } of rows) found.set(id, [...(found.get(id) ?? []), beside])
          return found
        }
      )
    ),

  homes: (passages) =>
    Effect.map(
      sql.unsafe<{ readonly id: number; readonly collection: number }>(
        `SELECT p.id, d.collection_id AS collection FROM passages AS p JOIN documents AS d ON d.id = p.document_id
         WHERE p.id ${inList}`,
        [list(passages)]
      ),
      (rows) => new Map(rows.map(({ collection, id }) => [id, collection]))
    ),

  expand: ({ background, documents, id: collection, mask, vector }, graph, hits) =>
    expand(sql, searching, { ...graph, collection, documents, mask, background, vector, hits }),

  facets: (asked, names, filter) => searching.facets(sql, asked, names, filter),

  shown: (passages) =>
    Effect.tap(
      unchangedOf(
        sql,
        "shown",
        passages,
        (unread) =>
          Effect.map(
            sql.unsafe<HitRow>(
              `SELECT p.*, d.head_crc, d.collection_id, d.doc_id, d.source, d.title, d.metadata, d.line, d.language,
                      ${fileColumns(sql)}
               FROM passages AS p JOIN documents AS d ON d.id = p.document_id ${fileJoin(sql)}
               WHERE p.id ${inList}`,
              [list(unread)]
            ),
            (rows) => new Map(rows.map((row) => [row.id, toShown(row)]))
          ),
        shownKept
      ),
      (found) => learned(Array.from(found.values(), ({ language }) => language))
    )
})

/** The list of a request. Run it in one snapshot. */
export const find = (sql: Sql, searching: Searching, request: FindRequest) =>
  ranking.find(snapshotOn(sql, searching), request)

/** The collections in which the filter and the query's demands leave any passages. */
export const searched = Effect.fnUntraced(function* (
  sql: Sql,
  searching: Searching,
  { demands, filter, others = [], ...first }: RankRequest
) {
  const found: Array<Searched> = []
  const all: ReadonlyArray<Asked> = [first, ...others]
  for (const { collection, embedder, vector } of all) {
    const finding = collections.find(sql, collection)
    const known = yield* collection === first.collection
      ? finding
      : Effect.catchTag(finding, "CollectionNotFound", () => Effect.succeed(undefined))
    if (known === undefined) continue
    if (vector !== undefined && embedder !== undefined && !identicalEmbedder(embedder, known.embedder)) {
      return yield* new EmbedderChanged({ collection })
    }
    const filtered = yield* searching.masks.of(sql, known.id, filter)
    if (filtered?.count === 0) continue
    const { mask, unchecked } =
      demands === undefined ? { mask: filtered, unchecked: 0 } : yield* demanded(sql, known.id, filtered, demands)
    if (mask?.count !== 0) found.push({ ...known, mask, unchecked, vector })
  }
  return yield* withBackgrounds(found, (one) => searching.backgrounds(sql, one))
})

/** How many passages of collections a filter leaves. */
export const filteredCount = Effect.fnUntraced(function* (
  sql: Sql,
  searching: Searching,
  names: ReadonlyArray<CollectionName>,
  filter: Filter
) {
  const known = (yield* collections.all(sql)).filter(({ name }) => names.includes(name))
  const left = yield* Effect.forEach(known, ({ id, passages }) =>
    Effect.map(searching.masks.of(sql, id, filter), (mask) => mask?.count ?? passages)
  )
  return left.reduce((sum, count) => sum + count, 0)
})

/** One mask for all; a passage belongs to one collection only. */
export const union = (asked: ReadonlyArray<Searched>): Mask | undefined => {
  const masks = asked.flatMap(({ mask }) => (mask === undefined ? [] : [mask]))
  // The filter is the same for all: it restricts every collection or none.
  if (masks.length < 2) return masks[0]
  const bits = new Uint32Array(Math.max(...masks.map((mask) => mask.bits.length)))
  for (const mask of masks) for (let word = 0; word < mask.bits.length; word++) bits[word]! |= mask.bits[word]!
  return { bits, count: masks.reduce((sum, { count }) => sum + count, 0) }
}
