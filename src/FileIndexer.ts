import * as Arr from "effect/Array"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Sink from "effect/Sink"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { type Compared, type Draft, type IndexedDocument, Indexer } from "./Indexer.ts"
import { type Loaded, type LoadedDocument, Loader, type Unreadable, type Unsupported } from "./Loader.ts"
import type { CollectionName } from "./model/Collection.ts"
import type { DocumentId } from "./model/Document.ts"
import type { Deleted } from "./model/Stored.ts"
import { pruneAll } from "./Pruner.ts"
import { Store } from "./Store.ts"
import { walk, type WalkOptions } from "./Walker.ts"

export interface FileRun extends WalkOptions {
  readonly collection: CollectionName
  /** Delete documents whose file, or whose record in its file, is gone; only below the paths given. */
  readonly prune: boolean
  /** Tell what would be done, and do nothing. */
  readonly dryRun: boolean
}

/** What happened to a file, a record or a document. A file is done when its documents are committed. */
export type FileEvent =
  | { readonly _tag: "Indexed"; readonly document: IndexedDocument; readonly characters: number }
  | { readonly _tag: "FileDone"; readonly path: string; readonly size: number }
  | { readonly _tag: "Skipped"; readonly path: string; readonly reason: string }
  | { readonly _tag: "Failed"; readonly path: string; readonly line?: number | undefined; readonly reason: string }
  | ({ readonly _tag: "Pruned" } & Deleted)

type Step = { readonly _tag: "Draft"; readonly draft: Draft } | FileEvent

/** A batch is one transaction: large enough to be fast, small enough to stop soon. */
const batch = { documents: 128, characters: 512 * 1024 }

const weigh = (step: Step): number =>
  Math.max(batch.characters / batch.documents, step._tag === "Draft" ? step.draft.content.length : 0)

const toBatches = Sink.foldWeighted<Chunk.Chunk<Step>, Step>({
  initial: Chunk.empty(),
  maxCost: batch.characters,
  cost: (_, step) => weigh(step),
  body: Chunk.append
})

const isBelow = (origin: string, paths: ReadonlyArray<string>): boolean =>
  paths.some((folder) => origin === folder || origin.startsWith(folder.endsWith("/") ? folder : `${folder}/`))

/** Gone for certain: a file that may not be looked at counts as there. */
const isAbsent = (file: string): boolean => {
  try {
    return fs.statSync(file, { throwIfNoEntry: false }) === undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOTDIR"
  }
}

const isRecord = (draft: Draft): boolean => draft.line !== undefined

const repeated = (draft: Draft): FileEvent => ({
  _tag: "Failed",
  path: draft.origin ?? "",
  line: draft.line,
  reason: `the id of ${draft.source} stands in the file before; the first one is kept`
})

const planned = ({ draft, status, stored }: Compared): IndexedDocument => ({
  docId: Option.match(stored, { onNone: () => draft.derivedId, onSome: (known) => known.docId }),
  source: draft.source,
  status,
  passages: Option.match(stored, { onNone: () => 0, onSome: (known) => known.passages })
})

/** Indexes files and folders. What was indexed stays when it is interrupted; the next run goes on from there. */
export class FileIndexer extends Effect.Service<FileIndexer>()("clew/FileIndexer", {
  effect: Effect.gen(function* () {
    const indexer = yield* Indexer
    const loader = yield* Loader
    const store = yield* Store

    const toDraft = (name: string | undefined, origin: string | undefined, loaded: LoadedDocument): Draft =>
      indexer.draft({
        content: loaded.content,
        source: loaded.record === undefined ? name : `${name ?? "stdin"}#${loaded.record}`,
        title: loaded.title,
        metadata: loaded.metadata,
        format: loaded.format,
        origin,
        line: loaded.line
      })

    const toSteps = (
      path: string,
      size: number,
      documents: Stream.Stream<Loaded, Unreadable | Unsupported>,
      draftOf: (loaded: LoadedDocument) => Draft
    ) =>
      documents.pipe(
        Stream.map((loaded): Step =>
          loaded._tag === "Loaded"
            ? { _tag: "Draft", draft: draftOf(loaded) }
            : { _tag: "Failed", path, line: loaded.line, reason: loaded.reason }
        ),
        Stream.concat(Stream.succeed<Step>({ _tag: "FileDone", path, size })),
        Stream.catchTags({
          Unsupported: ({ reason }) => Stream.succeed<Step>({ _tag: "Skipped", path, reason }),
          Unreadable: ({ reason }) => Stream.succeed<Step>({ _tag: "Failed", path, reason })
        })
      )

    const load = (path: string, size: number) =>
      toSteps(path, size, loader.load(path), (loaded) => toDraft(path, path, loaded))

    const steps = (options: WalkOptions) =>
      Stream.flatMap(walk(options), (event): Stream.Stream<Step> => {
        switch (event._tag) {
          case "File":
            return load(event.path, event.size)
          case "Skipped":
            return Stream.succeed(event)
          default:
            return Stream.succeed({ _tag: "Failed", path: event.path, reason: event.reason })
        }
      })

    /** Documents below the paths that the run did not meet, of files that are gone. */
    const unmet = (run: FileRun, met: ReadonlySet<DocumentId>, isGone: (origin: string) => boolean) =>
      Stream.paginateChunkEffect(undefined as DocumentId | undefined, (after) =>
        store.list(run.collection, { limit: 1000, after }).pipe(
          Effect.catchTag("CollectionNotFound", () => Effect.succeed([])),
          Effect.map((page) => [
            Chunk.unsafeFromArray(page),
            page.length < 1000 ? Option.none() : Option.some(page.at(-1)?.docId)
          ])
        )
      ).pipe(
        Stream.filter(
          ({ docId, origin }) => origin !== undefined && !met.has(docId) && isBelow(origin, run.paths) && isGone(origin)
        ),
        Stream.runFold({ documents: 0, passages: 0 }, (sum: Deleted, { passages }) => ({
          documents: sum.documents + 1,
          passages: sum.passages + passages
        }))
      )

    const start = Effect.fnUntraced(function* (run: FileRun, found: Stream.Stream<Step>) {
      const collection = run.dryRun ? undefined : yield* indexer.open(run.collection)
      const seenBy = collection === undefined ? undefined : yield* store.beginRun(collection.name)
      /** Kept in a dry run only: a real one marks documents in the store. */
      const met = new Set<DocumentId>()
      /** Files of many records that were read whole: what they had before and have no more is gone. */
      const readWhole = new Set<string>()
      const recordFiles = new Set<string>()
      const failed = new Set<string>()
      /** What is prepared and not stored yet, so that the store does not know it. */
      const underWay = new Set<DocumentId>()

      const isRepeated = ({ draft, stored }: Compared) =>
        isRecord(draft) && Option.exists(stored, (known) => known.seenBy !== undefined && known.seenBy === seenBy)

      /** Reports and leaves drafts whose id their file has had already; makes the others ready. */
      const prepare = Effect.fnUntraced(function* (collected: Chunk.Chunk<Step>) {
        const events: Array<FileEvent> = []
        const drafts: Array<Draft> = []
        for (const step of collected) {
          if (step._tag !== "Draft") events.push(step)
          else if (underWay.has(step.draft.derivedId)) events.push(repeated(step.draft))
          else {
            underWay.add(step.draft.derivedId)
            drafts.push(step.draft)
          }
        }
        const [fresh, again] = Arr.partition(yield* indexer.compare(run.collection, drafts), isRepeated)
        for (const { draft } of again) events.push(repeated(draft))
        for (const draft of drafts) if (isRecord(draft) && draft.origin !== undefined) recordFiles.add(draft.origin)
        for (const event of events) {
          if (event._tag === "Failed") failed.add(event.path)
          if (event._tag === "FileDone" && recordFiles.delete(event.path) && !failed.has(event.path)) {
            readWhole.add(event.path)
          }
        }
        const prepared =
          collection === undefined ? { batch: fresh, documents: [] } : yield* indexer.prepare(collection, fresh)
        return { prepared, drafts, events }
      })

      type Ready = Effect.Effect.Success<ReturnType<typeof prepare>>

      const keep = Effect.fnUntraced(function* ({ drafts, events, prepared }: Ready) {
        const { batch } = prepared
        const markUnchanged = run.prune || batch.some(({ draft }) => isRecord(draft))
        const indexed =
          collection === undefined || seenBy === undefined
            ? batch.map(planned)
            : yield* indexer.put(collection, prepared, { seenBy, markUnchanged })
        for (const { derivedId } of drafts) underWay.delete(derivedId)
        if (run.dryRun) for (const { docId } of indexed) met.add(docId)
        return Chunk.unsafeFromArray([
          ...indexed.map((document, index): FileEvent => ({
            _tag: "Indexed",
            document,
            characters: batch[index]!.draft.content.length
          })),
          ...events
        ])
      })

      /** Excluded, ignored and unreadable files are there; of a path given that is missing nothing can be told. */
      const isGone = (origin: string): boolean =>
        readWhole.has(origin) ||
        (isAbsent(origin) &&
          !isBelow(
            origin,
            run.paths.filter((root) => failed.has(root))
          ))

      const prune = Effect.gen(function* () {
        if (collection === undefined || seenBy === undefined) return yield* unmet(run, met, isGone)
        // What another run has met since this one began is there, whether this one has met it or not.
        const gone = (yield* store.unseenOrigins(collection.name, run.paths, seenBy)).filter(isGone)
        return yield* pruneAll(store, collection.name, gone, seenBy)
      })

      return found.pipe(
        Stream.aggregate(toBatches),
        Stream.mapEffect(prepare),
        // One batch is stored while the next is prepared.
        Stream.buffer({ capacity: 1 }),
        Stream.mapEffect(keep),
        Stream.flattenChunks,
        Stream.concat(
          run.prune
            ? Stream.fromEffect(Effect.map(prune, (deleted): FileEvent => ({ _tag: "Pruned", ...deleted })))
            : Stream.empty
        )
      )
    })

    return {
      /** Fails only where nothing can go on; what is wrong with a file is an event. */
      run: (given: FileRun) => {
        const run = { ...given, paths: given.paths.map((root) => path.resolve(root)) }
        return Stream.unwrap(start(run, steps(run)))
      },
      /** Indexes what is in no file, such as standard input; without a name a document is known by its content. */
      runText: (
        input: { readonly name: string | undefined; readonly bytes: Uint8Array },
        run: Pick<FileRun, "collection" | "dryRun">
      ) => {
        const { bytes, name } = input
        const path = name ?? "stdin"
        const documents = toSteps(path, bytes.length, loader.fromText({ name: path, bytes }), (loaded) =>
          toDraft(name, undefined, loaded)
        )
        return Stream.unwrap(start({ ...run, paths: [], prune: false }, documents))
      }
    }
  })
}) {}
