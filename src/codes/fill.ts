import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { Arena, Claimed } from "./BlockCache.ts"
import { type Block, bodiesOf } from "../Store/sqlite/codes/blocks.ts"
import type { CodeSet } from "../Store/sqlite/codes/sets.ts"
import { nextTurn, turnMs } from "./turn.ts"

/** Blocks that one statement reads. */
const batch = 16

/** Milliseconds to wait for a block that another thread is loading. */
const othersMs = 500

/** Loads the claimed blocks into their slots, and waits for those that other threads are loading. */
export const fill = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  arena: Arena,
  set: Pick<CodeSet, "id" | "width">,
  blocks: ReadonlyArray<Block>,
  { load, slots, wait }: Claimed
) {
  let until = performance.now() + turnMs
  const some = Effect.fnUntraced(function* (places: ReadonlyArray<number>) {
    const bodies = yield* bodiesOf(
      sql,
      set,
      places.map((place) => blocks[place]!)
    )
    places.forEach((place, i) => {
      arena.write(slots[place]!, bodies[i]!)
      arena.publish(slots[place]!)
    })
    if (performance.now() < until) return
    yield* nextTurn
    until = performance.now() + turnMs
  })
  for (let from = 0; from < load.length; from += batch) yield* some(load.slice(from, from + batch))
  // Should the other thread have died, the bytes are the same whoever writes them.
  let patience = performance.now() + othersMs
  for (const place of wait) {
    while (!arena.isReady(slots[place]!, 1)) {
      if (performance.now() > patience) yield* some([place])
      else yield* nextTurn
    }
    patience = Math.max(patience, performance.now() + othersMs / 10)
  }
})
