/*
 * The vector engine: one bit per dimension of each vector, with a full scan per search.
 *
 * It returns candidates by estimated cosine (RaBitQ), under any mask of passages; the caller scores them exactly. With
 * ten times as many candidates as wanted, hardly one of the best is missing. Deleted passages are gone at once, and no
 * index has to be built. It uses 40 bytes of memory per passage of 256 dimensions, once for all threads of a process,
 * and a scan takes 6 to 9 ms per million passages. In a process that runs for long, finer codes of 136 bytes are made
 * after the first search (`Refiner`, `finer`), which rank the candidates, so that far fewer are scored exactly.
 *
 * Vectors are rotated (`rotation`), coded around a centroid (`encoder`, `epochs`), packed into blocks of a thousand
 * rows that never change (`layout`, `write`), loaded into shared memory by version (`BlockCache`, `fill`) and scanned
 * by the kernel (`Scanner`, `scan.as`). The store of the bytes implements `CodeStore`.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { damaged, present } from "../model/Damaged.ts"
import { BlockCache, type CacheHandle, type Claimed, type Slot } from "./BlockCache.ts"
import { bodyBytes, groupsOf } from "./layout.ts"
import { bytesOf, encoder, offset } from "./encoder.ts"
import { fill } from "./fill.ts"
import type { CodeSet, CodeStore, VectorSource } from "./CodeStore.ts"
import { type Held, Refiner } from "./Refiner.ts"
import { nextTurnOrEnd, turnMs } from "../runtime/EventLoop.ts"

/** The codes of a set in one snapshot, in the cache. */
interface Directory {
  readonly set: CodeSet
  /** By version, which is the order of storing. */
  readonly blocks: ReadonlyMap<number, Held>
  readonly centroids: ReadonlyMap<number, Float32Array>
  readonly prepare: ReturnType<typeof encoder>["prepare"]
  readonly refiner: Refiner
}

/** How many candidates a search wants. */
interface Asked {
  readonly wanted: number
  /** The passages to search; undefined: all. */
  readonly mask: Uint32Array | undefined
  /** How many of the candidates are left where finer codes exist; undefined: all. */
  readonly kept?: number | undefined
}

class NoMemory extends Data.TaggedError("NoMemory") {}

/** The cache's memory is full, or could not be reserved. */
const claim = <A>(use: () => A) => Effect.try({ try: use, catch: () => new NoMemory() })

/** Most passages that tie with the last wanted estimate and are rescored too. */
const mostTied = 10_000

/** Blocks scanned between two checks of the clock. */
const batch = 16

/** Words of the kernel's state, before the scores and ids that it collects. */
const stateBytes = 32 + 32 * 4

/**
 * The codes that one connection searches. The first search that needs them loads them; later searches only load new
 * blocks. A connection runs one search at a time, each in a transaction.
 */
export class Scanner {
  private cache: BlockCache | undefined
  private readonly directories = new Map<number, Directory>()
  private scratch: { readonly slot: Slot; readonly bytes: number } | undefined

  /**
   * `era` distinguishes the blocks of one database from those of another that was at the same path before. `finerBytes`
   * is the memory for finer codes; 0: none are made.
   */
  constructor(
    private readonly handle?: CacheHandle | undefined,
    private era = 0,
    private readonly finerBytes = 0
  ) {}

  /** The bytes of the codes in memory and the milliseconds spent loading them, over all users of the cache. */
  get figures(): BlockCache["figures"] {
    if (this.cache === undefined && this.handle === undefined) return { bytes: 0, loadedMs: 0 }
    return this.attached().figures
  }

  private attached(): BlockCache {
    return (this.cache ??= this.handle === undefined ? BlockCache.make() : BlockCache.attach(this.handle))
  }

  /**
   * The passages with the best estimated cosine by rising ids, at least `wanted` if there are as many; none: the
   * collection has no codes, or there is no memory for them. Of those that have finer codes, the best `kept` are left.
   */
  readonly nearest = Effect.fnUntraced(function* <E>(
    this: Scanner,
    store: CodeStore<E>,
    collection: number,
    query: Float32Array,
    asked: Asked
  ) {
    const found = yield* store.find({ collection, generation: "current" })
    if (Option.isNone(found)) {
      this.forget(collection)
      return Option.none()
    }
    const set = found.value
    if (query.length !== set.width) return Option.none()
    return yield* this.current(store, collection, set).pipe(
      Effect.flatMap((directory) => this.scan(directory, query, asked)),
      Effect.asSome,
      Effect.catchTag("NoMemory", () => Effect.succeedNone)
    )
  })

  /** Goes on with the blocks of another database. */
  enter(era: number): void {
    for (const collection of this.directories.keys()) this.forget(collection)
    this.era = era
  }

  /** Releases all memory. */
  close(): void {
    this.enter(this.era)
    if (this.scratch !== undefined) this.cache!.release([this.scratch.slot])
    this.scratch = undefined
  }

  private forget(collection: number): void {
    const directory = this.directories.get(collection)
    if (directory === undefined) return
    this.directories.delete(collection)
    directory.refiner.keep(new Map())
    this.cache!.release([...directory.blocks.values()].map(({ slot }) => slot))
  }

  /** Whether finer codes of searched collections may be missing. */
  get canRefine(): boolean {
    if (this.finerBytes === 0) return false
    for (const { blocks, refiner } of this.directories.values()) if (!refiner.isDone(blocks)) return true
    return false
  }

  /**
   * Makes finer codes for some passages of the collections that were searched; false: there is nothing left to make. Run
   * it in one snapshot.
   */
  readonly refine = Effect.fnUntraced(function* <E>(
    this: Scanner,
    store: CodeStore<E>,
    vectorsOf: (collection: number) => VectorSource<E>
  ) {
    for (const [collection, { blocks, centroids, refiner, set }] of this.directories) {
      const found = yield* store.find({ collection, generation: "current" })
      if (Option.isNone(found) || found.value.id !== set.id) continue
      if (yield* refiner.step(blocks, centroids, vectorsOf(collection), this.finerBytes)) return true
    }
    return false
  })

  /** The directory of the current snapshot; loads missing blocks and releases those that are gone. */
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
    if (stored.reduce((sum, { rows }) => sum + rows, 0) !== set.rows) damaged("codes of vectors are missing")
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
      if (same === undefined) before?.refiner.keep(new Map())
      const refiner = same?.refiner ?? new Refiner(cache, set, this.era)
      refiner.keep(blocks)
      const directory: Directory = { set, blocks, centroids, prepare: same?.prepare ?? encoder(set).prepare, refiner }
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

  /** Releases the codes of dropped collections. */
  private readonly sweep = Effect.fnUntraced(function* <E>(this: Scanner, store: CodeStore<E>) {
    const there = yield* store.collections
    for (const collection of this.directories.keys()) if (!there.has(collection)) this.forget(collection)
  })

  private readonly scan = Effect.fnUntraced(function* (
    this: Scanner,
    { blocks, centroids, prepare, refiner, set }: Directory,
    query: Float32Array,
    { kept, mask, wanted }: Asked
  ) {
    const cache = this.cache!
    const capacity = 2 * wanted + mostTied + 32
    const { least, step, tables } = prepare(query)
    const finer = kept !== undefined && refiner.hasAny ? refiner.finer.prepare(query) : undefined
    const bases = new Float32Array(Math.max(0, ...centroids.keys()) + 1)
    for (const [epoch, centroid] of centroids) bases[epoch] = offset(query, centroid)
    const maskBytes = mask?.byteLength ?? 0
    const aligned = (bytes: number) => Math.ceil(bytes / 16) * 16
    const outBytes = aligned(capacity * 12)
    const finerBytes = aligned(finer?.values.byteLength ?? 0)
    const slot = yield* claim(() =>
      this.room(tables.length + stateBytes + aligned(maskBytes) + outBytes + finerBytes + bases.byteLength)
    )
    const tablesAt = slot.at
    const stateAt = tablesAt + tables.length
    const maskAt = stateAt + stateBytes
    const outAt = maskAt + aligned(maskBytes)
    const finerAt = outAt + outBytes
    const basesAt = finerAt + finerBytes
    cache.write(slot, tables)
    if (mask !== undefined) {
      cache.write(slot, new Uint8Array(mask.buffer, mask.byteOffset, mask.byteLength), maskAt - slot.at)
    }
    const { buffer } = cache.view(basesAt + bases.byteLength)
    const state = new Int32Array(buffer, stateAt, 8)
    state.set([0, wanted, capacity, 0, 0, mostTied, 2 * wanted, 0])
    new Float32Array(buffer, stateAt, 8)[3] = -Infinity
    const { kernel } = cache
    const lines = bytesOf(set.width)
    let until = performance.now() + turnMs
    let scanned = 0
    for (const [version, block] of blocks) {
      const base = bases[block.epoch]!
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
        finer === undefined ? 0 : refiner.addressOf(version),
        refiner.finer.stride,
        stateAt,
        outAt
      )
      if (++scanned % batch === 0 && performance.now() > until) {
        yield* nextTurnOrEnd
        until = performance.now() + turnMs
      }
    }
    kernel.cut(stateAt, outAt)
    if (finer !== undefined && state[0]! > kept!) {
      new Int16Array(buffer, finerAt, finer.values.length).set(finer.values)
      new Float32Array(buffer, basesAt, bases.length).set(bases)
      kernel.refine(finerAt, finer.groups, finer.step, basesAt, kept!, stateAt, outAt)
    }
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
