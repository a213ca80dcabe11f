import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { facetLimits, type Facet, type Facets as Counted } from "../../model/Facets.ts"
import type { Filter } from "../../model/Filter.ts"
import type { Mask } from "../../model/Passage.ts"
import type { Searched } from "../../ranking/Snapshot.ts"
import { Kept } from "../../runtime/Kept.ts"
import { Cancelled } from "./Cancelled.ts"
import { dialectOf } from "./dialect.ts"
import { MetadataValues, Numbers, ofCollections, type OwnValues, ownValues } from "../core/facetValues.ts"
import { allDocuments, forEachId } from "./filter.ts"
import { type Masks, type PassageRanges, inOrder } from "./Masks.ts"
import { type Sql, forEachNumber, inList, list } from "./rows.ts"

/** Which documents of a collection have which values of a facet: pairs of a document's row in its ranges and a value. */
interface Column {
  readonly rows: Numbers
  readonly values: Numbers
  /** Rows of the ranges that have been read. */
  through: number
}

/** The documents among a collection's ranges that are still there. */
interface Present {
  /** Rows of the ranges that have been counted. */
  rows: number
  /** Their passages. */
  passages: number
  /** 1 for each row that is there; undefined while all are. */
  marks: Uint8Array | undefined
}

interface Known {
  readonly values: MetadataValues | OwnValues
  readonly columns: WeakMap<PassageRanges, Column>
  /** Numbers kept for it. */
  size: number
}

/** Numbers of four bytes kept for all facets, about; a value counts as eight. */
const most = 16 * 1024 * 1024
const perValue = 8

const batch = 65_536

/** Answers that are kept: while somebody types, nothing changes but the words. */
const mostAnswers = 64

/**
 * A connection's facets of the documents that the masks of collections leave. The values of a facet are read once for each
 * document; the documents that match are counted by a pass over them, and the last counts of each state of the index are
 * kept. With `filter`, the masks are those of this filter alone. Call it in the snapshot that is searched.
 */
export const makeFacets = (masks: Masks) => {
  const facets = new Map<string, Known>()
  const present = new WeakMap<PassageRanges, Present>()
  const answers = new Kept<string, Counted>(mostAnswers)

  /** Drops the facets asked for least recently if they take too much. */
  const forget = (): void => {
    let size = 0
    for (const known of facets.values()) size += known.size + perValue * known.values.size
    for (const [oldest, known] of facets) {
      if (size <= most) break
      facets.delete(oldest)
      size -= known.size + perValue * known.values.size
    }
  }

  /** A facet's values of a collection's documents, with those of the documents that have come since the last time. */
  const columnOf = Effect.fnUntraced(function* (sql: Sql, collection: number, ranges: PassageRanges, name: string) {
    const own = Object.hasOwn(ownValues, name) ? ownValues[name as keyof typeof ownValues] : undefined
    const known = facets.get(name) ?? {
      values: own?.() ?? new MetadataValues(name),
      columns: new WeakMap<PassageRanges, Column>(),
      size: 0
    }
    facets.delete(name)
    facets.set(name, known)
    const column = known.columns.get(ranges) ?? { rows: new Numbers(), values: new Numbers(), through: 0 }
    known.columns.set(ranges, column)
    const before = column.rows.length
    if (column.through < ranges.ids.length) {
      if (known.values instanceof MetadataValues) yield* addMetadata(sql, name, known.values, ranges, column)
      else yield* addOwn(sql, collection, known.values, ranges, column)
    }
    known.size += 2 * (column.rows.length - before)
    return column
  })

  /** Which documents are there, by row; undefined if all are. The passages of a collection tell whether some are gone. */
  const presentIn = Effect.fnUntraced(function* (sql: Sql, { id, passages }: Searched, ranges: PassageRanges) {
    const known: Present = present.get(ranges) ?? { rows: 0, passages: 0, marks: undefined }
    const { counts, ids } = ranges
    for (; known.rows < ids.length; known.rows++) known.passages += counts[known.rows]!
    if (known.marks !== undefined && known.marks.length < ids.length) {
      const longer = new Uint8Array(ids.length).fill(1)
      longer.set(known.marks)
      known.marks = longer
    }
    if (known.passages !== passages) {
      const marks = new Uint8Array(ids.length)
      yield* forEachId(sql, allDocuments(id), (document) => {
        const at = ranges.rowOf(document)
        if (at >= 0) marks[at] = 1
      })
      known.marks = marks
      known.passages = marks.reduce((sum, mark, at) => sum + mark * counts[at]!, 0)
    }
    present.set(ranges, known)
    return known.marks
  })

  return Effect.fnUntraced(function* (
    sql: Sql,
    asked: ReadonlyArray<Searched>,
    names: ReadonlyArray<string>,
    filter: Filter | undefined
  ) {
    const states = yield* sql.unsafe<{ readonly id: number; readonly changes: number }>(
      `SELECT id, changes FROM collections WHERE id ${inList} ORDER BY id`,
      [list(asked.map(({ id }) => id))]
    )
    const key = JSON.stringify([states.map(({ changes, id }) => [id, changes]), names, filter && inOrder(filter)])
    const answer = filter === undefined ? undefined : answers.use(key)
    if (answer !== undefined) return answer
    const counts = new Map<string, Uint32Array>(names.map((name) => [name, new Uint32Array()]))
    const inCollections: Array<Facet["values"][number]> = []
    for (const collection of asked) {
      const ranges = yield* masks.documentsOf(sql, collection.id, collection.documents)
      const matching =
        collection.mask === undefined
          ? yield* presentIn(sql, collection, ranges)
          : matchedBy(collection.mask, ranges, filter !== undefined)
      for (const name of counts.keys()) {
        if (name === "collection") continue
        const column = yield* columnOf(sql, collection.id, ranges, name)
        counts.set(name, counted(column, matching, facets.get(name)!.values.size, counts.get(name)!))
      }
      const count = counts.has("collection") ? sumOf(matching, ranges.ids.length) : 0
      if (count > 0) inCollections.push({ value: collection.name, count })
    }
    const facetOf = (name: string): Facet =>
      name === "collection"
        ? ofCollections(inCollections)
        : (facets.get(name)?.values.facet(counts.get(name)!) ?? { values: [], others: 0 })
    const found: Counted = Object.fromEntries([...counts.keys()].map((name) => [name, facetOf(name)]))
    if (filter !== undefined) answers.add(key, found)
    forget()
    return found
  })
}

/** How many documents are marked, or all if none are. */
const sumOf = (marks: Uint8Array | undefined, all: number): number => {
  if (marks === undefined) return all
  let sum = 0
  for (let at = 0; at < marks.length; at++) sum += marks[at]!
  return sum
}

/** The documents of which a mask leaves a passage, by row; a filter leaves all passages of a document or none. */
const matchedBy = ({ bits }: Mask, { counts, firsts }: PassageRanges, isWhole: boolean): Uint8Array => {
  const matching = new Uint8Array(firsts.length)
  const end = 32 * bits.length
  for (let row = 0; row < matching.length; row++) {
    const first = firsts[row]!
    const last = Math.min(isWhole ? first + 1 : first + counts[row]!, end)
    for (let passage = first; passage < last; passage++) {
      if ((bits[passage >>> 5]! & (1 << (passage & 31))) === 0) continue
      matching[row] = 1
      break
    }
  }
  return matching
}

/** Adds how many documents have each value; of those that match, or of all. */
const counted = (
  { rows, values }: Column,
  matching: Uint8Array | undefined,
  size: number,
  before: Uint32Array
): Uint32Array => {
  const counts = new Uint32Array(size)
  counts.set(before)
  const row = rows.values
  const value = values.values
  if (matching === undefined) for (let at = 0; at < row.length; at++) counts[value[at]!]!++
  else for (let at = 0; at < row.length; at++) counts[value[at]!]! += matching[row[at]!]!
  return counts
}

/** The values of documents' names and times. */
const addOwn = Effect.fnUntraced(function* (
  sql: Sql,
  collection: number,
  values: OwnValues,
  ranges: PassageRanges,
  column: Column
) {
  const { jsonRows, textIn } = dialectOf(sql)
  const isCancelled = yield* Cancelled
  const columns = "id, name, indexed_at"
  for (;;) {
    if (isCancelled()) return yield* Effect.interrupt
    const after = column.through === 0 ? 0 : ranges.firsts[column.through - 1]!
    const [row] = yield* sql.unsafe<{ readonly found: string }>(
      `SELECT ${jsonRows(columns, "first_passage")} AS found
       FROM (SELECT ${columns}, first_passage FROM documents INDEXED BY documents_passages
             WHERE collection_id = ? AND first_passage > ? ORDER BY first_passage LIMIT ?) AS d`,
      [collection, after, batch]
    )
    const found = JSON.parse(row!.found) as ReadonlyArray<readonly [number, string, number]>
    for (const [id, name, indexedAt] of found) {
      const at = ranges.rowOf(id)
      for (const number of at < column.through ? [] : values.of(textIn(name), indexedAt)) {
        column.rows.push(at)
        column.values.push(number)
      }
    }
    // The ranges have each document that is found, and each before it.
    column.through = found.length < batch ? ranges.ids.length : ranges.rowOf(found.at(-1)![0]) + 1
    if (column.through === ranges.ids.length) return
  }
})

/**
 * The values of a metadata key: of all documents by the key, of the latest by the documents. Longer texts are not
 * counted.
 */
const addMetadata = (
  sql: Sql,
  key: string,
  values: MetadataValues,
  ranges: PassageRanges,
  column: Column
): Effect.Effect<void, SqlError> => {
  const { through } = column
  const { digits, read } = dialectOf(sql)
  const [by, where, params] =
    through === 0
      ? (["", "", [key]] as const)
      : ([" INDEXED BY metadata_values_document", " AND document_id > ?", [key, ranges.ids[through - 1]!]] as const)
  return Effect.map(
    sql.unsafe<{ readonly kind: "s" | "n" | "b"; readonly value: string | number; readonly ids: Uint8Array }>(
      `SELECT kind, value, ${digits("document_id", "document_id")} AS ids FROM metadata_values${by}
       WHERE key = ?${where} AND kind <> 'o' AND (kind <> 's' OR length(value) <= ${facetLimits.characters})
       GROUP BY kind, value`,
      params
    ),
    (found) => {
      for (const { ids, kind, value } of found) {
        const number = values.numberOf(read(kind, value))
        forEachNumber(ids, (document) => {
          const at = ranges.rowOf(document)
          if (at < through) return
          column.rows.push(at)
          column.values.push(number)
        })
      }
      column.through = ranges.ids.length
    }
  )
}
