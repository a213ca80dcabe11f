import * as Effect from "effect/Effect"
import { StoreUnavailable, UpkeepStore, diskIsFull } from "../Store.ts"

/**
 * Deletes the rows of what was dropped or replaced, since no later process may come to do it. That it was stays true
 * where this fails, so a failure is only logged.
 */
export const swept = Effect.gen(function* () {
  const upkeep = yield* UpkeepStore
  const settled = Effect.filterOrFail(upkeep.settle(), Boolean, () => new StoreUnavailable({ reason: diskIsFull }))
  yield* Effect.repeat(settled, { while: () => upkeep.sweeping() })
}).pipe(
  Effect.catchTag("StoreUnavailable", ({ reason }) =>
    Effect.logWarning(
      `It is done, but what it leaves is not deleted yet; \`clew compact\`, or the next command that writes, goes on: ${reason}`
    )
  )
)
