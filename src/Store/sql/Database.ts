import type { SqlError } from "@effect/sql/SqlError"
import type * as Effect from "effect/Effect"
import type { StoreUnavailable } from "../../Store.ts"
import type { StoreInfo } from "../../model/Stats.ts"
import type { Scanner } from "../../codes/Scanner.ts"
import type { Upkeep } from "../port/Upkeep.ts"
import { makeFacets } from "./Facets.ts"
import { Masks } from "./Masks.ts"
import { makeBackgrounds } from "./backgrounds.ts"
import type { Scoring } from "./scoring.ts"
import { type VectorOptions, defaults } from "./vectors.ts"
import type { Sql } from "./rows.ts"

/** How a connection searches, and what it keeps in memory for that. */
export const makeSearching = (codes: Scanner, scoring: Scoring, vectors: VectorOptions = defaults) => {
  const masks = new Masks()
  return { codes, masks, facets: makeFacets(masks), scoring, backgrounds: makeBackgrounds(), vectors }
}

export type Searching = ReturnType<typeof makeSearching>

type Run = <A, E, R>(
  effect: Effect.Effect<A, E | SqlError, R>
) => Effect.Effect<A, Exclude<E, SqlError> | StoreUnavailable, R>

/** One open index in a database. Errors caused by the database are `StoreUnavailable`. */
export interface Database {
  readonly sql: Sql
  readonly searching: Searching
  /** Whether passages are added to the graph when they are stored. */
  readonly graph: boolean
  /** Runs in one snapshot. */
  readonly read: Run
  /** Runs a single read, which is a snapshot by itself. */
  readonly look: Run
  /** Runs in one transaction that holds the write lock from its start. */
  readonly write: Run
  readonly about: Effect.Effect<StoreInfo, SqlError>
  /** The size of the whole database. */
  readonly bytes: Effect.Effect<number, SqlError>
  readonly upkeep: Pick<Upkeep, "settle" | "purge" | "compact">
}
