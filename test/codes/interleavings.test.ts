import { afterAll, assert, it } from "@effect/vitest"
import { BlockCache, type CacheHandle, type Slot } from "../../src/codes/BlockCache.ts"

// Runs the code itself on shared memory whose every access is told first. There, another thread runs a whole operation,
// or the thread ends. Operations under the lock exclude each other, so what matters is what happens between accesses.

type Access = () => void
const nothing: Access = () => {}
/** What happens before the running thread's next access. */
let access: Access = nothing

const raw = new WeakMap<object, Int32Array<SharedArrayBuffer>>()
const watched = (words: Int32Array<SharedArrayBuffer>): Int32Array<SharedArrayBuffer> => {
  const proxy = new Proxy(words, {
    get: (target, key) => {
      access()
      return Reflect.get(target, key)
    },
    set: (target, key, value) => {
      access()
      return Reflect.set(target, key, value)
    }
  })
  raw.set(proxy, words)
  return proxy
}

const names = ["load", "store", "or", "and", "add", "compareExchange", "wait", "notify"] as const
const own = new Map<string, unknown>(names.map((name) => [name, Atomics[name]]))
const patch = (name: string, f: unknown) => Object.assign(Atomics, { [name]: f })
for (const name of names) {
  const real = own.get(name) as (...args: ReadonlyArray<unknown>) => unknown
  patch(name, (words: object, ...rest: ReadonlyArray<unknown>) => {
    const target = raw.get(words)
    if (target === undefined) return real(words, ...rest)
    access()
    // Nobody else can run while one waits: it does without the lock at once, and not after its patience.
    if (name === "wait") throw new RangeError("nobody frees the lock")
    return real(target, ...rest)
  })
}
afterAll(() => {
  for (const [name, real] of own) patch(name, real)
})

const size = 5000

/** A thread with what it holds: each slot with its block's version, 0 for a slot of its own. */
class Thread {
  readonly held = new Map<number, { readonly slot: Slot; readonly version: number }>()
  isAlive = true
  readonly words: Int32Array<SharedArrayBuffer>

  constructor(
    readonly cache: BlockCache,
    readonly handle: CacheHandle
  ) {
    const inside = cache as unknown as { words: Int32Array<SharedArrayBuffer> }
    this.words = inside.words
    inside.words = watched(inside.words)
  }

  /** The slots of blocks that another thread is loading. */
  take(...versions: ReadonlyArray<number>): ReadonlyArray<number> {
    const { load, slots, wait } = this.cache.acquire(versions.map((version) => ({ version, bytes: size })))
    slots.forEach((slot, place) => this.held.set(slot.index, { slot, version: versions[place]! }))
    for (const place of load) {
      this.cache.write(slots[place]!, new Uint8Array(size).fill(versions[place]!))
      this.cache.publish(slots[place]!)
    }
    return wait.map((place) => slots[place]!.index)
  }

  takeLoaded(...versions: ReadonlyArray<number>): void {
    for (const [version, slot] of this.cache.takeLoaded(new Set(versions))) this.held.set(slot.index, { slot, version })
  }

  allocate(): void {
    const slot = this.cache.allocate(size)
    this.held.set(slot.index, { slot, version: 0 })
    this.cache.write(slot, new Uint8Array(size).fill(100 + this.handle.holder))
  }

  release(): void {
    const slots = [...this.held.values()].map(({ slot }) => slot)
    this.held.clear()
    this.cache.release(slots)
  }
}

const operations: Readonly<Record<string, (thread: Thread) => unknown>> = {
  "takes a free block and a new one": (thread) => thread.take(2, 3),
  "takes two new ones": (thread) => thread.take(3, 4),
  "takes loaded ones": (thread) => thread.takeLoaded(1, 2),
  "takes a slot of its own": (thread) => thread.allocate(),
  "releases all, then takes one": (thread) => {
    thread.release()
    thread.take(5)
  }
}

const [owner, a, b, c] = (() => {
  const cache = BlockCache.make()
  const threads = [0, 1, 2].map(() => {
    const handle = cache.admit()!
    return new Thread(BlockCache.attach(handle), handle)
  })
  return [cache, ...threads] as unknown as [BlockCache, Thread, Thread, Thread]
})()
const threads = [a, b, c]

/** Block 1 is held by a and c, block 6 by c, block 2 by nobody: its slot is the only free one. */
const start = (() => {
  a.take(1, 2)
  c.take(1, 6)
  a.cache.release([...a.held.values()].filter(({ version }) => version !== 1).map(({ slot }) => slot))
  const words = a.words.slice(0, 1024)
  const bytes = a.cache.view(0)
  const first = Math.min(...[...a.held.values(), ...c.held.values()].map(({ slot }) => slot.at))
  const contents = bytes.slice(first, first + 20 * 8192)
  const held = threads.map((thread) => new Map([...thread.held].filter(([, { version }]) => [1, 6].includes(version))))
  return () => {
    access = nothing
    a.words.set(words)
    a.cache.view(0).set(contents, first)
    threads.forEach((thread, i) => {
      thread.isAlive = true
      thread.held.clear()
      for (const [index, each] of held[i]!) thread.held.set(index, each)
    })
  }
})()

const end = (thread: Thread) => {
  thread.isAlive = false
  thread.held.clear()
  owner.dismiss(thread.handle)
}

/** That nobody's blocks were given to somebody else, and that all can go on. */
const check = (what: string) => {
  access = nothing
  for (const thread of threads.filter(({ isAlive }) => isAlive)) {
    for (const [index, { slot, version }] of thread.held) {
      const found = thread.cache.view(slot.at + size).subarray(slot.at, slot.at + size)
      const wanted = version === 0 ? 100 + thread.handle.holder : version
      if (version === 0 || Atomics.load(thread.words, 16 + 16 * index) === 1)
        assert.isTrue(
          found.every((byte) => byte === wanted),
          what
        )
      for (const other of threads.filter((each) => each.isAlive && each !== thread)) {
        const same = other.held.get(index)
        assert.isTrue(same === undefined || (version !== 0 && same.version === version), what)
        for (const each of other.held.values())
          assert.isTrue(each.slot.index === index || Math.abs(each.slot.at - slot.at) >= 8192, what)
      }
    }
  }
  const loading = threads.flatMap(({ held }) => [...held.keys()])
  for (const index of threads.find(({ isAlive }) => isAlive)!.take(1, 2, 3, 4, 5, 6, 7, 8))
    assert.include(loading, index, what)
}

class Ended extends Error {}

/** Runs an operation; a thread that finds the lock held does without. Says whether the thread ended in it. */
const run = (thread: Thread, operation: (thread: Thread) => unknown): boolean => {
  try {
    operation(thread)
  } catch (error) {
    if (error instanceof Ended) return true
    if (!(error instanceof RangeError)) throw error
  }
  return false
}

/** Runs an operation in which `inner` happens before access `at`; says whether there were so many. */
const interrupted = (
  thread: Thread,
  operation: (thread: Thread) => unknown,
  at: number,
  inner: () => void
): boolean => {
  const outer = access
  let count = 0
  const mine = () => {
    if (count++ !== at) return
    access = nothing
    inner()
    access = mine
  }
  access = mine
  run(thread, operation)
  access = outer
  return count > at
}

/** Runs an operation whose thread ends before access `at`; says whether there were so many. */
const ended = (thread: Thread, operation: (thread: Thread) => unknown, at: number): boolean => {
  const outer = access
  let count = 0
  access = () => {
    // What would run after the end is not run.
    if (count++ >= at) throw new Ended()
  }
  const isEnded = run(thread, operation)
  access = outer
  if (isEnded) end(thread)
  return isEnded
}

const all = Object.entries(operations)
/** Calls with 0, 1, … as long as it says true. */
const each = (one: (at: number) => boolean): number => {
  let at = 0
  while (one(at)) at++
  return at
}

it("a thread runs a whole operation at every access of another, and both have what they took", () => {
  for (const [first, one] of all)
    for (const [second, two] of all) {
      const accesses = each((at) => {
        start()
        const isReached = interrupted(a, one, at, () => run(b, two))
        check(`a ${first}; before its access ${at}, b ${second}`)
        return isReached
      })
      assert.isAbove(accesses, 4)
    }
})

it("a thread ends at every access, and the others go on once it is dismissed", () => {
  for (const [first, one] of all) {
    const accesses = each((at) => {
      start()
      const isEnded = ended(a, one, at)
      check(`a ${first} and ends before access ${at}`)
      return isEnded
    })
    assert.isAbove(accesses, 4)
  }
})

it("a thread ends at every access of its own within every fourth access of another", () => {
  for (const [first, one] of all)
    for (const [second, two] of all) {
      const accesses = each((at) => {
        let isReached = false
        each((until) => {
          start()
          let isEnded = false
          isReached = interrupted(a, one, 4 * at, () => (isEnded = ended(b, two, until)))
          check(`a ${first}; before its access ${4 * at}, b ${second} and ends before access ${until}`)
          return isEnded
        })
        return isReached
      })
      assert.isAbove(accesses, 1)
    }
})

it("a third one, in the middle of the second, in the middle of the first", () => {
  const some = all.slice(0, 4)
  for (const [first, one] of some)
    for (const [second, two] of some) {
      const accesses = each((at) => {
        let isReached = false
        each((then) => {
          start()
          let isInner = false
          isReached = interrupted(a, one, 5 * at, () => {
            isInner = interrupted(b, two, 5 * then, () => run(c, (thread) => thread.take(3, 2)))
          })
          check(`a ${first}, at ${5 * at} b ${second}, at ${5 * then} c`)
          return isInner
        })
        return isReached
      })
      assert.isAbove(accesses, 1)
    }
})
