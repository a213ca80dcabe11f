import * as Effect from "effect/Effect"
import type { Head } from "./block.ts"
import { holding } from "../runtime/afterwards.ts"
import { type SharedMemory, gibibyte, kernels, pageBytes, sharedMemory } from "../runtime/wasm.ts"
import wasm, { type Kernel } from "./kernel.wasm.ts"

/** Approximate bytes of an object outside the arena. */
const objectBytes = 128

/** A term's unpacked postings in the arena, and how many of them are not deleted in this version. */
export interface Postings {
  readonly at: number
  readonly count: number
  /** How many have a frequency too large for 4 bits. */
  readonly large: number
  living: number
  version: number
}

/** What the arena has of a segment: its passages' lengths, its tombstones in this version, and the requested terms. */
export interface Loaded {
  readonly ids: Head["ids"]
  readonly firsts: Head["firsts"]
  readonly lengthsAt: number
  /** Terms of all its passages. */
  readonly terms: number
  deadAt: number
  version: number
  readonly postings: Map<string, Postings>
}

/** How full an arena may be before it is emptied: at least this much, more for large indexes. A query may exceed it. */
const leastBytes = 8 * 1024 * 1024
const bytesPerPassage = 56
const maxBytes = 64 * 1024 * 1024
/** The bytes below belong to the kernel. */
const firstByte = 1024

const kernelOn = kernels<Kernel>(wasm)
let current: Arena | undefined

/**
 * The kernel's memory, with what queries have loaded of segments, by stamp. It never changes, so any snapshot and any
 * database may use it. Nothing is freed individually: a full arena is emptied, or left to those who still use it.
 */
export class Arena {
  readonly kernel: Kernel
  readonly segments = new Map<number, Loaded>()
  private readonly memory: SharedMemory
  private used = firstByte
  private beside = 0
  private users = 0
  private passages = 0
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
      if (current.isFull && current.users === 0) current.empty()
      else if (current.isFull) current = new Arena()
      current.users++
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

  /** The memory stays in use: a new one would be added to it until the old one is garbage-collected. */
  private empty(): void {
    this.segments.clear()
    this.used = firstByte
    this.beside = 0
    this.passages = 0
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
