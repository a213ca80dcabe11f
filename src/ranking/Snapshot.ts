import type * as Effect from "effect/Effect"
import type { CollectionSummary } from "../model/Collection.ts"
import type { DocumentId } from "../model/Document.ts"
import type { ViaStep } from "../model/Graph.ts"
import type { Mask } from "../model/Mask.ts"
import type { Vector } from "../model/Passage.ts"
import type { Scored } from "../model/Scored.ts"
import type { Hit } from "../model/SearchResult.ts"
import type { NearTerm, RankRequest } from "../model/Stored.ts"
import type { Language } from "../text/terms/languages.ts"

/** A collection that is searched: what the filter and the query's demands leave of it, and the query's vector by its embedder. */
export interface Searched extends CollectionSummary {
  readonly mask: Mask | undefined
  /** Passages that may meet what the query demands and were too many to be looked at; 0 unless given. */
  readonly unchecked?: number | undefined
  readonly vector: Vector | undefined
}

/** Where a passage stands: what decides between equal scores. */
export interface Place {
  readonly doc_id: DocumentId
  readonly collection: string
  readonly ordinal: number
}

/** What a hit shows of its passage and document, and the collection these are in. */
export interface Shown {
  readonly collection: number
  /** Its document's, terms in which can be made. */
  readonly language: Language
  readonly hit: Pick<Hit, "passage" | "document">
}

/** A term, or the beginning of terms, and what it adds to the scores of passages that have it. */
export interface TermScores {
  readonly term: string
  readonly isPrefix: boolean
  readonly scores: ReadonlyMap<number, number>
}

export type Ways = ReadonlyMap<number, ReadonlyArray<ViaStep>>

/**
 * What ranking asks of a store: both legs, scores across, and what hits show, all of one moment. Passages go by their
 * ids in the index. A store that answers these is ranked like every other; `E` is what can go wrong there.
 */
export interface Snapshot<E> {
  /** The collections asked of which the filter leaves anything; fails where the first does not exist. */
  readonly searched: (request: RankRequest) => Effect.Effect<ReadonlyArray<Searched>, E>

  /**
   * The best by BM25 over all of the collections together, best first, and all that tie with the last; then those of
   * `also` that match at all.
   */
  readonly matching: (
    asked: ReadonlyArray<Searched>,
    query: string,
    options: {
      readonly depth: number
      readonly near: ReadonlyArray<NearTerm> | undefined
      readonly also: ReadonlyArray<number>
    }
  ) => Effect.Effect<ReadonlyArray<Scored>, E>

  /** For the words of a query that match nothing in the collections, the terms there that are spelled most like them. */
  readonly near: (asked: ReadonlyArray<Searched>, query: string) => Effect.Effect<ReadonlyArray<NearTerm>, E>

  /**
   * What the first `most` terms of a query add to the scores of passages, each by itself, as `matching` has them: each
   * with its scores by passage; and how many terms there are in all.
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

  /** The nearest of a collection by cosine, best first, and all that tie with the last. */
  readonly nearest: (asked: Searched, vector: Vector, depth: number) => Effect.Effect<ReadonlyArray<Scored>, E>

  /** The similarity of those of the passages that are the collection's and have a direction. */
  readonly similarity: (
    asked: Searched,
    vector: Vector,
    passages: ReadonlyArray<number>
  ) => Effect.Effect<ReadonlyArray<Scored>, E>

  readonly places: (passages: ReadonlyArray<number>) => Effect.Effect<ReadonlyMap<number, Place>, E>

  /** Passages' texts, and their headings as they are stored. */
  readonly texts: (
    passages: ReadonlyArray<number>
  ) => Effect.Effect<ReadonlyArray<{ readonly id: number; readonly heading: string; readonly text: string }>, E>

  /** What passages' documents hold under a key of their metadata, where they have it. */
  readonly metadata: (passages: ReadonlyArray<number>, key: string) => Effect.Effect<ReadonlyMap<number, unknown>, E>

  /** The passages before and after each in its document, as far as there are any. */
  readonly beside: (passages: ReadonlyArray<number>) => Effect.Effect<ReadonlyMap<number, ReadonlyArray<number>>, E>

  /** The collections that passages are in. */
  readonly homes: (passages: ReadonlyArray<number>) => Effect.Effect<ReadonlyMap<number, number>, E>

  /** Passages that the graph leads to from the best hits, best first, each with the way that led there. */
  readonly expand: (
    asked: Searched,
    graph: NonNullable<RankRequest["graph"]>,
    hits: ReadonlyArray<{ readonly key: number; readonly score: number }>
  ) => Effect.Effect<Ways, E>

  readonly shown: (passages: ReadonlyArray<number>) => Effect.Effect<ReadonlyMap<number, Shown>, E>
}
