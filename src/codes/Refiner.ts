import * as Effect from "effect/Effect"
import type { BlockCache, Slot } from "./BlockCache.ts"
import type { VectorSource } from "./CodeStore.ts"
import { finer } from "./finer.ts"
import type { Making } from "./rotation.ts"

/** A block of codes in the cache. */
export interface Held {
  readonly slot: Slot
  readonly epoch: number
  readonly rows: number
}

interface Unfinished {
  readonly version: number
  readonly block: Held
  readonly slot: Slot
  done: number
}

/** Values of the vectors that one step reads, so that a step takes a few milliseconds. */
const stepValues = 32_768

/** Distinguishes a block's finer codes from its codes in the cache. */
const finerVersions = 2 ** 52

/**
 * The finer codes of a set's blocks in the cache, made step by step from the vectors. Several threads share them and the
 * work: each makes the blocks that no other one is making.
 */
export class Refiner {
  readonly finer: ReturnType<typeof finer>
  private readonly ready = new Map<number, Slot>()
  /** Blocks with a damaged vector. */
  private readonly given = new Set<number>()
  private unfinished: Unfinished | undefined
  /** There was no memory for the next block. */
  private isFull = false

  /** `era` is that of the blocks' versions. */
  constructor(
    private readonly cache: BlockCache,
    private readonly making: Making,
    private readonly era: number
  ) {
    this.finer = finer(making)
  }

  /** The address of a block's finer codes; 0: they do not exist yet. */
  readonly addressOf = (version: number): number => this.ready.get(version)?.at ?? 0

  get hasAny(): boolean {
    return this.ready.size > 0
  }

  /** Whether nothing can be made of these blocks. */
  isDone(blocks: ReadonlyMap<number, unknown>): boolean {
    return this.isFull || this.ready.size + this.given.size === blocks.size
  }

  /** Releases the finer codes of all blocks but these. */
  keep(blocks: ReadonlyMap<number, unknown>): void {
    this.isFull = false
    for (const [version, slot] of this.ready) {
      if (blocks.has(version)) continue
      this.cache.release([slot])
      this.ready.delete(version)
    }
    for (const version of this.given) if (!blocks.has(version)) this.given.delete(version)
    if (this.unfinished !== undefined && !blocks.has(this.unfinished.version)) this.abandon()
  }

  private abandon(): void {
    if (this.unfinished !== undefined) this.cache.release([this.unfinished.slot])
    this.unfinished = undefined
  }

  /**
   * The next block that this thread makes, after taking over what others have made; undefined: there is none, or it needs
   * more than `most` bytes for all finer codes.
   */
  private next(blocks: ReadonlyMap<number, Held>, most: number): Unfinished | undefined {
    const versionOf = (version: number) => finerVersions + this.era * 2 ** 32 + version
    const missing = [...blocks].filter(([version]) => !this.ready.has(version) && !this.given.has(version))
    if (missing.length === 0) return undefined
    const loaded = this.cache.takeLoaded(new Set(missing.map(([version]) => versionOf(version))))
    for (const [version] of missing) {
      const slot = loaded.get(versionOf(version))
      if (slot !== undefined) this.ready.set(version, slot)
    }
    const used = this.cache.bytesFrom(finerVersions)
    for (const [version, block] of missing) {
      if (this.ready.has(version)) continue
      const bytes = block.rows * this.finer.stride
      this.isFull = used + bytes > most
      if (this.isFull) return undefined
      const { load, slots } = this.cache.acquire([{ version: versionOf(version), bytes }])
      if (load.length > 0) return { version, block, slot: slots[0]!, done: 0 }
      // Another thread makes it.
      this.cache.release(slots)
    }
    return undefined
  }

  /** Makes some more; false: there is nothing left to make, or no memory for it within `most` bytes. */
  readonly step = Effect.fnUntraced(function* <E>(
    this: Refiner,
    blocks: ReadonlyMap<number, Held>,
    centroids: ReadonlyMap<number, Float32Array>,
    vectors: VectorSource<E>,
    most: number
  ) {
    const { width } = this.making
    const now = yield* Effect.try(() => (this.unfinished ??= this.next(blocks, most))).pipe(
      Effect.orElseSucceed(() => {
        this.isFull = true
        return undefined
      })
    )
    if (now === undefined) return false
    const { block, done, slot, version } = now
    const count = Math.min(block.rows - done, Math.max(1, Math.floor(stepValues / width)))
    const ids = new Uint32Array(this.cache.view(block.slot.at + 4 * block.rows).buffer, block.slot.at + 4 * done, count)
    const rows = yield* vectors.of([...ids], width).pipe(
      Effect.catchAllDefect(() =>
        Effect.as(
          Effect.sync(() => this.given.add(version)),
          []
        )
      )
    )
    if (rows.length !== count) {
      // The vectors are damaged, or the block was replaced in the meantime.
      this.abandon()
      return this.given.has(version)
    }
    const { rowOf, stride } = this.finer
    const centroid = centroids.get(block.epoch)!
    const bytes = this.cache.view(slot.at + block.rows * stride)
    rows.forEach(({ vector }, row) => bytes.set(rowOf(vector, centroid, block.epoch), slot.at + (done + row) * stride))
    now.done += count
    if (now.done === block.rows) {
      this.cache.publish(slot)
      this.ready.set(version, slot)
      this.unfinished = undefined
    }
    return true
  })
}
