import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Chunker } from "./Chunker.ts"
import { Collections } from "./Collections.ts"
import { Embedders } from "./Embedders.ts"
import { embedAll, placesOf, textsOf } from "./Indexer/embedding.ts"
import { derivingId, fingerprinting } from "./Indexer/identity.ts"
import { slices } from "./Indexer/slices.ts"
import { type Collection, type CollectionName, defaultCollection } from "./model/Collection.ts"
import type { DocumentId, DocumentInput, Format, Metadata } from "./model/Document.ts"
import type { FileChange } from "./model/File.ts"
import { isWellFormed } from "./model/kinds.ts"
import type { Mark } from "./model/Locator.ts"
import type { Passage } from "./model/Passage.ts"
import type { DocumentRef, PreparedDocument, StoredRef } from "./model/Stored.ts"
import { atOnce, inTurns, nextTurn, type Steps, turnMs } from "./runtime/EventLoop.ts"
import { makeTurns } from "./runtime/Turn.ts"
import { Store } from "./Store.ts"
import { embeddedText } from "./text/embedded.ts"
import { extension, judgingFormat } from "./text/format.ts"
import { located } from "./text/located.ts"

/** A document on its way in. */
export interface Draft extends DocumentRef {
  readonly fingerprint: string
  readonly content: string
  readonly format: Format
  readonly title?: string | undefined
  readonly metadata: Metadata
  readonly origin?: string | undefined
  readonly line?: number | undefined
  /** Where stretches of an extracted text come from. */
  readonly marks?: ReadonlyArray<Mark> | undefined
}

/** What a draft is made from. */
interface Input {
  readonly content: string
  readonly source?: string | undefined
  readonly title?: string | undefined
  readonly metadata: Metadata
  readonly docId?: DocumentId | undefined
  readonly format?: Format | undefined
  readonly origin?: string | undefined
  readonly line?: number | undefined
  readonly marks?: ReadonlyArray<Mark> | undefined
}

/** A draft beside what is stored under its name. */
export interface Compared {
  readonly draft: Draft
  readonly stored: Option.Option<StoredRef>
  readonly status: "created" | "updated" | "unchanged"
}

/** A batch with what changed of it made ready, in its order. */
export interface Prepared {
  readonly batch: ReadonlyArray<Compared>
  readonly documents: ReadonlyArray<PreparedDocument>
}

export interface IndexedDocument {
  readonly docId: DocumentId
  readonly source: string | undefined
  readonly status: "created" | "updated" | "unchanged"
  readonly passages: number
}

/** Too much is being indexed already. */
export class IndexingBusy extends Schema.TaggedError<IndexingBusy>()(
  "IndexingBusy",
  { limit: Schema.Int },
  HttpApiSchema.annotations({ status: 503 })
) {
  readonly headers = { "retry-after": "5" }
  override get message() {
    return `${this.limit} batches are being indexed or wait for it already; send this one again later`
  }
}

/** Turns documents into stored passages, embedding only what changed. */
export class Indexer extends Effect.Service<Indexer>()("clew/Indexer", {
  effect: Effect.gen(function* () {
    const store = yield* Store
    const embedders = yield* Embedders
    const { open } = yield* Collections
    const chunker = yield* Chunker
    const turns = makeTurns(1)

    const drafting = function* (input: Input): Steps<Draft> {
      const content = wellFormed(input.content)
      const source = input.source === undefined ? undefined : wellFormed(input.source)
      const title = input.title === undefined ? undefined : wellFormed(input.title)
      const format = input.format ?? (yield* judgingFormat(source, content))
      return {
        ...input,
        content,
        source,
        title,
        format,
        derivedId: yield* derivingId({ source, content }),
        fingerprint: yield* fingerprinting([chunker.settings, format, title ?? "", input.metadata], content)
      }
    }

    /** Drafts of documents as a caller hands them over; a long one holds up nobody. */
    const draftAll = (inputs: ReadonlyArray<DocumentInput>): Effect.Effect<ReadonlyArray<Draft>> =>
      inTurns(function* () {
        const drafts: Array<Draft> = []
        for (const { content, docId, metadata } of inputs) {
          const { source, title, ...own } = metadata ?? {}
          drafts.push(yield* drafting({ content, docId, source, title, metadata: own }))
        }
        return drafts
      })

    /** Holds drafts against what is stored under their names; a collection that is not there yet holds nothing. */
    const compare = Effect.fn("Indexer.compare")(function* (name: CollectionName, drafts: ReadonlyArray<Draft>) {
      // The names alone: what is asked may cross to another thread.
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

    /** Vectors that are stored for the texts of changed documents: in what stood in their place, or elsewhere. */
    const embeddedBefore = Effect.fnUntraced(function* (
      { embedder, name }: Collection,
      changed: ReadonlyArray<Compared>
    ) {
      const passages = yield* Effect.catchTag(
        store.embeddings(name, {
          docIds: changed.flatMap(({ stored }) => Option.toArray(Option.map(stored, ({ docId }) => docId))),
          fingerprints: changed.map(({ draft }) => draft.fingerprint)
        }),
        "CollectionNotFound",
        () => Effect.succeed([])
      )
      const fitting = passages.filter(({ vector }) => vector.length === embedder.dimensions)
      return new Map(fitting.map((passage) => [embeddedText(passage.title, passage), passage.vector]))
    })

    /** Cuts what changed, and embeds what of it is new. */
    const prepare = Effect.fn("Indexer.prepare")(function* (collection: Collection, batch: ReadonlyArray<Compared>) {
      const changed = batch.filter(({ status }) => status !== "unchanged")
      const drafts = changed.map(({ draft }) => draft)
      if (drafts.length === 0) return { batch, documents: [] } satisfies Prepared
      const cut: Array<ReadonlyArray<Passage>> = []
      let until = performance.now() + turnMs
      for (const next of drafts) {
        cut.push(located(yield* chunker.chunk(next.content, next.format, languageOf(next)), next.marks))
        if (performance.now() < until) continue
        yield* nextTurn
        until = performance.now() + turnMs
      }
      const embedder = yield* embedders.forCollection(collection)
      const before = yield* embeddedBefore(collection, changed)
      const vectors = yield* embedAll(embedder, textsOf(drafts, cut), before, placesOf(drafts, cut))
      let at = 0
      const documents = drafts.map((next, index): PreparedDocument => ({
        ...next,
        passages: cut[index]!.map((passage) => ({ ...passage, vector: vectors[at++] ?? Option.none() }))
      }))
      return { batch, documents } satisfies Prepared
    })

    /**
     * Stores a batch, what changed of it in one transaction. With a run, all documents are marked as seen by it, and
     * what it has found out about files is kept.
     */
    const put = Effect.fn("Indexer.put")(function* (
      collection: Collection,
      { batch, documents }: Prepared,
      run?: { readonly seenBy: number; readonly files: ReadonlyArray<FileChange> }
    ) {
      const { embedder, name } = collection
      const { files = [], seenBy } = run ?? {}
      const touched = batch.flatMap(({ draft, status, stored }) =>
        Option.match(stored, {
          onNone: () => [],
          onSome: (known) =>
            status === "unchanged" && (run !== undefined || known.line !== draft.line)
              ? [{ docId: known.docId, line: draft.line }]
              : []
        })
      )
      const nothingNew = documents.length === 0
      // The marks first: a file that counts as read has all its documents marked.
      if (touched.length > 0 || (nothingNew && files.length > 0)) {
        yield* store.touch(name, touched, seenBy, nothingNew ? files : [])
      }
      const outcomes = nothingNew ? [] : yield* store.put(name, documents, { seenBy, embedder, files })

      let at = 0
      return batch.map(({ draft, status, stored }): IndexedDocument => {
        if (status !== "unchanged") return { source: draft.source, ...outcomes[at++]! }
        const { docId, passages, source } = Option.getOrThrow(stored)
        return { source, docId, status, passages }
      })
    })

    const inSlices = Effect.fnUntraced(function* (
      inputs: ReadonlyArray<DocumentInput>,
      name: CollectionName,
      progress: (done: number) => Effect.Effect<void>
    ) {
      const collection = yield* open(name)
      // Conflicts are found before anything is stored.
      const compared = yield* compare(name, yield* draftAll(inputs))
      const outcomes: Array<IndexedDocument> = []
      yield* progress(0)
      for (const slice of slices(compared, ({ draft }) => draft.content.length)) {
        // The rest of the process gets its turn before each slice, and between embedding and storing it.
        yield* nextTurn
        const prepared = yield* prepare(collection, slice)
        yield* nextTurn
        outcomes.push(...(yield* put(collection, prepared)))
        yield* progress(outcomes.length)
      }
      return outcomes
    })

    return {
      /** Names everything but a file's text that decides how it is cut. */
      settings: chunker.settings,
      open,
      draft: (input: Input): Draft => atOnce(drafting(input)),
      compare,
      prepare,
      put,
      /**
       * Indexes documents as a caller hands them over, slice by slice: a source or doc_id that is there already is
       * replaced at once, the batch is not. `progress` is told how many are done. One batch at a time, so that no other
       * one of this process can bring up a conflict later; fails at once where too many wait already.
       */
      index: Effect.fn("Indexer.index")(function* (
        inputs: ReadonlyArray<DocumentInput>,
        name: CollectionName = defaultCollection,
        progress: (done: number) => Effect.Effect<void> = () => Effect.void
      ) {
        if (turns.size() >= mostBatches) return yield* new IndexingBusy({ limit: mostBatches })
        return yield* turns.urgent(inSlices(inputs, name, progress))
      })
    }
  }),
  dependencies: [Collections.Default]
}) {}

/** Batches that are under way or wait; each is held in memory. */
const mostBatches = 16

/** UTF-8 has no lone surrogates; a replacement keeps the length, and with it every offset. */
const wellFormed = (text: string): string => (isWellFormed(text) ? text : text.replace(/\p{Surrogate}/gu, "\ufffd"))

const isUnchanged = (next: Draft, stored: StoredRef) =>
  stored.fingerprint === next.fingerprint &&
  (next.docId === undefined || next.docId === stored.docId) &&
  (next.source === undefined || next.source === stored.source)

const languageOf = ({ format, origin, source }: Draft): string | undefined =>
  format === "code" || format === "data" ? extension(origin ?? source ?? "") : undefined
