import * as Effect from "effect/Effect"
import wasm from "./kernel.wasm.ts"
import { compact, objectBytes } from "./compact.ts"
import type { Loaded } from "./loaded.ts"

/** The exports of the kernel; see kernel.as.ts. */
interface Kernel {
  readonly begin: (heap: number, depth: number, base: number, slope: number, sums: number) => void
  readonly bound: () => number
  readonly rank: (
    lists: number,
    listCount: number,
    lengths: number,
    dead: number,
    allowed: number,
    also: number,
    alsoScores: number,
    alsoCount: number,
    out: number,
    room: number,
    from: number,
    until: number
  ) => number
  readonly countLiving: (list: number, windows: number, dead: number) => number
  readonly unpack: (from: number, end: number, list: number, count: number, passages: number, windows: number) => number
}

interface Memory {
  readonly buffer: SharedArrayBuffer
  readonly grow: (pages: number) => number
}

/** Neither ECMAScript's types nor Node's declare all of it. */
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
/**
 * How full an arena may be before half of it is released: at least this much, more for large indexes. A query may
 * exceed it.
 */
const leastBytes = 8 * 1024 * 1024
const bytesPerPassage = 56
const maxBytes = 64 * 1024 * 1024
/** The bytes below belong to the kernel. */
const firstByte = 1024

let compiled: object | undefined
let current: Arena | undefined

/**
 * The kernel's memory, with what queries have loaded of segments, by stamp. It never changes, so any snapshot and any
 * database may use it. Nothing is freed individually: merged segments and old tombstones stay until a full arena is
 * compacted to what was used last, or left to those who still use it.
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

  /** Runs an effect with this thread's arena, which keeps its content until the effect ends. */
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
    this.memory.grow(Math.min(Math.ceil(pages), maxPages - this.bytes.length / pageBytes))
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
