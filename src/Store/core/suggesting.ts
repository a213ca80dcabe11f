import * as Effect from "effect/Effect"
import { keyOf, relations, spelledAlike } from "../../entities/mention.ts"
import type { CollectionName } from "../../model/Collection.ts"
import type { DocumentId } from "../../model/Document.ts"
import type { GraphPassage } from "../../model/Graph.ts"
import type { Suggestion } from "../../model/Suggestion.ts"

const kinds = ["title", "heading", "name"] as const

const kindOf = (relation: number): Suggestion["kind"] =>
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
  /** Entities whose key begins so, the first `mostNames` of them by their keys. */
  readonly names: (key: string) => Effect.Effect<ReadonlyArray<NamedEntity>, E>
  readonly passages: (ids: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<GraphPassage>, E>
}

/** Names are weighed by so many mentions at most. */
export const mostNames = 64
export const mostMentions = 16

/** An entity, and its first mention, by a title if there is such. */
export interface NamedEntity {
  readonly entity: number
  readonly passage: number
  readonly relation: number
  /** How many mentions there are, up to `mostMentions`. */
  readonly mentions: number
}

const byKind = (a: Pick<Suggestion, "kind">, b: Pick<Suggestion, "kind">): number =>
  kinds.indexOf(a.kind) - kinds.indexOf(b.kind)

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
  const key = keyOf(prefix)
  for (const each of known) {
    const { name: collection } = each
    const reads = reading(each)
    for (const { doc_id, source, title } of yield* reads.titles(prefix, limit)) {
      found.push({ text: title, kind: "title", ...(source === null ? {} : { source }), doc_id, collection })
    }
    const named = (key === "" ? [] : yield* reads.names(key))
      .map((one) => ({ ...one, kind: kindOf(one.relation) }))
      .sort((a, b) => byKind(a, b) || b.mentions - a.mentions)
      .slice(0, 2 * limit)
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
  for (const one of found.sort(byKind)) {
    const key = one.text.toLowerCase()
    if (!texts.has(key)) texts.set(key, one)
  }
  // Titles leave half of the places to what is no title, as far as there is so much.
  const others = [...texts.values()].filter(({ kind }) => kind !== "title")
  const most = limit - Math.min(others.length, Math.floor(limit / 2))
  const shownTitles = [...texts.values()].filter(({ kind }) => kind === "title").slice(0, most)
  return [...shownTitles, ...others].slice(0, limit)
})
