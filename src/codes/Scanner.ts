/*
 * The vector engine: one bit a dimension for each vector, scanned whole.
 *
 * It promises candidates by estimated cosine (RaBitQ), under any mask of passages, whose exact scoring is up to the
 * caller: of ten times as many candidates as are wanted hardly one of the best is missing. What was deleted is gone at
 * once, and nothing has to be built. It costs 40 bytes a passage of 256 dimensions in memory, once for all threads of a
 * process, and a scan 6 to 9 ms a million of them.
 *
 * Vectors are turned (`rotation`) and coded around a centroid (`encoder`, `epochs`), packed into blocks of a thousand
 * rows that never change (`layout`, `write`), loaded into shared memory by their versions (`BlockCache`, `fill`) and
 * scanned by the kernel (`Scanner`, `scan.as`). Whoever keeps the bytes implements `CodeStore`.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { damaged, present } from "../model/Damaged.ts"
import { BlockCache, type CacheHandle, type Claimed, type Slot } from "./BlockCache.ts"
import { bodyBytes, groupsOf } from "./layout.ts"
import { bytesOf, encoder, offset } from "./encoder.ts"
import { fill } from "./fill.ts"
import type { CodeSet, CodeStore } from "./CodeStore.ts"
import { nextTurnOrEnd, turnMs } from "../runtime/EventLoop.ts"

/** The codes of a set as one snapshot has them, in the cache. */
interface Directory {
  readonly set: CodeSet
  /** By version, so in the order they were stored. */
  readonly blocks: ReadonlyMap<number, Held>
  readonly centroids: ReadonlyMap<number, Float32Array>
  readonly prepare: ReturnType<typeof encoder>["prepare"]
}

interface Held {
  readonly slot: Slot
  readonly epoch: number
  readonly rows: number
}

class NoMemory extends Data.TaggedError("NoMemory") {}

/** The cache's memory is at its end, or there is none to be had. */
const claim = <A>(use: () => A) => Effect.try({ try: use, catch: () => new NoMemory() })

/** Most passages with the same estimate as the last one wanted that are rescored besides. */
const mostTied = 10_000

/** Blocks that are scanned between two looks at the clock. */
const batch = 16

/** Words of what the kernel keeps of its work, before the scores and ids it has gathered. */
const stateBytes = 32 + 32 * 4

/**
 * The codes that one connection searches. They are loaded with the first search that needs them, and after that only the
 * blocks that are new. Searches of a connection come one at a time, each in a transaction.
 */
export class Scanner {
  private cache: BlockCache | undefined
  private readonly directories = new Map<number, Directory>()
  private scratch: { readonly slot: Slot; readonly bytes: number } | undefined

  /** `era` tells the blocks of one database from those of another that had the same path before. */
  constructor(
    private readonly handle?: CacheHandle | undefined,
    private readonly era = 0
  ) {}

  /** What the codes take in memory, in bytes, and loading them took, in milliseconds, of all who share the cache. */
  get figures(): BlockCache["figures"] {
    if (this.cache === undefined && this.handle === undefined) return { bytes: 0, loadedMs: 0 }
    return this.attached().figures
  }

  private attached(): BlockCache {
    return (this.cache ??= this.handle === undefined ? BlockCache.make() : BlockCache.attach(this.handle))
  }

  /**
   * The passages whose estimated cosine is best, at least `wanted` if there are so many, in no order; none: the
   * collection has no codes, or there is no memory for them.
   */
  readonly nearest = Effect.fnUntraced(function* <E>(
    this: Scanner,
    store: CodeStore<E>,
    collection: number,
    query: Float32Array,
    { mask, wanted }: { readonly wanted: number; readonly mask: Uint32Array | undefined }
  ) {
    const found = yield* store.find({ collection, generation: "current" })
    if (Option.isNone(found)) {
      this.forget(collection)
      return Option.none()
    }
    const set = found.value
    if (query.length !== set.width) return Option.none()
    return yield* this.current(store, collection, set).pipe(
      Effect.flatMap((directory) => this.scan(directory, query, wanted, mask)),
      Effect.asSome,
      Effect.catchTag("NoMemory", () => Effect.succeedNone)
    )
  })

  private forget(collection: number): void {
    const directory = this.directories.get(collection)
    if (directory === undefined) return
    this.directories.delete(collection)
    this.cache!.release([...directory.blocks.values()].map(({ slot }) => slot))
  }

  /** The directory of the snapshot at hand; what is not in memory is loaded, what is gone is given up. */
  private readonly current = Effect.fnUntraced(function* <E>(
    this: Scanner,
    store: CodeStore<E>,
    collection: number,
    set: CodeSet
  ) {
    const before = this.directories.get(collection)
    if (before !== undefined && before.set.id === set.id && before.set.sequence === set.sequence) return before
    yield* this.sweep(store)
    const began = performance.now()
    const cache = yield* claim(() => this.attached())
    const same = before?.set.id === set.id ? before : undefined
    const stored = yield* store.blocks(set.id)
    if (stored.reduce((sum, { rows }) => sum + rows, 0) !== set.rows) damaged("the codes of vectors are not all there")
    const centroids = new Map((yield* store.centroids(set)).map(({ centroid, epoch }) => [epoch, centroid] as const))
    for (const { epoch } of stored) present(centroids.get(epoch), () => `centroid ${epoch} of set ${set.id}`)
    const fresh = stored.filter(({ version }) => same?.blocks.has(version) !== true)
    const bytes = bytesOf(set.width)
    const wanted = fresh.map(({ rows, version }) => ({
      version: this.era * 2 ** 32 + version,
      bytes: bodyBytes(rows, bytes)
    }))
    let isKept = false
    const keep = (claimed: Claimed) => {
      const slots = new Map(fresh.map(({ version }, place) => [version, claimed.slots[place]!]))
      const blocks = new Map(
        stored.map(({ epoch, rows, version }) => [
          version,
          { slot: slots.get(version) ?? same!.blocks.get(version)!.slot, epoch, rows }
        ])
      )
      const directory: Directory = { set, blocks, centroids, prepare: same?.prepare ?? encoder(set).prepare }
      const gone = [...(before?.blocks ?? [])].filter(([version]) => !blocks.has(version))
      this.directories.set(collection, directory)
      isKept = true
      cache.release(gone.map(([, { slot }]) => slot))
      cache.spent(performance.now() - began)
      return directory
    }
    return yield* Effect.acquireUseRelease(
      claim(() => cache.acquire(wanted)),
      (claimed) =>
        Effect.zipRight(
          fill(store, cache, set, fresh, claimed),
          Effect.sync(() => keep(claimed))
        ),
      (claimed) => Effect.sync(() => isKept || cache.release(claimed.slots))
    )
  })

  /** Gives up the codes of collections that have been dropped. */
  private readonly sweep = Effect.fnUntraced(function* <E>(this: Scanner, store: CodeStore<E>) {
    const there = yield* store.collections
    for (const collection of this.directories.keys()) if (!there.has(collection)) this.forget(collection)
  })

  private readonly scan = Effect.fnUntraced(function* (
    this: Scanner,
    { blocks, centroids, prepare, set }: Directory,
    query: Float32Array,
    wanted: number,
    mask: Uint32Array | undefined
  ) {
    const cache = this.cache!
    const capacity = 2 * wanted + mostTied + 32
    const { least, step, tables } = prepare(query)
    const maskBytes = mask?.byteLength ?? 0
    const aligned = (bytes: number) => Math.ceil(bytes / 16) * 16
    const slot = yield* claim(() => this.room(tables.length + stateBytes + aligned(maskBytes) + capacity * 8))
    const tablesAt = slot.at
    const stateAt = tablesAt + tables.length
    const maskAt = stateAt + stateBytes
    const outAt = maskAt + aligned(maskBytes)
    cache.write(slot, tables)
    if (mask !== undefined) {
      cache.write(slot, new Uint8Array(mask.buffer, mask.byteOffset, mask.byteLength), maskAt - slot.at)
    }
    const { buffer } = cache.view(outAt + capacity * 8)
    const state = new Int32Array(buffer, stateAt, 8)
    state.set([0, wanted, capacity, 0, 0, mostTied, 2 * wanted, 0])
    new Float32Array(buffer, stateAt, 8)[3] = -Infinity
    const bases = new Map([...centroids].map(([epoch, centroid]) => [epoch, offset(query, centroid)]))
    const { kernel } = cache
    const lines = bytesOf(set.width)
    let until = performance.now() + turnMs
    let scanned = 0
    for (const block of blocks.values()) {
      const base = bases.get(block.epoch)!
      const groups = groupsOf(block.rows)
      const words = maskBytes / 4
      kernel.scan(
        block.slot.at,
        groups,
        lines,
        tablesAt,
        base,
        step,
        least,
        mask === undefined ? 0 : maskAt,
        words,
        stateAt,
        outAt
      )
      if (++scanned % batch === 0 && performance.now() > until) {
        yield* nextTurnOrEnd
        until = performance.now() + turnMs
      }
    }
    kernel.cut(stateAt, outAt)
    const ids = new Uint32Array(buffer, outAt + capacity * 4, state[0])
    return Uint32Array.from(ids).sort()
  })

  private room(bytes: number): Slot {
    if (this.scratch === undefined || this.scratch.bytes < bytes) {
      const slot = this.cache!.allocate(bytes)
      if (this.scratch !== undefined) this.cache!.release([this.scratch.slot])
      this.scratch = { slot, bytes }
    }
    return this.scratch.slot
  }
}
