import * as Effect from "effect/Effect"
import { defaultCollection } from "../src/model/Collection.ts"
import type { FindRequest, RankRequest } from "../src/model/Stored.ts"
import type { Whole } from "../src/Store.ts"

/** What is ranked, and how many of the best are wanted: 10 unless given. */
export type RankedRequest = Partial<RankRequest> & { readonly limit?: number }

/** A search whose list is a ranking alone: nothing in it is judged or folded, and the graph adds nothing. */
export const ranking = ({ limit = 10, ...request }: RankedRequest): FindRequest => ({
  collection: defaultCollection,
  alpha: 0,
  fusion: "rrf",
  filter: {},
  ...request,
  list: { places: limit, fold: false, perDocument: 0, minRelevance: 0, question: "", apart: true },
  // A pool hands the search to a thread.
  passages: Infinity
})

/** The best passages, best first. */
export const ranked = (store: Pick<Whole, "find">, request: RankedRequest) =>
  Effect.map(store.find(ranking(request)), ({ hits }) => hits)
