import * as Effect from "effect/Effect"
import wasm from "./kernel.wasm.ts"
import { compact, objectBytes } from "./compact.ts"
import type { Loaded } from "./loaded.ts"

/** What the kernel exports; see kernel.as.ts. */
interface Kernel {
  readonly begin: (heap: number, depth: number) => void
  readonly bound: () => number
  readonly open: (cursors: number, count: number) => void
  readonly rank: (
    cursors: number,
    cursorCount: number,
    lengths: number,
    base: number,
    slope: number,
    dead: number,
    allowed: number,
    also: number,
    alsoScores: number,
    alsoCount: number,
    sums: number,
    out: number,
    room: number,
    until: number
  ) => number
  readonly countLiving: (at: number, end: number, dead: number) => number
  readonly check: (at: number, end: number, passages: number) => number
}

interface Memory {
  readonly buffer: SharedArrayBuffer
  readonly grow: (pages: number) => number
}

/** Neither ECMAScript's types nor Node's have all of it. */
const { Instance, Memory, Module } = (
  globalThis as unknown as {
    readonly WebAssembly: {
      readonly Memory: new (of: { initial: number; maximum: number; shared: true }) => Memory
      readonly Module: new (bytes: Uint8Array) => object
      readonly Instance: new (module: object, imports: object) => { readonly exports: unknown }
    }
  }
).WebAssembly

const pageBytes = 65_536
/** A gibibyte, of addresses only until it is used. */
const maxPages = 16_384
/** What an arena may hold before half of it is let go: so much, and more for large indexes; a query may go beyond it. */
const leastBytes = 8 * 1024 * 1024
const bytesPerPassage = 32
const maxBytes = 64 * 1024 * 1024
/** What is before it is the kernel's own. */
const firstByte = 1024

let compiled: object | undefined
let current: Arena | undefined

/**
 * Memory that the kernel works in, with what queries have loaded of segments, by their stamps: it never changes, so any
 * snapshot and any database may use it. Nothing is freed by itself: segments that are merged away and tombstones of
 * before stay until a full arena is compacted to what was used last, or left to those who still use it.
 */
export class Arena {
  readonly kernel: Kernel
  readonly segments = new Map<number, Loaded>()
  private readonly memory: Memory
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
    this.memory = new Memory({ initial: 16, maximum: maxPages, shared: true })
    compiled ??= new Module(Buffer.from(wasm, "base64"))
    this.kernel = new Instance(compiled, { env: { memory: this.memory } }).exports as Kernel
    this.bytes = new Uint8Array(this.memory.buffer)
    this.words = new Uint32Array(this.memory.buffer)
    this.doubles = new Float64Array(this.memory.buffer)
  }

  /** With this thread's arena, which keeps what it holds until the effect ends. */
  static using<A, E, R>(use: (arena: Arena) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      current ??= new Arena()
      if (current.isFull && current.users === 0) current.compact()
      else if (current.isFull) current = new Arena()
      const arena = current
      arena.users++
      arena.uses++
      return Effect.ensuring(
        Effect.suspend(() => use(arena)),
        Effect.sync(() => arena.users--)
      )
    })
  }

  private get most(): number {
    return Math.min(maxBytes, leastBytes + bytesPerPassage * this.passages)
  }

  private get isFull(): boolean {
    return this.used + this.beside > this.most
  }

  /**
   * Keeps what was used last, half of what it may hold. Its memory stays for what comes next: a new one would come on
   * top, until somebody collects the old one.
   */
  private compact(): void {
    const { end, kept } = compact(this.segments, this.bytes, firstByte, this.most / 2)
    this.used = end
    this.beside = kept * objectBytes
    this.passages = [...this.segments.values()].reduce((sum, { ids }) => sum + ids.count, 0)
  }

  /** How many passages are searched at once. */
  expect(passages: number): void {
    this.passages = Math.max(this.passages, passages)
  }

  private reserve(end: number): void {
    if (end <= this.bytes.length) return
    // By a quarter at least, so that growing is rare.
    const pages = Math.max(Math.ceil((end - this.bytes.length) / pageBytes), this.bytes.length / pageBytes / 4)
    this.memory.grow(Math.min(Math.ceil(pages), maxPages - this.bytes.length / pageBytes))
    this.bytes = new Uint8Array(this.memory.buffer)
    this.words = new Uint32Array(this.memory.buffer)
    this.doubles = new Float64Array(this.memory.buffer)
  }

  /** Room that stays taken, at a multiple of 16. */
  allocate(bytes: number): number {
    const at = this.used
    this.used = Math.ceil((at + bytes) / 16) * 16
    this.beside += objectBytes
    this.reserve(this.used)
    return at
  }

  /** Room until the next use of the arena, for each size, at multiples of 16. */
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
