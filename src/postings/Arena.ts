import * as Effect from "effect/Effect"
import type { Head } from "./block.ts"
import { holding } from "../runtime/afterwards.ts"
import { type SharedMemory, gibibyte, kernels, pageBytes, sharedMemory } from "../runtime/wasm.ts"
import wasm, { type Kernel } from "./kernel.wasm.ts"

/** A place in the arena, and a callback for when it moves. */
interface Held {
  readonly at: number
  readonly bytes: number
  readonly moved: (at: number) => void
}

const recentFirst = (a: { readonly used: number }, b: { readonly used: number }): number => b.used - a.used

/** The first items whose total is at most `most` bytes, ignoring the rest. */
const within = <A>(some: ReadonlyArray<A>, most: number, bytesOf: (each: A) => number): ReadonlyArray<A> => {
  let sum = 0
  const end = some.findIndex((each) => (sum += bytesOf(each)) > most)
  return end < 0 ? some : some.slice(0, end)
}

/** Approximate bytes of an object outside the arena. */
export const objectBytes = 128

const lengthOf = ({ at, end }: Postings): number => end - at

/**
 * Frees space: keeps the last used segments, then the last used postings, up to `most` bytes, moved together from
 * `first` on. Forgets the others and all tombstones, which are loaded again. Returns how many places stay, and their
 * end. Each place counts together with its object, so that what stays never fills the arena again by itself.
 */
export const compact = (
  segments: Map<number, Loaded>,
  bytes: Uint8Array,
  first: number,
  most: number
): { readonly kept: number; readonly end: number } => {
  const bytesOf = ([, { ids }]: readonly [number, Loaded]) => 4 * ids.count + objectBytes
  const costOf = (postings: Postings) => lengthOf(postings) + objectBytes
  const lasting = within(
    [...segments].sort(([, a], [, b]) => recentFirst(a, b)),
    most / 2,
    bytesOf
  )
  const left = most - lasting.reduce((sum, each) => sum + bytesOf(each), 0)
  const found = lasting.flatMap(([, { postings }]) => [...postings.values()].filter((each) => lengthOf(each) > 0))
  const recent = new Set(within(found.sort(recentFirst), left, costOf))

  segments.clear()
  const held: Array<Held> = []
  for (const [stamp, loaded] of lasting) {
    segments.set(stamp, loaded)
    loaded.deadAt = 0
    held.push({ at: loaded.lengthsAt, bytes: 4 * loaded.ids.count, moved: (at) => (loaded.lengthsAt = at) })
    for (const [key, postings] of loaded.postings) {
      if (!recent.has(postings)) {
        loaded.postings.delete(key)
        continue
      }
      const length = lengthOf(postings)
      held.push({
        at: postings.at,
        bytes: length,
        moved: (at) => {
          postings.at = at
          postings.end = at + length
        }
      })
    }
  }
  let end = first
  for (const { at, bytes: length, moved } of held.sort((a, b) => a.at - b.at)) {
    bytes.copyWithin(end, at, at + length)
    moved(end)
    end = Math.ceil((end + length) / 16) * 16
  }
  return { kept: held.length, end }
}

/** A term's unpacked postings in the arena, and how many of them are not deleted in this version. */
export interface Postings {
  at: number
  end: number
  readonly count: number
  /** How many have a frequency too large for 4 bits. */
  readonly large: number
  living: number
  version: number
  /** The last use of the arena that asked for them. */
  used: number
}

/** What the arena has of a segment: its passages' lengths, its tombstones in this version, and the requested terms. */
export interface Loaded {
  readonly ids: Head["ids"]
  readonly firsts: Head["firsts"]
  lengthsAt: number
  /** Terms of all its passages. */
  readonly terms: number
  deadAt: number
  version: number
  /** The last use of the arena that searched it. */
  used: number
  readonly postings: Map<string, Postings>
}

/**
 * How full an arena may be before half of it is released: at least this much, more for large indexes. A query may
 * exceed it.
 */
const leastBytes = 8 * 1024 * 1024
const bytesPerPassage = 56
const maxBytes = 64 * 1024 * 1024
/** The bytes below belong to the kernel. */
const firstByte = 1024

const kernelOn = kernels<Kernel>(wasm)
let current: Arena | undefined

/**
 * The kernel's memory, with what queries have loaded of segments, by stamp. It never changes, so any snapshot and any
 * database may use it. Nothing is freed individually: merged segments and old tombstones stay until a full arena is
 * compacted to what was used last, or left to those who still use it.
 */
export class Arena {
  readonly kernel: Kernel
  readonly segments = new Map<number, Loaded>()
  private readonly memory: SharedMemory
  private used = firstByte
  private beside = 0
  private users = 0
  private passages = 0
  /** How often it was used. */
  uses = 0
  bytes: Uint8Array
  words: Uint32Array
  doubles: Float64Array

  private constructor() {
    this.memory = sharedMemory(16, gibibyte)
    this.kernel = kernelOn(this.memory)
    this.bytes = new Uint8Array(this.memory.buffer)
    this.words = new Uint32Array(this.memory.buffer)
    this.doubles = new Float64Array(this.memory.buffer)
  }

  /** Runs an effect with this thread's arena, which keeps its content until the effect ends. */
  static using<A, E, R>(use: (arena: Arena) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    const take = () => {
      current ??= new Arena()
      if (current.isFull && current.users === 0) current.compact()
      else if (current.isFull) current = new Arena()
      current.users++
      current.uses++
      return current
    }
    return holding(take, use, (arena) => {
      arena.users--
    })
  }

  private get most(): number {
    return Math.min(maxBytes, leastBytes + bytesPerPassage * this.passages)
  }

  private get isFull(): boolean {
    return this.used + this.beside > this.most
  }

  /**
   * Keeps what was used last, up to half of the limit. The memory stays in use: a new one would be added to it until
   * the old one is garbage-collected.
   */
  private compact(): void {
    const { end, kept } = compact(this.segments, this.bytes, firstByte, this.most / 2)
    this.used = end
    this.beside = kept * objectBytes
    this.passages = [...this.segments.values()].reduce((sum, { ids }) => sum + ids.count, 0)
  }

  /** Sets how many passages are searched at once. */
  expect(passages: number): void {
    this.passages = Math.max(this.passages, passages)
  }

  private reserve(end: number): void {
    if (end <= this.bytes.length) return
    // Grows by at least a quarter, so that growing is rare.
    const pages = Math.max(Math.ceil((end - this.bytes.length) / pageBytes), this.bytes.length / pageBytes / 4)
    this.memory.grow(Math.min(Math.ceil(pages), gibibyte - this.bytes.length / pageBytes))
    this.bytes = new Uint8Array(this.memory.buffer)
    this.words = new Uint32Array(this.memory.buffer)
    this.doubles = new Float64Array(this.memory.buffer)
  }

  /** Space that stays allocated, at a multiple of 16. */
  allocate(bytes: number): number {
    const at = this.used
    this.used = Math.ceil((at + bytes) / 16) * 16
    this.beside += objectBytes
    this.reserve(this.used)
    return at
  }

  /** Space for each size until the arena's next use, at multiples of 16. */
  scratch<const Sizes extends ReadonlyArray<number>>(sizes: Sizes): { readonly [K in keyof Sizes]: number } {
    let end = this.used
    const places = sizes.map((size) => {
      const at = end
      end = Math.ceil((at + size) / 16) * 16
      return at
    })
    this.reserve(end)
    return places as unknown as { readonly [K in keyof Sizes]: number }
  }

  store(data: Uint8Array): number {
    const at = this.allocate(data.length)
    this.bytes.set(data, at)
    return at
  }
}
