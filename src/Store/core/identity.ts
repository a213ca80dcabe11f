import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { DocumentConflict } from "../../Store.ts"
import type { DocumentId } from "../../model/Document.ts"
import type { DocumentRef, StoredRef } from "../../model/Stored.ts"

/** Texts from one on, before another, by bytes. */
export type TextRange = readonly [from: string, to: string]

/**
 * The ranges of a path and of what is below it: `/` sorts before `0` by bytes, and no file name contains a zero byte.
 */
export const ranges = (path: string): readonly [itself: TextRange, below: TextRange] => {
  const folder = path.endsWith("/") ? path : `${path}/`
  return [
    [path, `${path}\u0001`],
    [folder, `${folder.slice(0, -1)}0`]
  ]
}

/** The columns of a stored document that distinguish it from others and from its new version. */
export interface Known extends StoredRef {
  readonly id: number
}

const nameOf = (ref: DocumentRef): string =>
  ref.docId !== undefined ? `doc_id ${ref.docId}` : ref.source !== undefined ? `source ${ref.source}` : "content"

const conflict = (reason: string, places: ReadonlyArray<number>) => new DocumentConflict({ reason, places })

/** The id that a ref's document has once it is stored. */
export const storedId = (ref: DocumentRef, found: Option.Option<Known>): DocumentId =>
  ref.docId ?? Option.match(found, { onNone: () => ref.derivedId, onSome: (stored) => stored.docId })

/**
 * What is stored under each ref, of documents among which are all that have a doc_id or a source of the refs; fails if a
 * ref names two documents, or two refs name one.
 */
export const identified = <Stored extends Known>(
  refs: ReadonlyArray<DocumentRef>,
  known: ReadonlyArray<Stored>
): Effect.Effect<ReadonlyArray<Option.Option<Stored>>, DocumentConflict> => {
  const byId = new Map(known.map((stored) => [stored.docId, stored]))
  const bySource = new Map(
    known.flatMap((stored) => (stored.source === undefined ? [] : [[stored.source, stored] as const]))
  )
  const taken = new Map<string, number>()
  return Effect.forEach(refs, (ref, place): Effect.Effect<Option.Option<Stored>, DocumentConflict> => {
    const named = byId.get(ref.docId ?? ref.derivedId)
    const sourced = ref.source === undefined ? undefined : bySource.get(ref.source)
    if (named !== undefined && sourced !== undefined && named.id !== sourced.id && ref.docId !== undefined) {
      return conflict(
        `doc_id ${ref.docId} and source ${ref.source} name two different documents; ` +
          `delete one of them, or give the doc_id ${sourced.docId}`,
        [place]
      )
    }
    // The id was made from a source that now belongs to another document.
    if (ref.docId === undefined && ref.source !== undefined && sourced === undefined && named !== undefined) {
      return conflict(
        `source ${ref.source} would get the doc_id ${ref.derivedId}, which belongs to another document; give it a doc_id`,
        [place]
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
        return conflict(`The same document is in the batch twice: ${names}`, [other, place])
      }
      taken.set(key, place)
    }
    return Effect.succeed(found)
  })
}
