import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Documents, Files } from "./Store/port/Documents.ts"
import type { Graphs, Ranking } from "./Store/port/Ranking.ts"
import type { Capabilities } from "./model/Stats.ts"
import type { BackingUp, Examining, Reindexing, Upkeep } from "./Store/port/Upkeep.ts"

export * from "./Store/port/errors.ts"
export type { Backup, Cure, Finding, Told } from "./Store/port/Upkeep.ts"

/** What the embedded file guarantees. */
export const inFile: Capabilities = {
  snapshot: true,
  atomic_batch: true,
  exact_keyword: true,
  exact_vectors: true,
  purge: true,
  backup: true,
  stale: true,
  shared: false
}

/** PostgreSQL's vacuum, archive and replicas keep deleted bytes; its own tools make backups; files are on other machines. */
export const inPostgres: Capabilities = { ...inFile, purge: false, backup: false, stale: false, shared: true }

/** OpenSearch is many shards without a common snapshot; which vectors are near is found by a graph of them. */
export const inOpenSearch: Capabilities = {
  ...inPostgres,
  snapshot: false,
  atomic_batch: false,
  exact_vectors: false
}

/** A whole store: an implementation provides all ports. */
export interface Whole extends Documents, Files, Ranking, Reindexing, Graphs, Upkeep {}

/** Collections, documents, and the records of files. */
export class Store extends Context.Tag("clew/Store")<Store, Documents & Files>() {}

export class RankingStore extends Context.Tag("clew/RankingStore")<RankingStore, Ranking>() {}

export class ReindexStore extends Context.Tag("clew/ReindexStore")<ReindexStore, Reindexing>() {}

export class GraphStore extends Context.Tag("clew/GraphStore")<GraphStore, Graphs>() {}

export class UpkeepStore extends Context.Tag("clew/UpkeepStore")<UpkeepStore, Upkeep>() {}

/** Checks and mends a store that need not be intact. */
export class Examiner extends Context.Tag("clew/Examiner")<Examiner, Examining>() {}

export class Backups extends Context.Tag("clew/Backups")<Backups, BackingUp>() {}

export type Stores = Store | RankingStore | ReindexStore | GraphStore | UpkeepStore

/** All the ports combined as one store, for code that forwards calls. */
export const whole: Effect.Effect<Whole, never, Stores> = Effect.map(
  Effect.all([Store, RankingStore, ReindexStore, GraphStore, UpkeepStore]),
  ([documents, ranking, reindexing, graphs, upkeep]) => ({
    ...documents,
    ...ranking,
    ...reindexing,
    ...graphs,
    ...upkeep
  })
)

/** The ports of a store. */
export const ports = (store: Whole): Context.Context<Stores> =>
  Context.make(Store, store).pipe(
    Context.add(RankingStore, store),
    Context.add(ReindexStore, store),
    Context.add(GraphStore, store),
    Context.add(UpkeepStore, store)
  )
