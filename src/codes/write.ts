import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import {
  type Block,
  type Centroid,
  type CodeSet,
  type CodeStore,
  type VectorRow,
  type VectorSource,
  codesFrom
} from "./CodeStore.ts"
import { type Coded, bytesOf, encoder, meanOf } from "./encoder.ts"
import { blockRows, concat, idsIn, pack, pick, slice, sorted, unpack } from "./layout.ts"
import { countBefore } from "../model/numbers.ts"

/** A new centroid is computed when the number of vectors has grown by this factor since the last one. */
const growth = 16

/** Vectors whose mean is the centroid: fewer if they are wide, since all are read at once. */
const sampledOf = (width: number): number => Math.max(64, Math.min(4096, Math.floor(4_194_304 / width)))

/** Makes the vectors' mean the centroid from now on. */
export const beginEpoch = Effect.fnUntraced(function* <E>(
  store: CodeStore<E>,
  set: Pick<CodeSet, "id" | "width">,
  vectors: VectorSource<E>,
  made: { readonly epoch: number; readonly rows: number }
) {
  const sample = yield* vectors.spread(sampledOf(set.width), set.width)
  const centroid: Centroid = { ...made, centroid: meanOf(sample, set.width) }
  yield* store.addCentroid(set.id, centroid)
  return centroid
})

/** The epoch for new vectors: the latest, or a new one if the set has outgrown it. */
const currentEpoch = Effect.fnUntraced(function* <E>(
  store: CodeStore<E>,
  set: CodeSet,
  vectors: VectorSource<E>,
  more: number
) {
  const latest = (yield* store.centroids(set)).at(-1)
  const rows = set.rows + more
  return latest !== undefined && rows < latest.rows * growth
    ? latest
    : yield* beginEpoch(store, set, vectors, { epoch: (latest?.epoch ?? 0) + 1, rows })
})

/**
 * Puts codes into blocks of an epoch. Existing blocks no larger than the added rows are merged into the new one, so a
 * row is rewritten about log2(1,024) times however few rows arrive at a time, and few blocks are not full.
 */
export const append = Effect.fnUntraced(function* <E>(store: CodeStore<E>, set: CodeSet, epoch: number, coded: Coded) {
  if (coded.ids.length === 0) return
  let count = coded.ids.length
  const taken: Array<Block> = []
  for (const block of yield* store.smallBlocks(set.id, epoch, blockRows)) {
    if (block.rows > Math.max(32, count)) break
    taken.push(block)
    count += block.rows
  }
  taken.sort((a, b) => a.version - b.version)
  const versions = taken.map(({ version }) => version)
  const bodies = taken.length === 0 ? [] : yield* store.bodies(set, taken)
  const all = sorted(concat([...bodies.map((body, i) => unpack(body, taken[i]!.rows, bytesOf(set.width))), coded]))
  yield* store.deleteBlocks(versions)
  yield* insertBlocks(store, set, epoch, all)
})

/** Stores rows as separate blocks. */
const insertBlocks = <E>(store: CodeStore<E>, set: CodeSet, epoch: number, coded: Coded): Effect.Effect<unknown, E> => {
  const blocks = []
  for (let from = 0; from < coded.ids.length; from += blockRows) {
    const part = slice(coded, from, from + blockRows)
    blocks.push({
      epoch,
      rows: part.ids.length,
      first: part.ids.reduce((a, b) => Math.min(a, b)),
      last: part.ids.reduce((a, b) => Math.max(a, b)),
      body: pack(part)
    })
  }
  return store.insertBlocks(set.id, blocks)
}

/** Computes the codes of all vectors. */
export const build = Effect.fnUntraced(function* <E>(
  store: CodeStore<E>,
  vectors: VectorSource<E>,
  { count, width }: { readonly count: number; readonly width: number }
) {
  const set = yield* store.create(vectors, width)
  const { centroid, epoch } = yield* beginEpoch(store, set, vectors, { epoch: 1, rows: count })
  const { encode } = encoder(set)
  let through = -1
  let rows = 0
  for (;;) {
    const some = yield* vectors.after(through, blockRows, width)
    if (some.length === 0) break
    yield* append(store, set, epoch, encode(some, centroid))
    through = some.at(-1)!.id
    rows += some.length
  }
  yield* store.changed(set, rows)
})

/** Computes the codes of vectors that were just put into their table. */
export const insert = Effect.fnUntraced(function* <E>(
  store: CodeStore<E>,
  vectors: VectorSource<E>,
  rows: ReadonlyArray<VectorRow>
) {
  const first = rows[0]
  if (first === undefined) return
  const found = yield* store.find(vectors)
  if (Option.isNone(found)) {
    const count = yield* vectors.countUpTo(codesFrom + rows.length)
    // If there were enough vectors before, their codes are missing: a rebuild makes them, step by step.
    if (count < codesFrom || count - rows.length >= codesFrom) return
    yield* build(store, vectors, { count, width: first.vector.length })
    return
  }
  const set = found.value
  const { centroid, epoch } = yield* currentEpoch(store, set, vectors, rows.length)
  yield* append(store, set, epoch, encoder(set).encode(rows, centroid))
  yield* store.changed(set, rows.length)
})

/**
 * Deletes passages' codes, before or after their vectors are deleted. The rest of each block is stored again at once.
 */
export const remove = Effect.fnUntraced(function* <E>(
  store: CodeStore<E>,
  vectors: VectorSource<E>,
  ids: ReadonlyArray<number>
) {
  const found = yield* store.find(vectors)
  if (Option.isNone(found) || ids.length === 0) return
  const set = found.value
  const leaving = Float64Array.from(ids).sort()
  const gone = new Set(ids)
  const latest = yield* currentEpoch(store, set, vectors, 0)
  let removed = 0
  const small: Array<Coded> = []
  for (const block of yield* store.blocks(set.id)) {
    const at = countBefore(leaving.length, (place) => leaving[place]! < block.first)
    if (at === leaving.length || leaving[at]! > block.last) continue
    const [body] = yield* store.bodies(set, [block])
    const left: Array<number> = []
    idsIn(body!, block.rows).forEach((id, row) => gone.has(id) || left.push(row))
    if (left.length === block.rows) continue
    removed += block.rows - left.length
    yield* store.deleteBlocks([block.version])
    if (left.length === 0) continue
    const rest = pick(unpack(body!, block.rows, bytesOf(set.width)), left)
    if (left.length * 2 >= blockRows) yield* insertBlocks(store, set, block.epoch, rest)
    else if (block.epoch === latest.epoch) small.push(rest)
    else {
      // Small remainders move to the latest centroid, where they can be merged with other blocks.
      const rows = yield* vectors.of([...rest.ids], set.width)
      small.push(encoder(set).encode(rows, latest.centroid))
    }
  }
  if (small.length > 0) yield* append(store, set, latest.epoch, concat(small))
  if (removed > 0) yield* store.changed(set, -removed)
})
