import * as Effect from "effect/Effect"
import { parsed } from "../model/Damaged.ts"
import { BlockReader, BlockWriter } from "./block.ts"
import { blockOf, type Head } from "./head.ts"
import { listOf, passagesIn } from "./languages.ts"
import { Input, Merger, type Places } from "./merge.ts"
import { type Runs, RunsBuilder } from "./runs.ts"
import { type Segment, type SegmentStore, State } from "./SegmentStore.ts"
import { plan, planClean, planWhole } from "./tiers.ts"
import { bury, isDead, tombstones } from "./tombstones.ts"
import { unique } from "./unique.ts"

/** How much a step does. */
export interface StepOptions {
  /** The most it reads and writes, unless a single term is larger. */
  readonly bytes: number
  /** From this many passages on, beginning and ending a merge are separate steps: heads are read and written whole. */
  readonly largePassages: number
  /** Merges what is due; or also everything with deleted passages; or everything possible. */
  readonly extent?: keyof typeof plans
}

const plans = { due: plan, clean: planClean, whole: planWhole }

/** The size of a step in the background. */
export const step: StepOptions = { bytes: 256 * 1024, largePassages: 50_000 }

/** Rows of merged segments that a step deletes. */
const stepRows = 128

/** A merge in progress in this process. The stored state is enough to resume; this saves reading it. */
interface Running {
  readonly merger: Merger
  readonly head: Head
  /** First terms of the blocks so far. */
  readonly firsts: Array<Buffer>
}

/** A connection's merges in progress, by the output's stamp: few, since a step resumes the smallest. */
const known = new WeakMap<object, Map<number, Running>>()
const mostKnown = 8

const runningOn = (store: object): Map<number, Running> => {
  const running = known.get(store) ?? new Map<number, Running>()
  known.set(store, running)
  // Another process may have finished some.
  for (const stamp of [...running.keys()].slice(0, -mostKnown)) running.delete(stamp)
  return running
}

const inputsOf = (segment: Segment): ReadonlyArray<number> =>
  parsed<Array<number>>(segment.inputs ?? "[]", () => `the plan of segment ${segment.id}`)

const sum = (values: Iterable<number>): number => {
  let total = 0
  for (const value of values) total += value
  return total
}

/** Passages that are not deleted. */
const total = (segments: ReadonlyArray<Segment>): number => sum(segments.map(({ dead, passages }) => passages - dead))

/** Begins a merge, and fixes where each passage goes; later deletions are carried over at the end. */
const start = Effect.fnUntraced(function* <E>(store: SegmentStore<E>, inputs: ReadonlyArray<Segment>) {
  const found = yield* store.heads(inputs.map(({ id }) => id))
  const ids = new RunsBuilder()
  const lengths = new Uint32Array(total(inputs))
  const sources: Array<Input> = []
  for (const input of inputs) {
    const head = found.get(input.id)!
    const bits = yield* tombstones(store, input)
    const base = ids.count
    let places: Places = base
    if (input.dead === 0) {
      for (let run = 0; run < head.ids.starts.length; run++) ids.add(head.ids.starts[run]!, head.ids.lengthOf(run))
      lengths.set(head.lengths, base)
    } else {
      places = new Int32Array(input.passages)
      let ordinal = 0
      for (const id of head.ids) {
        const dead = isDead(bits, ordinal)
        places[ordinal] = dead ? -1 : ids.count
        if (!dead) {
          lengths[ids.count] = head.lengths[ordinal] as number
          ids.add(id, 1)
        }
        ordinal++
      }
    }
    sources.push(new Input(input.id, input.blocks, places))
  }
  if (ids.count === 0) return yield* retire(store, inputs)
  const head: Head = { ids: ids.runs(), lengths, firsts: [] }
  const stamp = unique()
  const id = yield* store.add({
    collection_id: inputs[0]!.collection_id,
    stamp,
    passages: ids.count,
    terms: sum(lengths),
    first_id: head.ids.idOf(0),
    last_id: head.ids.idOf(ids.count - 1),
    blocks: 0,
    inputs: inputs.map((input) => input.id),
    format: Math.min(...inputs.map((input) => input.format)),
    terms_version: Math.min(...inputs.map((input) => input.terms_version)),
    languages: listOf(passagesIn(inputs.map((input) => input.languages)))
  })
  yield* store.putHead(id, head)
  runningOn(store).set(stamp, { merger: new Merger(sources), head, firsts: [] })
})

/** Where an input's passages are in the output, found by their ids. */
const placesIn = (output: Runs, input: Runs): Places => {
  const places = Int32Array.from(input, (id) => output.ordinalOf(id))
  return places.includes(-1) ? places : (places[0] ?? 0)
}

/** Enough for the first term of a block, which has at most 1,024 bytes, and what precedes it. */
const startBytes = 1100

const firstTerm = (start: Buffer): Buffer => {
  const reader = new BlockReader(start)
  reader.next()
  return Buffer.from(reader.currentTerm)
}

/** Resumes a merge that another process began, or this one before a rollback. */
const resume = Effect.fnUntraced(function* <E>(store: SegmentStore<E>, output: Segment) {
  const ids = inputsOf(output)
  const found = yield* store.heads([output.id, ...ids])
  const head = found.get(output.id)!
  const through = output.through ?? Buffer.alloc(0)
  const inputs: Array<Input> = []
  for (const id of ids) {
    const { firsts, ids: passages } = found.get(id)!
    const input = new Input(id, firsts.length, placesIn(head.ids, passages))
    // Passages without a term have no blocks.
    if (through.length > 0 && firsts.length > 0) {
      input.block = Math.max(0, blockOf(firsts, through))
      input.take(yield* store.readBlock({ segment: id, block: input.block }), through)
    }
    inputs.push(input)
  }
  const merger = new Merger(inputs)
  merger.through = through
  return { merger, head, firsts: (yield* store.blockStarts(output.id, startBytes)).map(firstTerm) } satisfies Running
})

/** Continues a merge from the end of the last step. */
const advance = Effect.fnUntraced(function* <E>(
  store: SegmentStore<E>,
  output: Segment,
  { bytes, largePassages }: StepOptions
) {
  const kept = runningOn(store).get(output.stamp)
  const run =
    kept !== undefined && kept.merger.through.equals(output.through ?? Buffer.alloc(0))
      ? kept
      : yield* resume(store, output)
  // Dropped until the step has succeeded, because the step changes it.
  runningOn(store).delete(output.stamp)
  const { firsts, merger } = run
  const writer = new BlockWriter()
  const { through } = merger
  let left = bytes
  let stopped = merger.run(writer, bytes)
  // At least one term, so that even one step per process eventually finishes.
  while (typeof stopped !== "string" && (left > 0 || merger.through === through)) {
    const { block, segment } = stopped
    const data = yield* store.readBlock({ segment, block })
    left -= data.length
    stopped.take(data)
    stopped = merger.run(writer, bytes)
  }
  writer.close()
  yield* store.addBlocks(output.id, firsts.length, writer.blocks)
  for (const { first } of writer.blocks) firsts.push(first)
  const isLate = output.passages >= largePassages && writer.blocks.length > 0
  if (stopped === "done" && !isLate) return yield* finish(store, output, run)
  yield* store.advanced(output.id, merger.through, firsts.length)
  runningOn(store).set(output.stamp, run)
})

/** Replaces the inputs with the output, and adds the tombstones that came after the start. */
const finish = Effect.fnUntraced(function* <E>(
  store: SegmentStore<E>,
  output: Segment,
  { firsts, head, merger }: Running
) {
  yield* store.putHead(output.id, { ...head, firsts })
  const inputs = (yield* store.live(output.collection_id)).filter(({ id }) => inputsOf(output).includes(id))
  for (const input of inputs) {
    if (input.dead === 0) continue
    const { places } = merger.inputs.find(({ segment }) => segment === input.id)!
    const bits = yield* tombstones(store, input)
    const buried: Array<number> = []
    for (let ordinal = 0; ordinal < input.passages; ordinal++) {
      if (!isDead(bits, ordinal)) continue
      const place = typeof places === "number" ? places + ordinal : (places[ordinal] as number)
      if (place >= 0) buried.push(place)
    }
    if (buried.length > 0) yield* bury(store, output.id, buried, (ordinal) => head.lengths[ordinal] as number)
  }
  yield* store.completed(output.id, firsts.length)
  yield* retire(store, inputs)
})

/** Takes segments out of use: small ones are deleted at once, others step by step. */
const retire = Effect.fnUntraced(function* <E>(store: SegmentStore<E>, segments: ReadonlyArray<Segment>) {
  const atOnce = sum(segments.map(({ blocks }) => blocks)) < stepRows
  for (const { id } of segments) {
    if (atOnce) yield* store.clear(id, Number.MAX_SAFE_INTEGER)
    else yield* store.discard(id)
  }
})

const byCollection = (segments: ReadonlyArray<Segment>): Iterable<ReadonlyArray<Segment>> => {
  const groups = new Map<number, Array<Segment>>()
  for (const segment of segments) {
    const group = groups.get(segment.collection_id)
    if (group === undefined) groups.set(segment.collection_id, [segment])
    else group.push(segment)
  }
  return groups.values()
}

/**
 * Does a little of the due merging and deleting, in the caller's transaction, which holds the write lock; true if there
 * was something to do. Any process may do the next step, and each step leaves a consistent state.
 */
export const mergeStep = Effect.fn("Store.mergeStep")(function* <E>(
  store: SegmentStore<E>,
  options: StepOptions = step
) {
  // First, because the next merge reuses their space.
  const [garbage] = yield* store.inState(State.garbage)
  if (garbage !== undefined) yield* store.clear(garbage.id, stepRows)
  const taken = new Set((yield* store.inState(State.building)).flatMap(inputsOf))
  let began = false
  const rebuilt = yield* store.rebuilding
  for (const segments of byCollection(yield* store.inState(State.live))) {
    // A rebuild is about to replace its segments.
    if (rebuilt.has(segments[0]!.collection_id)) continue
    const chosen = plans[options.extent ?? "due"](segments, ({ id }) => taken.has(id))
    if (chosen.length === 0) continue
    yield* start(store, chosen)
    began = true
    if (total(chosen) >= options.largePassages) return true
    break
  }
  const [next] = (yield* store.inState(State.building)).toSorted((a, b) => a.passages - b.passages)
  if (next !== undefined) yield* advance(store, next, options)
  return began || next !== undefined || garbage !== undefined
})
