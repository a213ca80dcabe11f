import type * as Effect from "effect/Effect"
import type { CollectionSummary } from "../model/Collection.ts"
import type { DocumentId } from "../model/Document.ts"
import type { Facets } from "../model/Facets.ts"
import type { Filter } from "../model/Filter.ts"
import type { ViaStep } from "../model/Graph.ts"
import type { Mask, Vector, Scored } from "../model/Passage.ts"
import type { Hit } from "../model/SearchResult.ts"
import type { NearTerm, RankRequest } from "../model/Stored.ts"
import type { Language } from "../terms/languages.ts"

/**
 * A searched collection: the passages that the filter and the query's demands leave, and the query's vector from its
 * embedder.
 */
export interface Searched extends CollectionSummary {
  readonly mask: Mask | undefined
  /** Passages that may meet the query's demands but were too many to check; default 0. */
  readonly unchecked?: number | undefined
  readonly vector: Vector | undefined
  /** The mean of the vectors, if similarities are told above it. */
  readonly background?: Vector | undefined
}

/** A searched collection with the query's vector. */
export interface Compared extends Searched {
  readonly vector: Vector
}

/** A passage's position, which decides between equal scores. */
export interface Place {
  readonly doc_id: DocumentId
  readonly collection: string
  readonly ordinal: number
}

/** What a hit shows of its passage and document, and their collection. */
export interface Shown {
  readonly collection: number
  /** The document's language; terms can be made in it. */
  readonly language: Language
  readonly hit: Pick<Hit, "passage" | "document">
}

/** A term or a prefix of terms, and what it adds to the scores of passages that have it. */
export interface TermScores {
  readonly term: string
  readonly isPrefix: boolean
  readonly scores: ReadonlyMap<number, number>
}

export type Ways = ReadonlyMap<number, ReadonlyArray<ViaStep>>

/**
 * What ranking asks of a store: both legs, scores across them, and what hits show, all from one snapshot. Passages are
 * identified by their ids in the index. Any store that answers these is ranked the same way; `E` is its error.
 */
export interface Snapshot<E> {
  /** The collections of the request in which the filter leaves any passages; fails if the first does not exist. */
  readonly searched: (request: RankRequest) => Effect.Effect<ReadonlyArray<Searched>, E>

  /**
   * The best by BM25 over all the collections together, best first, with all that tie with the last; then those of
   * `also` that match at all. `known` is the share of the query's terms that occur there, weighted by rarity, 0 to 1;
   * `rarity` is the inverse document frequency of each of them; `language` is the query's, as it was looked up.
   */
  readonly matching: (
    asked: ReadonlyArray<Searched>,
    query: string,
    options: {
      readonly depth: number
      readonly near: ReadonlyArray<NearTerm> | undefined
      readonly also: ReadonlyArray<number>
    }
  ) => Effect.Effect<
    {
      readonly found: ReadonlyArray<Scored>
      readonly known: number
      readonly rarity: ReadonlyMap<string, number>
      readonly language: Language
    },
    E
  >

  /** For words of a query that match nothing in the collections, the most similarly spelled terms there. */
  readonly near: (asked: ReadonlyArray<Searched>, query: string) => Effect.Effect<ReadonlyArray<NearTerm>, E>

  /**
   * What each of the first `most` terms of a query adds to the scores of passages, computed as in `matching`: scores by
   * passage for each term, and the number of terms in all.
   */
  readonly terms: (
    asked: ReadonlyArray<Searched>,
    query: string,
    options: {
      readonly near: ReadonlyArray<NearTerm> | undefined
      readonly passages: ReadonlyArray<number>
      readonly most: number
    }
  ) => Effect.Effect<{ readonly terms: ReadonlyArray<TermScores>; readonly total: number }, E>

  /** The nearest passages of a collection by cosine, best first, with all that tie with the last. */
  readonly nearest: (asked: Compared, depth: number) => Effect.Effect<ReadonlyArray<Scored>, E>

  /** The similarity of those of the passages that are in the collection and have a direction. */
  readonly similarity: (asked: Compared, passages: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<Scored>, E>

  readonly places: (passages: ReadonlyArray<number>) => Effect.Effect<ReadonlyMap<number, Place>, E>

  /** Passages' texts, and their headings in stored form. */
  readonly texts: (
    passages: ReadonlyArray<number>
  ) => Effect.Effect<ReadonlyArray<{ readonly id: number; readonly heading: string; readonly text: string }>, E>

  /** The values of a metadata key in passages' documents, for those that have it. */
  readonly metadata: (passages: ReadonlyArray<number>, key: string) => Effect.Effect<ReadonlyMap<number, unknown>, E>

  /** The passages before and after each in its document, if there are any. */
  readonly beside: (passages: ReadonlyArray<number>) => Effect.Effect<ReadonlyMap<number, ReadonlyArray<number>>, E>

  /** The collections of passages. */
  readonly homes: (passages: ReadonlyArray<number>) => Effect.Effect<ReadonlyMap<number, number>, E>

  /** Passages that the graph leads to from the best hits, best first, each with the path that led there. */
  readonly expand: (
    asked: Searched,
    graph: NonNullable<RankRequest["graph"]>,
    hits: ReadonlyArray<Scored>
  ) => Effect.Effect<Ways, E>

  /** The documents that collections' masks leave, counted by facets; with `filter`, the masks are made by it alone. */
  readonly facets: (
    asked: ReadonlyArray<Searched>,
    names: ReadonlyArray<string>,
    filter: Filter | undefined
  ) => Effect.Effect<Facets, E>

  readonly shown: (passages: ReadonlyArray<number>) => Effect.Effect<ReadonlyMap<number, Shown>, E>
}
