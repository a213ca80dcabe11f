import type * as Effect from "effect/Effect"
import type { CollectionName } from "../../model/Collection.ts"
import type { Entity, GraphPassage, GraphStep, GraphUnasked, Said } from "../../model/Graph.ts"
import type { CollectionNotFound, StoreUnavailable } from "./errors.ts"

/** Keeps the knowledge graph. Edges are added and deleted together with their passages. */
export interface Graphs {
  /** Adds the next passages after one (0 before the first) to the graph, unless they are in it. */
  readonly extendGraph: (
    collection: CollectionName,
    after: number,
    limit: number
  ) => Effect.Effect<GraphStep, CollectionNotFound | StoreUnavailable>
  /**
   * Those of the next passages after one (0 before the first) that this model was not asked about. A passage with the
   * same words as one it was asked about gets the same answer.
   */
  readonly graphUnasked: (
    collection: CollectionName,
    model: string,
    after: number,
    limit: number
  ) => Effect.Effect<GraphUnasked, CollectionNotFound | StoreUnavailable>
  /** Stores a model's answer about a passage, and adds it to the graph; false: the passage is gone. */
  readonly keepSaid: (
    collection: CollectionName,
    passage: number,
    model: string,
    said: Said
  ) => Effect.Effect<boolean, CollectionNotFound | StoreUnavailable>
  /** The share of the collection's documents that name or link another; in a large collection, of a sample. */
  readonly linkage: (collection: CollectionName) => Effect.Effect<number, CollectionNotFound | StoreUnavailable>
  /** Keeps a linkage measured elsewhere, of the same documents, until the collection has changed by more than a little. */
  readonly keepLinkage: (
    collection: CollectionName,
    linkage: number
  ) => Effect.Effect<void, CollectionNotFound | StoreUnavailable>
  /** The next passages in the graph after one (0 before the first), with their mentions. */
  readonly graphPage: (
    collection: CollectionName,
    after: number,
    limit: number
  ) => Effect.Effect<ReadonlyArray<GraphPassage>, CollectionNotFound | StoreUnavailable>
  /** Those of these passages that are in the collection and in its graph, by id. */
  readonly graphPassages: (
    collection: CollectionName,
    ids: ReadonlyArray<number>
  ) => Effect.Effect<ReadonlyArray<GraphPassage>, CollectionNotFound | StoreUnavailable>
  /** The existing entities among these hashes, each with a bounded number of places, the defining ones first. */
  readonly graphEntities: (
    collection: CollectionName,
    hashes: ReadonlyArray<number>
  ) => Effect.Effect<ReadonlyArray<readonly [hash: number, entity: Entity]>, CollectionNotFound | StoreUnavailable>
}
