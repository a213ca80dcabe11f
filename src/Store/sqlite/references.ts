import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { DocumentId } from "../../model/Document.ts"
import type { DocumentRef, StoredRef } from "../../model/Stored.ts"
import { DocumentConflict } from "../../Store.ts"
import { inList, list } from "./rows.ts"

/** The columns of a stored document that distinguish it from others and from its new version. */
export interface Known extends StoredRef {
  readonly id: number
}

interface Row {
  readonly id: number
  readonly doc_id: DocumentId
  readonly source: string | null
  readonly fingerprint: string
  readonly seen_run: number | null
  readonly line: number | null
  readonly passages: number
}

const columns = "id, doc_id, source, fingerprint, seen_run, line, passages"

const known = (row: Row): Known => ({
  id: row.id,
  docId: row.doc_id,
  source: row.source ?? undefined,
  fingerprint: row.fingerprint,
  seenBy: row.seen_run ?? undefined,
  line: row.line ?? undefined,
  passages: row.passages
})

const nameOf = (ref: DocumentRef): string =>
  ref.docId !== undefined ? `doc_id ${ref.docId}` : ref.source !== undefined ? `source ${ref.source}` : "content"

const conflict = (reason: string, places: ReadonlyArray<number>) => new DocumentConflict({ reason, places })

/** The id that a ref's document has once it is stored. */
export const storedId = (ref: DocumentRef, found: Option.Option<Known>): DocumentId =>
  ref.docId ?? Option.match(found, { onNone: () => ref.derivedId, onSome: (stored) => stored.docId })

/** What is stored under each ref; fails if a ref names two documents, or two refs name one. */
export const resolve = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  refs: ReadonlyArray<DocumentRef>
) {
  const ids = refs.map((ref) => ref.docId ?? ref.derivedId)
  const sources = refs.flatMap((ref) => (ref.source === undefined ? [] : [ref.source]))
  const rows = yield* sql.unsafe<Row>(
    `SELECT ${columns} FROM documents WHERE collection_id = ? AND doc_id ${inList}
     UNION SELECT ${columns} FROM documents WHERE collection_id = ? AND source ${inList}`,
    [collection, list(ids), collection, list(sources)]
  )
  const byId = new Map(rows.map((row) => [row.doc_id, known(row)]))
  const bySource = new Map(rows.flatMap((row) => (row.source === null ? [] : [[row.source, known(row)] as const])))

  const taken = new Map<string, number>()
  return yield* Effect.forEach(refs, (ref, place): Effect.Effect<Option.Option<Known>, DocumentConflict> => {
    const named = byId.get(ref.docId ?? ref.derivedId)
    const sourced = ref.source === undefined ? undefined : bySource.get(ref.source)
    if (named !== undefined && sourced !== undefined && named.id !== sourced.id && ref.docId !== undefined) {
      return Effect.fail(
        conflict(
          `doc_id ${ref.docId} and source ${ref.source} name two different documents; ` +
            `delete one of them, or give the doc_id ${sourced.docId}`,
          [place]
        )
      )
    }
    // The id was made from a source that now belongs to another document.
    if (ref.docId === undefined && ref.source !== undefined && sourced === undefined && named !== undefined) {
      return Effect.fail(
        conflict(
          `source ${ref.source} would get the doc_id ${ref.derivedId}, which belongs to another document; give it a doc_id`,
          [place]
        )
      )
    }
    const found = Option.fromNullable(sourced ?? named)
    const id = storedId(ref, found)
    const keys = [
      `id ${id}`,
      ...(ref.source === undefined ? [] : [`source ${ref.source}`]),
      ...Option.toArray(Option.map(found, (stored) => `row ${stored.id}`))
    ]
    for (const key of keys) {
      const other = taken.get(key)
      if (other !== undefined) {
        const names = [refs[other]!, ref].map(nameOf).join(" and ")
        return Effect.fail(conflict(`The same document is in the batch twice: ${names}`, [other, place]))
      }
      taken.set(key, place)
    }
    return Effect.succeed(found)
  })
})
