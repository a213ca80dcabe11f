import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Documents } from "./Store/port/Documents.ts"
import type { Files } from "./Store/port/Files.ts"
import type { Graphs } from "./Store/port/Graphs.ts"
import type { Ranking } from "./Store/port/Ranking.ts"
import type { Reindexing } from "./Store/port/Reindexing.ts"
import type { Upkeep } from "./Store/port/Upkeep.ts"

export * from "./Store/port/errors.ts"

/** A whole store: an implementation provides all ports. */
export interface Whole extends Documents, Files, Ranking, Reindexing, Graphs, Upkeep {}

/** Collections, documents, and the records of files. */
export class Store extends Context.Tag("clew/Store")<Store, Documents & Files>() {}

export class RankingStore extends Context.Tag("clew/RankingStore")<RankingStore, Ranking>() {}

export class ReindexStore extends Context.Tag("clew/ReindexStore")<ReindexStore, Reindexing>() {}

export class GraphStore extends Context.Tag("clew/GraphStore")<GraphStore, Graphs>() {}

export class UpkeepStore extends Context.Tag("clew/UpkeepStore")<UpkeepStore, Upkeep>() {}

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
