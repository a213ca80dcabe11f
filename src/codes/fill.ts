import * as Effect from "effect/Effect"
import type { BlockCache, Claimed } from "./BlockCache.ts"
import type { Block, CodeSet, CodeStore } from "./CodeStore.ts"
import { nextTurnOrEnd, turnMs } from "../runtime/EventLoop.ts"

/** Blocks read per statement. */
const batch = 16

/** Milliseconds to wait for a block that another thread is loading. */
const othersMs = 500

/** Loads the claimed blocks into their slots, and waits for those that other threads are loading. */
export const fill = Effect.fnUntraced(function* <E>(
  store: CodeStore<E>,
  cache: BlockCache,
  set: Pick<CodeSet, "id" | "width">,
  blocks: ReadonlyArray<Block>,
  { load, slots, wait }: Claimed
) {
  let until = performance.now() + turnMs
  const some = Effect.fnUntraced(function* (places: ReadonlyArray<number>) {
    const bodies = yield* store.bodies(
      set,
      places.map((place) => blocks[place]!)
    )
    places.forEach((place, i) => {
      cache.write(slots[place]!, bodies[i]!)
      cache.publish(slots[place]!)
    })
    if (performance.now() < until) return
    yield* nextTurnOrEnd
    until = performance.now() + turnMs
  })
  for (let from = 0; from < load.length; from += batch) yield* some(load.slice(from, from + batch))
  // If the other thread has died, this one may write the block: the bytes are the same.
  let patience = performance.now() + othersMs
  for (const place of wait) {
    while (!cache.isReady(slots[place]!, 1)) {
      if (performance.now() > patience) yield* some([place])
      else yield* nextTurnOrEnd
    }
    patience = Math.max(patience, performance.now() + othersMs / 10)
  }
})
