import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Chunker } from "./Chunker.ts"
import { Collections } from "./Collections.ts"
import { type Input, drafting } from "./Indexer/drafting.ts"
import { TakesMentions, mentioning } from "./Indexer/mentioning.ts"
import { preparing } from "./Indexer/preparing.ts"
import { type EmbedderMismatch, Store } from "./Store.ts"
import { type Collection, type CollectionName, defaultCollection, identicalEmbedder } from "./model/Collection.ts"
import type { DocumentInput } from "./model/Document.ts"
import type { Compared, Draft, IndexedDocument, Outcome } from "./model/Draft.ts"
import type { FileChange } from "./model/File.ts"
import type { DocumentRef, PreparedDocument, StoredRef } from "./model/Stored.ts"
import { withoutPause } from "./model/withoutPause.ts"
import { inTurns, nextTurn } from "./runtime/EventLoop.ts"
import { makeTurns } from "./runtime/Turn.ts"
import { fault } from "./model/fault.ts"

/** Too many batches are being indexed. */
export class IndexingBusy extends fault<IndexingBusy>()(
  "IndexingBusy",
  503,
  { limit: Schema.Int },
  ({ limit }) => `${limit} batches are already being indexed or waiting; retry this one later`
) {
  readonly headers = { "retry-after": "5" }
}

/** What goes on together. */
export interface Batch {
  readonly compared: ReadonlyArray<Compared>
  /** What has been found out about files, to be kept with it. */
  readonly files?: ReadonlyArray<FileChange> | undefined
}

/** Turns documents into stored passages, and embeds only what changed. */
export class Indexer extends Effect.Service<Indexer>()("clew/Indexer", {
  effect: Effect.gen(function* () {
    const store = yield* Store
    const { open } = yield* Collections
    const chunker = yield* Chunker
    const prepare = yield* preparing
    const takesMentions = yield* TakesMentions
    const turns = makeTurns(1)

    /** Drafts of a caller's documents; a long one does not block others. */
    const draftAll = (inputs: ReadonlyArray<DocumentInput>): Effect.Effect<ReadonlyArray<Draft>> =>
      inTurns(function* () {
        const drafts: Array<Draft> = []
        for (const { content, docId, metadata } of inputs) {
          const { source, title, ...own } = metadata ?? {}
          drafts.push(yield* drafting({ content, docId, source, title, metadata: own }, chunker.settings))
        }
        return drafts
      })

    /** Compares drafts with the stored documents of the same names; a missing collection has none. */
    const compare = Effect.fn("Indexer.compare")(function* (name: CollectionName, drafts: ReadonlyArray<Draft>) {
      // Only the names, since the request may go to another thread.
      const refs = drafts.map(({ derivedId, docId, source }): DocumentRef => ({ derivedId, docId, source }))
      const stored = yield* Effect.catchTag(store.lookup(name, refs), "CollectionNotFound", () =>
        Effect.succeed(drafts.map(() => Option.none<StoredRef>()))
      )
      return drafts.map((next, index): Compared => {
        const known = stored[index] ?? Option.none()
        const status = Option.match(known, {
          onNone: () => "created" as const,
          onSome: (ref) => (isUnchanged(next, ref) ? "unchanged" : "updated")
        })
        return { draft: next, stored: known, status }
      })
    })

    /** Stores a batch, what changed of it in one transaction. */
    const put = Effect.fn("Indexer.put")(function* (
      { embedder, name }: Collection,
      { compared, files = [] }: Batch,
      documents: ReadonlyArray<PreparedDocument>,
      seenBy: number | undefined
    ) {
      const touched = compared.flatMap(({ draft, status, stored }) =>
        Option.match(stored, {
          onNone: () => [],
          onSome: (known) =>
            status === "unchanged" && (seenBy !== undefined || known.line !== draft.line)
              ? [{ docId: known.docId, line: draft.line }]
              : []
        })
      )
      const nothingNew = documents.length === 0
      // Marks first: all documents of a file recorded as read must be marked.
      if (touched.length > 0 || (nothingNew && files.length > 0)) {
        yield* store.touch(name, touched, seenBy, nothingNew ? files : [])
      }
      const outcomes = nothingNew ? [] : yield* store.put(name, documents, { seenBy, embedder, files })

      let at = 0
      return compared.map(({ draft, status, stored }): IndexedDocument => {
        if (status !== "unchanged") return { source: draft.source, ...outcomes[at++]! }
        const { docId, passages, source } = Option.getOrThrow(stored)
        return { source, docId, status, passages }
      })
    })

    /**
     * Batches on their way in, in their order: one is stored while the next is made ready, up to its mentions if there
     * is time, and the rest of the process gets its turn before each of both. With a run's number all documents are
     * marked as seen by it. Without a collection nothing is stored, and what comes out is what would be. If the
     * collection gets another embedder meanwhile, what is not stored yet is embedded by that one.
     */
    const through =
      (collection: Collection | undefined, seenBy?: number) =>
      <B extends Batch, E, R>(batches: Stream.Stream<B, E, R>) => {
        if (collection === undefined) {
          return Stream.map(batches, (batch) => ({ batch, indexed: batch.compared.map(planned) }))
        }
        let current = collection
        let [begun, done] = [0, 0]
        const prepared = (batch: B) =>
          Effect.suspend(() => {
            const by = current
            return Effect.map(prepare(by, batch.compared), (documents) => ({ batch, by, documents }))
          })
        const stored = ({ batch, by, documents }: Effect.Effect.Success<ReturnType<typeof prepared>>) =>
          Effect.tap(put(by, batch, documents, seenBy), () => Effect.sync(() => done++))
        const again = (batch: B, mismatch: EmbedderMismatch) =>
          Effect.flatMap(store.collection(collection.name), (now) => {
            if (identicalEmbedder(now.embedder, mismatch.configured)) return mismatch
            current = now
            return Effect.flatMap(prepared(batch), stored)
          })
        return batches.pipe(
          Stream.mapEffect((batch) => {
            const before = begun++
            const isBusy = () => takesMentions && done < before
            return Effect.flatMap(Effect.zipRight(nextTurn, prepared(batch)), (made) =>
              Effect.map(mentioning(made.documents, isBusy), (documents) => ({ ...made, documents }))
            )
          }),
          Stream.buffer({ capacity: 1 }),
          Stream.mapEffect((made) =>
            nextTurn.pipe(
              Effect.zipRight(stored(made)),
              Effect.catchTag("EmbedderMismatch", (mismatch) => again(made.batch, mismatch)),
              Effect.map((indexed) => ({ batch: made.batch, indexed }))
            )
          )
        )
      }

    const inSlices = Effect.fnUntraced(function* (
      inputs: ReadonlyArray<DocumentInput>,
      name: CollectionName,
      progress: (done: number) => Effect.Effect<void>
    ) {
      const collection = yield* open(name)
      // Find conflicts before anything is stored.
      const compared = yield* compare(name, yield* draftAll(inputs))
      yield* progress(0)
      const blank = new Map<Compared, Outcome>()
      for (const each of compared.filter(({ draft }) => !/\S/.test(draft.content))) {
        const { docId, source } = planned(each)
        if (Option.isSome(each.stored)) {
          yield* Effect.catchTag(store.deleteDocument(name, docId), "DocumentNotFound", () => Effect.void)
        }
        blank.set(each, { docId, source, status: "skipped", passages: 0 })
      }
      const given = compared.filter((each) => !blank.has(each))
      const outcomes: Array<IndexedDocument> = []
      const lengthOf = ({ draft }: Compared) => draft.content.length
      const batches = slices(given, lengthOf, isQuick(collection) ? large : small)
      yield* through(collection)(Stream.map(Stream.fromIterable(batches), (compared): Batch => ({ compared }))).pipe(
        Stream.runForEach(({ indexed }) => {
          outcomes.push(...indexed)
          return progress(blank.size + outcomes.length)
        })
      )
      let at = 0
      return compared.map((each): Outcome => blank.get(each) ?? outcomes[at++]!)
    })

    return {
      /** Identifies everything but a file's text that decides how it is split. */
      settings: chunker.settings,
      open,
      draft: (input: Input): Draft => withoutPause(drafting(input, chunker.settings)),
      compare,
      through,
      /**
       * Indexes a caller's documents slice by slice: each document replaces the one with its source or doc_id
       * atomically, but the batch is not atomic. Documents without text are skipped, as files are. `progress` gets the
       * number done. Batches run one at a time, so that no other batch of this process can cause a conflict halfway. It
       * fails at once if too many are waiting, unless it `waits` for as long as that takes.
       */
      index: Effect.fn("Indexer.index")(function* (
        inputs: ReadonlyArray<DocumentInput>,
        name: CollectionName = defaultCollection,
        progress: (done: number) => Effect.Effect<void> = () => Effect.void,
        waits = false
      ) {
        if (!waits && turns.size() >= mostBatches) return yield* new IndexingBusy({ limit: mostBatches })
        return yield* turns.urgent(inSlices(inputs, name, progress))
      })
    }
  }),
  dependencies: [Collections.Default]
}) {}

/** Most batches running or waiting; each is held in memory. */
const mostBatches = 16

const planned = ({ draft, status, stored }: Compared): IndexedDocument => ({
  docId: Option.match(stored, { onNone: () => draft.derivedId, onSome: (known) => known.docId }),
  source: draft.source,
  status,
  passages: Option.match(stored, { onNone: () => 0, onSome: (known) => known.passages })
})

const isUnchanged = (next: Draft, stored: StoredRef) =>
  stored.fingerprint === next.fingerprint &&
  (next.docId === undefined || next.docId === stored.docId) &&
  next.source === stored.source

/** Whether the collection's passages are embedded so fast that it takes longer to store them in many transactions. */
export const isQuick = ({ embedder }: Collection): boolean => embedder.backend === "builtin"

/** What is stored at once, at most: a transaction writes parts of all indexes again. */
export const large = { documents: 512, characters: 2 * 1024 * 1024 }

/** The same where it is embedding that takes the time, so that what is done is seen soon. */
const small = { documents: 16, characters: 50_000 }

/** Splits a batch into slices of limited size, in order; a longer document is a slice by itself. */
export const slices = <A>(
  batch: ReadonlyArray<A>,
  charactersOf: (each: A) => number,
  most: typeof large
): ReadonlyArray<ReadonlyArray<A>> => {
  const all: Array<Array<A>> = []
  let characters = Infinity
  for (const next of batch) {
    const last = all.at(-1)
    const length = charactersOf(next)
    if (last === undefined || last.length === most.documents || characters + length > most.characters) {
      all.push([next])
      characters = length
    } else {
      last.push(next)
      characters += length
    }
  }
  return all
}
