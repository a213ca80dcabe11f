import type * as SqlClient from "@effect/sql/SqlClient"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { damaged, present } from "../model/Damaged.ts"
import { Arena, type ArenaHandle, type Claimed, type Slot } from "./BlockCache.ts"
import { bodyBytes, groupsOf } from "./layout.ts"
import { bytesOf, encoder, offset } from "./encoder.ts"
import { fill } from "./fill.ts"
import { blocksOf } from "../Store/sqlite/codes/blocks.ts"
import { centroidsOf } from "../Store/sqlite/codes/epochs.ts"
import { type CodeSet, find } from "../Store/sqlite/codes/sets.ts"
import { nextTurn, turnMs } from "./turn.ts"

/** The codes of a set as one snapshot has them, in the arena. */
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

/** The arena's memory is at its end, or there is none to be had. */
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
export class Codes {
  private arena: Arena | undefined
  private readonly directories = new Map<number, Directory>()
  private scratch: { readonly slot: Slot; readonly bytes: number } | undefined

  /** `era` tells the blocks of one database from those of another that had the same path before. */
  constructor(
    private readonly handle?: ArenaHandle | undefined,
    private readonly era = 0
  ) {}

  /** What the codes take in memory, in bytes, and loading them took, in milliseconds, of all who share the arena. */
  get figures(): Arena["figures"] {
    if (this.arena === undefined && this.handle === undefined) return { bytes: 0, loadedMs: 0 }
    return this.attached().figures
  }

  private attached(): Arena {
    return (this.arena ??= this.handle === undefined ? Arena.make() : Arena.attach(this.handle))
  }

  /**
   * The passages whose estimated cosine is best, at least `wanted` if there are so many, in no order; none: the
   * collection has no codes, or there is no memory for them.
   */
  readonly nearest = Effect.fnUntraced(function* (
    this: Codes,
    sql: SqlClient.SqlClient,
    collection: number,
    query: Float32Array,
    { mask, wanted }: { readonly wanted: number; readonly mask: Uint32Array | undefined }
  ) {
    const found = yield* find(sql, { collection, generation: "current" })
    if (Option.isNone(found)) {
      this.forget(collection)
      return Option.none()
    }
    const set = found.value
    if (query.length !== set.width) return Option.none()
    return yield* this.current(sql, collection, set).pipe(
      Effect.flatMap((directory) => this.scan(directory, query, wanted, mask)),
      Effect.asSome,
      Effect.catchTag("NoMemory", () => Effect.succeedNone)
    )
  })

  private forget(collection: number): void {
    const directory = this.directories.get(collection)
    if (directory === undefined) return
    this.directories.delete(collection)
    this.arena!.release([...directory.blocks.values()].map(({ slot }) => slot))
  }

  /** The directory of the snapshot at hand; what is not in memory is loaded, what is gone is given up. */
  private readonly current = Effect.fnUntraced(function* (
    this: Codes,
    sql: SqlClient.SqlClient,
    collection: number,
    set: CodeSet
  ) {
    const before = this.directories.get(collection)
    if (before !== undefined && before.set.id === set.id && before.set.sequence === set.sequence) return before
    yield* this.sweep(sql)
    const began = performance.now()
    const arena = yield* claim(() => this.attached())
    const same = before?.set.id === set.id ? before : undefined
    const stored = yield* blocksOf(sql, set.id)
    if (stored.reduce((sum, { rows }) => sum + rows, 0) !== set.rows) damaged("the codes of vectors are not all there")
    const centroids = yield* centroidsOf(sql, set)
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
      arena.release(gone.map(([, { slot }]) => slot))
      arena.spent(performance.now() - began)
      return directory
    }
    return yield* Effect.acquireUseRelease(
      claim(() => arena.acquire(wanted)),
      (claimed) =>
        Effect.zipRight(
          fill(sql, arena, set, fresh, claimed),
          Effect.sync(() => keep(claimed))
        ),
      (claimed) => Effect.sync(() => isKept || arena.release(claimed.slots))
    )
  })

  /** Gives up the codes of collections that have been dropped. */
  private readonly sweep = Effect.fnUntraced(function* (this: Codes, sql: SqlClient.SqlClient) {
    const rows = yield* sql.unsafe<{ readonly collection_id: number }>("SELECT collection_id FROM code_sets")
    const there = new Set(rows.map((row) => row.collection_id))
    for (const collection of this.directories.keys()) if (!there.has(collection)) this.forget(collection)
  })

  private readonly scan = Effect.fnUntraced(function* (
    this: Codes,
    { blocks, centroids, prepare, set }: Directory,
    query: Float32Array,
    wanted: number,
    mask: Uint32Array | undefined
  ) {
    const arena = this.arena!
    const capacity = 2 * wanted + mostTied + 32
    const { least, step, tables } = prepare(query)
    const maskBytes = mask?.byteLength ?? 0
    const aligned = (bytes: number) => Math.ceil(bytes / 16) * 16
    const slot = yield* claim(() => this.room(tables.length + stateBytes + aligned(maskBytes) + capacity * 8))
    const tablesAt = slot.at
    const stateAt = tablesAt + tables.length
    const maskAt = stateAt + stateBytes
    const outAt = maskAt + aligned(maskBytes)
    arena.write(slot, tables)
    if (mask !== undefined) {
      arena.write(slot, new Uint8Array(mask.buffer, mask.byteOffset, mask.byteLength), maskAt - slot.at)
    }
    const { buffer } = arena.view(outAt + capacity * 8)
    const state = new Int32Array(buffer, stateAt, 8)
    state.set([0, wanted, capacity, 0, 0, mostTied, 2 * wanted, 0])
    new Float32Array(buffer, stateAt, 8)[3] = -Infinity
    const bases = new Map([...centroids].map(([epoch, centroid]) => [epoch, offset(query, centroid)]))
    const { kernel } = arena
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
        yield* nextTurn
        until = performance.now() + turnMs
      }
    }
    kernel.cut(stateAt, outAt)
    const ids = new Uint32Array(buffer, outAt + capacity * 4, state[0])
    return Uint32Array.from(ids).sort()
  })

  private room(bytes: number): Slot {
    if (this.scratch === undefined || this.scratch.bytes < bytes) {
      const slot = this.arena!.allocate(bytes)
      if (this.scratch !== undefined) this.arena!.release([this.scratch.slot])
      this.scratch = { slot, bytes }
    }
    return this.scratch.slot
  }
}
