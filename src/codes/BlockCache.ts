import { type SharedMemory, kernels, pageBytes, sharedMemory } from "../runtime/wasm.ts"
import scan, { type Kernel } from "./scan.wasm.ts"

/** A memory with this many initial pages; it grows up to 4 GB, which are reserved but only used as it grows. */
const makeMemory = (initial: number): SharedMemory => sharedMemory(initial, 65_536)

const kernelOn = kernels<Kernel>(scan)

/** What a thread needs to use another thread's cache; structured cloning can transfer it. */
export interface CacheHandle {
  readonly memory: SharedMemory
  readonly holder: number
}

/** A block's place in the memory. */
export interface Slot {
  readonly index: number
  /** Address of the block. */
  readonly at: number
}

/** A wanted block: its version, unique for good, and its size. */
interface Wanted {
  readonly version: number
  readonly bytes: number
}

/** A slot for each wanted block; `load` and `wait` are positions in that list. */
export interface Claimed {
  readonly slots: ReadonlyArray<Slot>
  readonly load: ReadonlyArray<number>
  readonly wait: ReadonlyArray<number>
}

const holders = 256
const mostSlots = 65_535

// Words of the control region: a header, then the slots' entries.
const lock = 0
const slotCount = 1
/** First free unit of memory. */
const top = 2
/** Microseconds spent on loading blocks, over all threads. */
const loadedFor = 3
const admitted = 8
const entries = 16
// Words of an entry; a slot is held by the threads whose bits are set, and free if none is set.
const state = 0
const versionLow = 1
const versionHigh = 2
const address = 3
const capacity = 4
const held = 8
const entryWords = 16

/** The version of a slot that holds no block. */
const unshared = 0

const loading = 0
const ready = 1

const unit = 4096
const controlPages = Math.ceil(((entries + (mostSlots + 1) * entryWords) * 4) / pageBytes)

/**
 * Waits of a millisecond after which a thread does without the lock: nobody holds it longer than a few, unless it died
 * and has not been dismissed. Waits are counted instead of reading a clock, which runs on while a process is stopped.
 */
const patience = 2000

const unitsFor = (bytes: number): number => {
  const units = Math.max(1, Math.ceil(bytes / unit))
  // Few sizes, so that a released slot fits the next block.
  const size = 2 ** Math.ceil(Math.log2(units))
  return units > size * 0.625 && units <= size * 0.75 ? size * 0.75 : units <= size * 0.625 ? size * 0.625 : size
}

/**
 * Memory for blocks of codes that the threads of a process share. A block is loaded once for all. Each thread holds the
 * blocks of its own snapshot by its own bit in the slot's entry, so a newer state in another thread takes nothing away
 * from it.
 *
 * Only the owner of the lock changes the list of slots and what is in a free slot, and only the owner frees the lock, or
 * `dismiss` once the owner has ended: no two threads ever have it. A thread that ends in the middle leaves its slots
 * free or without a finished block. test/codes/interleavings.test.ts stops threads at every access to prove it.
 */
export class BlockCache {
  /** A cache owned by this thread, which can admit others. */
  static make(): BlockCache {
    const memory = makeMemory(controlPages)
    const words = new Int32Array(memory.buffer, 0, entries)
    words[top] = (controlPages * pageBytes) / unit
    words[admitted] = 1
    return new BlockCache({ memory, holder: 0 })
  }

  /** Another thread's cache, given its handle. */
  static attach(handle: CacheHandle): BlockCache {
    return new BlockCache(handle)
  }

  readonly kernel: Kernel
  private readonly words: Int32Array
  private bytes: Uint8Array
  private readonly word: number
  private readonly bit: number

  private constructor(private readonly handle: CacheHandle) {
    this.kernel = kernelOn(handle.memory)
    this.words = new Int32Array(handle.memory.buffer, 0, entries + mostSlots * entryWords)
    this.bytes = new Uint8Array(handle.memory.buffer)
    this.word = held + (handle.holder >> 5)
    this.bit = 1 << (handle.holder & 31)
  }

  /** A handle for one more thread, until it is dismissed; undefined: there are too many already. Never waits. */
  admit(): CacheHandle | undefined {
    for (let holder = 1; holder < holders; holder++) {
      const [word, bit] = [admitted + (holder >> 5), 1 << (holder & 31)]
      if ((Atomics.or(this.words, word, bit) & bit) === 0) return { memory: this.handle.memory, holder }
    }
    return undefined
  }

  /** Releases everything that a thread held, the lock too. Call it once the thread has ended, for whatever reason. */
  dismiss({ holder }: CacheHandle): void {
    Atomics.compareExchange(this.words, lock, holder + 1, 0)
    const bit = 1 << (holder & 31)
    for (let index = 0; index < Atomics.load(this.words, slotCount); index++) {
      Atomics.and(this.words, entry(index) + held + (holder >> 5), ~bit)
    }
    Atomics.and(this.words, admitted + (holder >> 5), ~bit)
  }

  /**
   * A slot for each block, held from now on. The caller fills those in `load` and then calls `publish`; another thread
   * is filling those in `wait`. Throws a RangeError if the memory is full or the lock is not to be had; then
   * nothing is held.
   */
  acquire(wanted: ReadonlyArray<Wanted>): Claimed {
    return this.locked(() => {
      const { words } = this
      const places = new Map(wanted.flatMap(({ version }, i) => (version === unshared ? [] : [[version, i]])))
      const slots: Array<Slot | undefined> = Array.from({ length: wanted.length })
      const free = new Map<number, Array<number>>()
      const wait: Array<number> = []
      for (let index = 0; index < words[slotCount]!; index++) {
        const at = entry(index)
        const place = places.get(this.versionAt(at))
        const isFree = this.isFree(at)
        const isReady = Atomics.load(words, at + state) === ready
        if (place !== undefined && slots[place] === undefined && (isReady || !isFree)) {
          Atomics.or(words, at + this.word, this.bit)
          slots[place] = this.slot(index)
          if (!isReady) wait.push(place)
        } else if (isFree) {
          const size = words[at + capacity]!
          const some = free.get(size)
          if (some === undefined) free.set(size, [index])
          else some.push(index)
        }
      }
      const load: Array<number> = []
      try {
        wanted.forEach(({ bytes, version }, place) => {
          if (slots[place] !== undefined) return
          const units = unitsFor(bytes)
          const index = free.get(units)?.pop() ?? this.extend(units)
          const at = entry(index)
          Atomics.store(words, at + state, loading)
          words[at + versionLow] = (version % 2 ** 32) | 0
          words[at + versionHigh] = Math.floor(version / 2 ** 32)
          Atomics.or(words, at + this.word, this.bit)
          slots[place] = this.slot(index)
          load.push(place)
        })
      } catch (error) {
        this.release(slots.filter((slot) => slot !== undefined))
        throw error
      }
      return { slots: slots as ReadonlyArray<Slot>, load, wait }
    })
  }

  /** The slots of those blocks that are loaded, by version; held from now on. */
  takeLoaded(versions: ReadonlySet<number>): ReadonlyMap<number, Slot> {
    return this.locked(() => {
      const { words } = this
      const slots = new Map<number, Slot>()
      for (let index = 0; index < words[slotCount]!; index++) {
        const at = entry(index)
        const version = this.versionAt(at)
        if (!versions.has(version) || slots.has(version) || Atomics.load(words, at + state) !== ready) continue
        Atomics.or(words, at + this.word, this.bit)
        slots.set(version, this.slot(index))
      }
      return slots
    })
  }

  /** The bytes of the blocks from this version on that any thread holds. */
  bytesFrom(version: number): number {
    let units = 0
    for (let index = 0; index < Atomics.load(this.words, slotCount); index++) {
      const at = entry(index)
      if (this.versionAt(at) >= version && !this.isFree(at)) units += this.words[at + capacity]!
    }
    return units * unit
  }

  /** A slot that only this thread uses. */
  allocate(bytes: number): Slot {
    return this.acquire([{ version: unshared, bytes }]).slots[0]!
  }

  write(slot: Slot, body: Uint8Array, offset = 0): void {
    this.view(slot.at + offset + body.length).set(body, slot.at + offset)
  }

  /** The bytes up to `end`; another thread may have grown the memory. */
  view(end: number): Uint8Array {
    if (end > this.bytes.length) {
      // Growing by nothing makes this thread see what another one has added.
      if (this.handle.memory.buffer.byteLength < end) this.handle.memory.grow(0)
      this.bytes = new Uint8Array(this.handle.memory.buffer)
    }
    return this.bytes
  }

  /** The bytes of the blocks that any thread holds, and the milliseconds that all threads spent loading. */
  get figures(): { readonly bytes: number; readonly loadedMs: number } {
    return { bytes: this.bytesFrom(unshared + 1), loadedMs: (Atomics.load(this.words, loadedFor) >>> 0) / 1000 }
  }

  /** Adds to the loading time. */
  spent(ms: number): void {
    Atomics.add(this.words, loadedFor, Math.round(ms * 1000))
  }

  publish({ index }: Slot): void {
    Atomics.store(this.words, entry(index) + state, ready)
    Atomics.notify(this.words, entry(index) + state)
  }

  /** Whether the block is loaded, after waiting for at most `ms`. */
  isReady({ index }: Slot, ms: number): boolean {
    const at = entry(index) + state
    if (Atomics.load(this.words, at) === loading && ms > 0) Atomics.wait(this.words, at, loading, ms)
    return Atomics.load(this.words, at) === ready
  }

  release(slots: Iterable<Slot>): void {
    for (const { index } of slots) Atomics.and(this.words, entry(index) + this.word, ~this.bit)
  }

  private slot(index: number): Slot {
    return { index, at: (this.words[entry(index) + address]! >>> 0) * unit }
  }

  private versionAt(at: number): number {
    return (this.words[at + versionLow]! >>> 0) + this.words[at + versionHigh]! * 2 ** 32
  }

  private isFree(at: number): boolean {
    for (let word = held; word < held + holders / 32; word++)
      if (Atomics.load(this.words, at + word) !== 0) return false
    return true
  }

  /** A new slot at the end of the memory; it counts only once it is complete. */
  private extend(units: number): number {
    const { words } = this
    const index = words[slotCount]!
    if (index >= mostSlots) throw new RangeError("too many blocks in memory")
    const at = words[top]!
    const { memory } = this.handle
    const missing = (at + units) * unit - memory.buffer.byteLength
    // Many pages at once, since every thread is told of each growth; untouched pages use no memory.
    if (missing > 0) memory.grow(Math.max(64, Math.ceil(missing / pageBytes)))
    words[entry(index) + address] = at
    words[entry(index) + capacity] = units
    words[top] = at + units
    Atomics.store(words, slotCount, index + 1)
    return index
  }

  private locked<A>(use: () => A): A {
    const own = this.handle.holder + 1
    for (let waits = 0; ;) {
      const owner = Atomics.compareExchange(this.words, lock, 0, own)
      if (owner === 0) break
      if (Atomics.wait(this.words, lock, owner, 1) === "timed-out" && ++waits > patience)
        throw new RangeError("the lock of the codes in memory is held by a thread that does not go on")
    }
    try {
      return use()
    } finally {
      Atomics.compareExchange(this.words, lock, own, 0)
      Atomics.notify(this.words, lock, 1)
    }
  }
}

const entry = (index: number): number => entries + index * entryWords
