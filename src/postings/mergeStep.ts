import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import { sumAll } from "effect/Number"
import { parsed } from "../model/Damaged.ts"
import { termsVersion } from "../terms/terms.ts"
import { type Segment, type SegmentStore, State, livingIn, postingsFormat } from "./SegmentStore.ts"
import { BlockReader, BlockWriter, type Head, blockOf, compareTerms, maxTermBytes } from "./block.ts"
import { ByteReader, ByteWriter, skipFrequencies } from "./bytes.ts"
import { listOf, passagesIn } from "./languages.ts"
import { type Runs, RunsBuilder } from "./runs.ts"
import { plan, planClean, planWhole } from "./tiers.ts"
import { bury, isDead, tombstones, unique } from "./tombstones.ts"

/** Where an input's passages go: consecutively from an ordinal on, or each to its own ordinal, -1 for none. */
type Places = number | Int32Array

/** Sorts before every term. */
const beforeAll = new Uint8Array(0)

/** Iterates over an input's terms; the caller supplies its blocks. */
class Input {
  /** The block to supply next. */
  block = 0
  /** The current entry; undefined: it waits for its next block, or has ended. */
  current: BlockReader | undefined

  constructor(
    readonly segment: number,
    private readonly blocks: number,
    readonly places: Places
  ) {}

  get waits(): boolean {
    return this.current === undefined && this.block < this.blocks
  }

  /** Takes the next block, and moves to its first entry after a term. */
  take(data: Uint8Array, after: Uint8Array = beforeAll): void {
    this.block++
    const entry = new BlockReader(data)
    this.current = entry
    do this.advance()
    while (this.current !== undefined && compareTerms(entry.term, entry.termLength, after, after.length) <= 0)
  }

  advance(): void {
    if (this.current?.next() !== true) this.current = undefined
  }
}

/** The postings of one term, collected from the inputs in order. */
class Gathered {
  readonly out = new ByteWriter(64 * 1024)
  count = 0
  last = -1

  clear(): void {
    this.out.length = 0
    this.count = 0
    this.last = -1
  }

  add(entry: BlockReader, places: Places): void {
    const reader = new ByteReader(entry.data, entry.start)
    if (typeof places === "number") {
      // Only the first gap changes.
      const head = reader.varint()
      const ordinal = places + Math.floor(head / 2)
      this.out.varint(2 * (ordinal - this.last - 1) + (head % 2))
      this.out.bytes(entry.data, reader.at, entry.end)
      this.last = places + entry.lastOrdinal
      this.count += entry.count
      return
    }
    let ordinal = -1
    while (reader.at < entry.end) {
      const head = reader.varint()
      ordinal += 1 + Math.floor(head / 2)
      const start = reader.at
      skipFrequencies(reader, head)
      const place = places[ordinal] as number
      if (place < 0) continue
      this.out.varint(2 * (place - this.last - 1) + (head % 2))
      this.out.bytes(entry.data, start, reader.at)
      this.last = place
      this.count++
    }
  }
}

/** Merges terms with their postings, as far as the supplied blocks go. */
class Merger {
  /** The last term done; empty before the first. */
  through: Buffer = Buffer.alloc(0)
  private readonly gathered = new Gathered()
  private readonly term = Buffer.alloc(maxTermBytes)

  constructor(readonly inputs: ReadonlyArray<Input>) {}

  /** Merges until an input needs its next block, or until this many bytes are written; returns why it stopped. */
  run(writer: BlockWriter, bytes: number): Input | "enough" | "done" {
    const { gathered, inputs, term } = this
    let length = 0
    let result: Input | "enough" | undefined
    for (;;) {
      let least: BlockReader | undefined
      // Indices, since an iterator for each term is garbage.
      for (let i = 0; i < inputs.length; i++) {
        const input = inputs[i] as Input
        if (input.waits) {
          result = input
          break
        }
        const entry = input.current
        if (entry === undefined) continue
        if (least === undefined || compareTerms(entry.term, entry.termLength, least.term, least.termLength) < 0) {
          least = entry
        }
      }
      if (result !== undefined || least === undefined) break
      if (length > 0 && writer.written >= bytes) {
        result = "enough"
        break
      }
      length = least.termLength
      least.term.copy(term, 0, 0, length)
      gathered.clear()
      for (let i = 0; i < inputs.length; i++) {
        const input = inputs[i] as Input
        const entry = input.current
        if (entry === undefined || compareTerms(entry.term, entry.termLength, term, length) !== 0) continue
        gathered.add(entry, input.places)
        input.advance()
      }
      if (gathered.count > 0) writer.add(term, length, gathered.count, gathered.last, gathered.out)
    }
    if (length > 0) this.through = Buffer.from(term.subarray(0, length))
    return result ?? "done"
  }
}

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

const isLater = ({ format, terms_version }: Segment): boolean => format > postingsFormat || terms_version > termsVersion

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

/** Begins a merge, and fixes where each passage goes; later deletions are carried over at the end. */
const start = Effect.fnUntraced(function* <E>(store: SegmentStore<E>, inputs: ReadonlyArray<Segment>) {
  const found = yield* store.heads(inputs.map(({ id }) => id))
  const ids = new RunsBuilder()
  const lengths = new Uint32Array(livingIn(inputs))
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
    terms: sumAll(lengths),
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

/** Enough for the first term of a block, which has at most 1,024 bytes, and what precedes it; not for its postings. */
const startBytes = 1100

const firstTerm = (start: Buffer): Buffer => {
  const reader = new ByteReader(start)
  // It shares nothing with a term before it.
  reader.upTo(0)
  const length = reader.upTo(Math.min(maxTermBytes, reader.left))
  return Buffer.from(start.subarray(reader.at, reader.at + length))
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
  const areFew = sumAll(segments.map(({ blocks }) => blocks)) < stepRows
  for (const { id } of segments) {
    if (areFew) yield* store.clear(id, Number.MAX_SAFE_INTEGER)
    else yield* store.discard(id)
  }
})

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
  const live = Arr.groupBy(yield* store.inState(State.live), ({ collection_id }) => String(collection_id))
  for (const segments of Object.values(live)) {
    // A rebuild is about to replace its segments.
    if (rebuilt.has(segments[0]!.collection_id)) continue
    const isTaken = ({ id }: Segment) => taken.has(id)
    // What one segment of a newer Clew's terms and one of ours become would be told apart by neither.
    const isMixed = new Set(segments.map(isLater)).size > 1
    const chosen = isMixed
      ? segments.filter((one) => options.extent !== undefined && one.dead > 0 && !isTaken(one)).slice(0, 1)
      : plans[options.extent ?? "due"](segments, isTaken)
    if (chosen.length === 0) continue
    yield* start(store, chosen)
    began = true
    if (livingIn(chosen) >= options.largePassages) return true
    break
  }
  const [next] = (yield* store.inState(State.building)).toSorted((a, b) => a.passages - b.passages)
  if (next !== undefined) yield* advance(store, next, options)
  return began || next !== undefined || garbage !== undefined
})
