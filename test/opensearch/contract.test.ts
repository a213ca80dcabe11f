import { it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as OpenSearch from "../../src/Store/OpenSearch.ts"
import { measuredAnew } from "../contracts/measuredAnew.ts"
import { readingContract } from "../contracts/reading.ts"
import { storeContract } from "../contracts/Store.ts"
import { newIndex, options, removed } from "./index.ts"

storeContract("OpenSearch", newIndex)
readingContract("OpenSearch", newIndex)

it.effect("measures the graph that is built of documents that were stored without one", () => {
  const given = options()
  return Effect.ensuring(
    measuredAnew((graph) => OpenSearch.layer({ ...given, graph })),
    Effect.promise(() => removed(given.prefix))
  )
})
