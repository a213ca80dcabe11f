import type * as Effect from "effect/Effect"
import type { CollectionName } from "../../model/Collection.ts"
import type { Entity, GraphPassage, GraphStep, GraphUnasked, Said } from "../../model/Graph.ts"
import type { FindRequest, Found } from "../../model/Stored.ts"
import type { Suggestion } from "../../model/Suggestion.ts"
import type { CollectionNotFound, EmbedderChanged, InCollection, StoreUnavailable } from "./errors.ts"

/** Ranks passages by vectors and keywords. */
export interface Ranking {
  /**
   * The list that a search shows: the best passages, best first, each with its relevance, near-duplicates folded into
   * the better hit, and from the sixth place to the tenth where the graph leads; all from one snapshot. Score: cosine for
   * the vector leg alone, BM25 for the keyword leg alone, else the fused score. Ties by doc_id, then collection, then
   * ordinal. Several collections are ranked as one, except that vectors of different embedders are fused by rank. Fails
   * if a vector is not from the embedder that its collection has in that snapshot.
   */
  readonly find: (request: FindRequest) => Effect.Effect<Found, CollectionNotFound | EmbedderChanged | StoreUnavailable>
  /** Which of these words occur literally in a passage, `-jar` with its dash; reads a bounded number of passages. */
  readonly written: (
    collections: ReadonlyArray<CollectionName>,
    words: ReadonlyArray<string>
  ) => InCollection<ReadonlyArray<string>>
}

/** Keeps the knowledge graph. Edges are added and deleted together with their passages. */
export interface Graphs {
  /** Adds the next passages after one (0 before the first) to the graph, unless they are in it. */
  readonly extendGraph: (collection: CollectionName, after: number, limit: number) => InCollection<GraphStep>
  /**
   * Those of the next passages after one (0 before the first) that this model was not asked about. A passage with the
   * same words as one it was asked about gets the same answer.
   */
  readonly graphUnasked: (
    collection: CollectionName,
    model: string,
    after: number,
    limit: number
  ) => InCollection<GraphUnasked>
  /** Stores a model's answer about a passage, and adds it to the graph; false: the passage is gone. */
  readonly keepSaid: (collection: CollectionName, passage: number, model: string, said: Said) => InCollection<boolean>
  /** The share of the collection's documents that name or link another; in a large collection, of a sample. */
  readonly linkage: (collection: CollectionName) => InCollection<number>
  /** Keeps a linkage measured elsewhere, of the same documents, until the collection has changed by more than a little. */
  readonly keepLinkage: (collection: CollectionName, linkage: number) => InCollection<void>
  /** Passages in the collection's graph with their mentions, by id: those of some, or the next after one (at first 0). */
  readonly graphPassages: (
    collection: CollectionName,
    which: ReadonlyArray<number> | { readonly after: number; readonly limit: number }
  ) => InCollection<ReadonlyArray<GraphPassage>>
  /**
   * What begins with a text in these collections: at most `limit` titles, then headings, then other names; each text
   * once. A collection that does not exist has none.
   */
  readonly suggest: (
    collections: ReadonlyArray<CollectionName>,
    prefix: string,
    limit: number
  ) => Effect.Effect<ReadonlyArray<Suggestion>, StoreUnavailable>
  /** The existing entities among these hashes, by hash, each with a bounded number of places, the defining ones first. */
  readonly graphEntities: (
    collection: CollectionName,
    hashes: ReadonlyArray<number>
  ) => InCollection<ReadonlyMap<number, Entity>>
}
