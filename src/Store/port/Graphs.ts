import type * as Effect from "effect/Effect"
import type { CollectionName } from "../../model/Collection.ts"
import type { Entity, GraphPassage, GraphStep, GraphUnasked, Said } from "../../model/Graph.ts"
import type { CollectionNotFound, StoreUnavailable } from "./errors.ts"

/** Keeps the knowledge graph, whose edges go in and out with their passages. */
export interface Graphs {
  /** Brings the next passages after one, 0 before the first, into the graph, as far as they are not in it. */
  readonly extendGraph: (
    collection: CollectionName,
    after: number,
    limit: number
  ) => Effect.Effect<GraphStep, CollectionNotFound | StoreUnavailable>
  /**
   * Of the next passages after one, 0 before the first, those that this model was not asked about. One whose words it was
   * asked about elsewhere gets what it said there.
   */
  readonly graphUnasked: (
    collection: CollectionName,
    model: string,
    after: number,
    limit: number
  ) => Effect.Effect<GraphUnasked, CollectionNotFound | StoreUnavailable>
  /** Keeps what a model said of a passage, and brings it into the graph; false: the passage is gone. */
  readonly keepSaid: (
    collection: CollectionName,
    passage: number,
    model: string,
    said: Said
  ) => Effect.Effect<boolean, CollectionNotFound | StoreUnavailable>
  /** The share of the collection's documents that name or link another, of a sample where there are many. */
  readonly linkage: (collection: CollectionName) => Effect.Effect<number, CollectionNotFound | StoreUnavailable>
  /** The next passages in the graph after one, 0 before the first, with their mentions. */
  readonly graphPage: (
    collection: CollectionName,
    after: number,
    limit: number
  ) => Effect.Effect<ReadonlyArray<GraphPassage>, CollectionNotFound | StoreUnavailable>
  /** These passages, as far as they are the collection's and in the graph, in order of their ids. */
  readonly graphPassages: (
    collection: CollectionName,
    ids: ReadonlyArray<number>
  ) => Effect.Effect<ReadonlyArray<GraphPassage>, CollectionNotFound | StoreUnavailable>
  /** Entities by their hashes, those that there are; of each a bounded number of places, the defining first. */
  readonly graphEntities: (
    collection: CollectionName,
    hashes: ReadonlyArray<number>
  ) => Effect.Effect<ReadonlyArray<readonly [hash: number, entity: Entity]>, CollectionNotFound | StoreUnavailable>
}
