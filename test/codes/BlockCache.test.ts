import { assert, it } from "@effect/vitest"
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import { BlockCache, type CacheHandle } from "../../src/codes/BlockCache.ts"

const admitted = (arena: BlockCache): CacheHandle => {
  const handle = arena.admit()
  assert.isDefined(handle)
  return handle
}

const block = (version: number, bytes = 5000) => ({ version, bytes })

const fill = (arena: BlockCache, versions: ReadonlyArray<number>) => {
  const claimed = arena.acquire(versions.map((version) => block(version)))
  for (const place of claimed.load) {
    arena.write(claimed.slots[place]!, new Uint8Array(5000).fill(versions[place]!))
    arena.publish(claimed.slots[place]!)
  }
  return claimed
}

const contents = (arena: BlockCache, slots: ReadonlyArray<{ readonly at: number }>) =>
  slots.map(({ at }) => {
    const bytes = new Set(arena.view(at + 5000).subarray(at, at + 5000))
    return bytes.size === 1 ? [...bytes][0] : undefined
  })

it("loads a block once for all, and keeps it as long as anyone holds it", () => {
  const a = BlockCache.make()
  const b = BlockCache.attach(admitted(a))
  const first = fill(a, [1, 2, 3])
  assert.deepStrictEqual(first.load, [0, 1, 2])
  const second = fill(b, [2, 3, 4])
  assert.deepStrictEqual(second.load, [2])
  assert.strictEqual(second.slots[0]!.at, first.slots[1]!.at)
  // What a gives up that b holds stays; what nobody holds is used again.
  a.release(first.slots)
  const third = fill(a, [5, 6])
  assert.deepStrictEqual(contents(b, second.slots), [2, 3, 4])
  assert.deepStrictEqual(contents(a, third.slots), [5, 6])
  assert.include(
    third.slots.map(({ at }) => at),
    first.slots[0]!.at
  )
})

it("takes up again what has been given up but not overwritten", () => {
  const arena = BlockCache.make()
  const { slots } = fill(arena, [1, 2])
  arena.release(slots)
  assert.deepStrictEqual(arena.acquire([block(2), block(1)]).load, [])
  assert.deepStrictEqual(contents(arena, slots), [1, 2])
})

it("tells who waits that another one is loading, and never shares what is no block", () => {
  const a = BlockCache.make()
  const b = BlockCache.attach(admitted(a))
  const loading = a.acquire([block(9)])
  const waiting = b.acquire([block(9), block(10)])
  assert.deepStrictEqual([waiting.wait, waiting.load], [[0], [1]])
  assert.isFalse(b.isReady(waiting.slots[0]!, 1))
  a.publish(loading.slots[0]!)
  assert.isTrue(b.isReady(waiting.slots[0]!, 0))
  assert.notStrictEqual(a.allocate(64).at, b.allocate(64).at)
})

it("grows for all", () => {
  const a = BlockCache.make()
  const b = BlockCache.attach(admitted(a))
  const large = a.acquire([block(1, 40 * 1024 * 1024)])
  const [slot] = b.acquire([block(1, 40 * 1024 * 1024)]).slots
  a.write(large.slots[0]!, Uint8Array.of(7), 40 * 1024 * 1024 - 1)
  assert.strictEqual(b.view(slot!.at + 40 * 1024 * 1024)[slot!.at + 40 * 1024 * 1024 - 1], 7)
})

it("holds nothing after it found no memory", () => {
  const arena = BlockCache.make()
  const { slots } = fill(arena, [1])
  assert.throws(() => arena.acquire([block(1), block(2, 5000), block(3, 5_000_000_000)]), RangeError)
  arena.release(slots)
  // Both slots are free again: two blocks fit without a third.
  const [x, y] = fill(arena, [4, 5]).slots
  assert.isAtMost(Math.max(x!.at, y!.at), slots[0]!.at + 8192)
})

it("admits as many threads as there are bits, and again once they are dismissed", () => {
  const arena = BlockCache.make()
  const handles = Array.from({ length: 255 }, () => admitted(arena))
  assert.strictEqual(new Set(handles.map(({ holder }) => holder)).size, 255)
  assert.isUndefined(arena.admit())
  arena.dismiss(handles[200]!)
  assert.strictEqual(arena.admit()?.holder, handles[200]!.holder)
})

/** Holds block 1, has not finished block 2, holds the lock, and is ended from outside. */
const thread = `
const { workerData, parentPort } = require("node:worker_threads")
const { holder, memory } = workerData
const words = new Int32Array(memory.buffer, 0, 1024)
const entries = 16, entryWords = 16, held = 8
for (const index of [0, 1]) Atomics.or(words, entries + index * entryWords + held + (holder >> 5), 1 << (holder & 31))
Atomics.store(words, entries + 1 * entryWords, 0)
Atomics.store(words, 0, holder + 1)
parentPort.postMessage("holding")
setInterval(() => {}, 1000)
`

it.each(["dismissed at once", "dismissed later"])("goes on when a thread ends in the middle and is %s", async (how) => {
  const arena = BlockCache.make()
  const { slots } = fill(arena, [1, 2])
  arena.release(slots)
  const handle = admitted(arena)
  const worker = new Worker(thread, { eval: true, workerData: handle })
  await once(worker, "message")
  await worker.terminate()
  if (how === "dismissed later") {
    // The caller then does without codes; nobody else may take the lock.
    assert.throws(() => arena.acquire([block(1)]), RangeError, "does not go on")
    assert.isDefined(arena.admit())
  }
  arena.dismiss(handle)
  const claimed = arena.acquire([block(1), block(2)])
  assert.deepStrictEqual([claimed.load, claimed.wait], [[1], []])
  fill(arena, [1, 2])
  arena.release(claimed.slots)
  assert.include(
    slots.map(({ at }) => at),
    fill(arena, [3]).slots[0]!.at
  )
})
