import type { Collection } from "../model/Collection.ts"
import type { Hit } from "../model/SearchResult.ts"
import type { NearTerm } from "../model/Stored.ts"
import { searchedHeading, searchedTitle } from "../entities/naming.ts"
import { alongGraph, relevance, weakBelow } from "../ranking/relevance.ts"

/** The model whose similarities `relevance` was fitted on; other models have other scales. */
const fitted = { backend: "builtin", model: "clew-static-en-v1" } as const

/** Whether the similarities of a collection are on the scale that `relevance` was fitted on. */
export const isFitted = ({ embedder: { backend, model } }: Collection): boolean =>
  backend === fitted.backend && model === fitted.model

/**
 * Computes the relevance of hits. For other models than the packaged one it uses only words, and never calls a result
 * weak that such a model found.
 */
export const judging = (
  collections: ReadonlyArray<Collection>,
  words: string,
  near: ReadonlyArray<NearTerm>
): {
  readonly judged: (hits: ReadonlyArray<Hit>) => ReadonlyArray<Hit & { readonly relevance: number }>
  /** Whether none of the judged is likely to answer. */
  readonly isWeak: (hits: ReadonlyArray<Hit>) => boolean
} => {
  const known = new Set(collections.filter(isFitted).map(({ name }) => name))
  const judge = relevance(words, near)
  return {
    judged: (hits) =>
      hits.map((hit) => {
        const { collection, document, passage, similarity } = hit
        const what = {
          title: searchedTitle(document.title, document.source),
          heading: searchedHeading(passage),
          text: passage.text
        }
        const own = judge(what, known.has(collection) ? similarity : undefined)
        return { ...hit, relevance: hit.via === undefined ? own : alongGraph(own) }
      }),
    isWeak: (hits) =>
      hits.every(
        ({ collection, relevance = 0, similarity }) =>
          relevance < weakBelow && (similarity === undefined || known.has(collection))
      )
  }
}

/** Why `min_relevance` left out everything found. */
export const tooWeak = (hits: ReadonlyArray<{ readonly relevance: number }>, least: number): string =>
  `the best match has a relevance of ${Math.max(...hits.map(({ relevance }) => relevance)).toFixed(2)}, less than ${least}`
