import * as Arr from "effect/Array"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as path from "node:path"
import { Indexer } from "../Indexer.ts"
import { Store, type StoreUnavailable } from "../Store.ts"
import type { CollectionName } from "../model/Collection.ts"
import { DocumentId } from "../model/Document.ts"
import type { Compared, Draft, IndexedDocument } from "../model/Draft.ts"
import type { Deleted, DocumentSummary } from "../model/Stored.ts"
import { letOthersWrite } from "../runtime/EventLoop.ts"
import { Disk, isAbsent } from "./Disk.ts"
import type { FileEvent } from "./FileEvent.ts"
import { type Lost, holdingLosses, lost } from "./FileIndexer/lost.ts"
import { Reading, type Step, apart, gather, loading, repeated, sorting, toBatches } from "./FileIndexer/reading.ts"
import { type LoadedDocument, Loader } from "./Loader.ts"
import { add, none, pruneAll } from "./Pruner.ts"
import type { WalkOptions } from "./WalkEvent.ts"
import { walk } from "./Walker.ts"

export interface FileRun extends WalkOptions {
  readonly collection: CollectionName
  /** Delete documents whose file, or whose record in its file, is gone or now ignored; only below the given paths. */
  readonly prune: boolean
  /**
   * Prune nothing below a path that has lost more than half of its files since the last run, unless git has just taken them
   * away; name what is pruned.
   */
  readonly holdLosses?: boolean | undefined
  /** Report what would be done, without doing it. */
  readonly dryRun: boolean
  /** Read every file, even if it looks unchanged. */
  readonly rehash?: boolean | undefined
  /** Also name the documents of files that were not read. */
  readonly nameUnchanged?: boolean | undefined
}

/** A text that is in no file, such as standard input. */
interface Text {
  readonly name: string | undefined
  readonly bytes: Uint8Array
  /** The program before may have failed: nothing, or half of a document, does not take the place of what is stored. */
  readonly isPiped?: boolean
}

const isRecord = (draft: Draft): boolean => draft.line !== undefined

const unchanged = ({ docId, passages, source }: DocumentSummary): FileEvent => ({
  _tag: "Indexed",
  document: { docId, source, status: "unchanged", passages },
  characters: 0
})

type Known = Extract<Step, { readonly _tag: "Known" }>

const unread = ({ file: { documents, path }, size }: Pick<Known, "file" | "size">): FileEvent => ({
  _tag: "Unchanged",
  path,
  size,
  documents
})

/** Whether a file that was not read needs no lookup or pruning. */
const isPlain = ({ file }: Known, run: FileRun): boolean =>
  file.outcome === "indexed" && !run.nameUnchanged && !(run.prune && file.many)

const pageSize = 1000

/** Whether there is something, but no more than white space. */
const isBlank = (bytes: Uint8Array): boolean =>
  bytes.length > 0 && bytes.every((byte) => byte === 32 || (byte >= 9 && byte <= 13))

/** Of what is damaged or encrypted, nobody knows what it says. */
const saysNothing: ReadonlySet<string> = new Set(["empty", "binary", "it holds no text"])

/** The id of no document: what is looked for has a source. */
const noId = DocumentId.make("-")

/** Indexes files and folders. An interruption keeps what was indexed, and the next run continues from there. */
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
        line: loaded.line,
        marks: loaded.marks
      })

    const { loadGroup, toSteps } = loading(loader, toDraft)
    const sort = sorting(store, loader, indexer.settings)

    const steps = (run: FileRun, met: Set<number>) =>
      walk(run).pipe(
        Stream.chunks,
        Stream.mapEffect(sort(run, met)),
        Stream.flatMap((sorted) =>
          Stream.flatMap(Stream.fromIterable(apart(sorted)), (group) => loadGroup(group, run.within))
        )
      )

    const documentsOf = (collection: CollectionName, file: string) =>
      Stream.paginateChunkEffect(undefined as DocumentId | undefined, (after) =>
        store.documentsOf(collection, file, { limit: pageSize, after }).pipe(
          Effect.catchTag("CollectionNotFound", () => Effect.succeed([])),
          Effect.map((page) => [
            Chunk.unsafeFromArray(page),
            page.length < pageSize ? Option.none() : Option.some(page.at(-1)?.docId)
          ])
        )
      )

    const start = Effect.fnUntraced(function* <R>(
      run: FileRun,
      found: (met: Set<number>) => Stream.Stream<Step, StoreUnavailable, R>
    ) {
      const collection = run.dryRun ? undefined : yield* indexer.open(run.collection)
      const { exclude = [], include = [] } = run
      const disk = yield* Disk
      // One that is not there yet, such as a mistyped one, is not remembered: `clew update` would miss it each time.
      const there = yield* Effect.filter(run.paths, (root) =>
        Effect.match(disk.follow(root), { onFailure: (failure) => !isAbsent(failure), onSuccess: () => true })
      )
      const roots = there.map((root) => ({ path: root, include, exclude }))
      const seenBy = collection === undefined ? undefined : yield* store.beginRun(collection.name, roots)
      const given = new Set(run.paths)
      const missing = new Set<string>()
      /** Below the given paths: files that cannot be read, and folders behind a link to nothing. */
      const unreadable = new Set<string>()
      const met = new Set<number>()
      /** Prepared but not stored yet, so unknown to the store; in a dry run all that were. */
      const underWay = new Set<DocumentId>()
      /** What a dry run would have deleted, and what counts no more among a file's documents. */
      const silenced = new Set<DocumentId>()

      /** A file's documents in the store that were not met. */
      const leftIn = (file: string, met?: ReadonlySet<DocumentId>) =>
        documentsOf(run.collection, file).pipe(
          Stream.filter(({ docId }) => met?.has(docId) !== true && !silenced.has(docId))
        )

      const isRepeated = ({ draft, stored }: Compared) =>
        isRecord(draft) && Option.exists(stored, (known) => known.seenBy !== undefined && known.seenBy === seenBy)

      const knownEvents = ({ file, size }: Known) =>
        Effect.gen(function* () {
          const { outcome, path, reason = "" } = file
          if (outcome === "skipped") return [{ _tag: "Skipped", path, reason } satisfies FileEvent]
          if (outcome === "failed") return [{ _tag: "Failed", path, reason } satisfies FileEvent]
          const stale =
            run.prune && file.many && collection !== undefined
              ? yield* pruneAll(store, collection.name, [path], file.run)
              : none
          const pruned: ReadonlyArray<FileEvent> = stale.documents === 0 ? [] : [{ _tag: "Pruned", ...stale }]
          if (!run.nameUnchanged) return [unread({ file, size }), ...pruned]
          const named = Chunk.toReadonlyArray(yield* Stream.runCollect(documentsOf(run.collection, path)))
          return [...named.map(unchanged), { _tag: "FileDone", path, size } satisfies FileEvent, ...pruned]
        })

      /** Deletes, or in a dry run counts, what an earlier run stored under the source of what says nothing any more. */
      const emptied = Effect.fnUntraced(function* (source: string, isRecord: boolean) {
        const name = run.collection
        const nothing = () => Effect.succeed([])
        const found = yield* store
          .lookup(name, [{ source, derivedId: noId }])
          .pipe(Effect.catchTags({ DocumentConflict: nothing, CollectionNotFound: nothing }))
        let sum: Deleted = none
        for (const stored of found) {
          if (Option.isNone(stored)) continue
          const { docId, passages, seenBy: last } = stored.value
          if (underWay.has(docId) || silenced.has(docId) || (seenBy !== undefined && last === seenBy)) continue
          if (run.dryRun) silenced.add(docId)
          sum = run.dryRun
            ? { documents: 1, passages }
            : yield* Effect.catchTag(store.deleteDocument(name, docId), "DocumentNotFound", () => Effect.succeed(none))
        }
        // A text's records; what is named by a glob, or `C` beside `C#basics`, may have none, and must not match others.
        if (run.dryRun || isRecord || !/^[^*?[\]\\]{1,4096}\.(?:jsonl?|ndjson|ya?ml|xml|eml|mbox)$/i.test(source))
          return sum
        for (;;) {
          const step = yield* store.deleteMatching(name, { source: `${source}#*` }, pageSize)
          if (step.documents === 0) return sum
          sum = add(sum, step)
          yield* letOthersWrite
        }
      })

      /** Reports and drops drafts whose id occurred earlier in their file. */
      const toBatch = Effect.fnUntraced(function* (collected: Chunk.Chunk<Step>) {
        const { changed, done, drafts, events, missing: away, owners } = gather(collected, underWay)
        for (const path of away) (given.has(path) ? missing : unreadable).add(path)
        for (const known of collected) {
          if (known._tag !== "Known") continue
          // For ten thousand unchanged files, an effect each would cost more than checking them.
          if (isPlain(known, run)) events.push(unread(known))
          else events.push(...(yield* knownEvents(known)))
        }
        const silent = events.flatMap((event) =>
          event._tag === "Skipped" && event.source !== undefined && saysNothing.has(event.reason)
            ? [{ source: event.source, isRecord: event.source !== event.path }]
            : []
        )
        for (const { isRecord, source } of silent) {
          const pruned = yield* emptied(source, isRecord)
          if (pruned.documents > 0) events.push({ _tag: "Pruned", ...pruned })
        }
        const left = done.filter((file) => file.hasLeftovers(run.prune))
        const compared = drafts.length === 0 ? [] : yield* indexer.compare(run.collection, drafts)
        const [fresh, again] = Arr.partition(compared, isRepeated)
        for (const { draft } of again) {
          events.push(repeated(draft))
          const owner = owners.get(draft)
          if (owner !== undefined) owner.repeats++
        }
        const files =
          run.paths.length === 0
            ? []
            : [
                ...done.map((file) => file.change(indexer.settings, !left.includes(file))),
                ...changed.filter((file) => !done.includes(file)).map((file) => file.change(indexer.settings, false))
              ]
        return { compared: fresh, files, drafts, events, left, keeping: done.filter((file) => file.mayKeep(run.prune)) }
      })

      type FileBatch = Effect.Effect.Success<ReturnType<typeof toBatch>>

      /** Deletes what is left of files, except what was met. */
      const forgetIn = (paths: ReadonlyArray<string>, met?: ReadonlySet<DocumentId>) =>
        collection === undefined || seenBy === undefined
          ? Effect.map(
              Effect.forEach(paths, (path) =>
                Stream.runFold(leftIn(path, met), none, (sum, { passages }) => add(sum, { documents: 1, passages }))
              ),
              (each) => each.reduce(add, none)
            )
          : pruneAll(store, collection.name, paths, seenBy)

      /** Deletes what files no longer contain, and only then records them as read. */
      const cleanUp = Effect.fnUntraced(function* (files: ReadonlyArray<Reading>) {
        let sum = none
        const named: Array<FileEvent> = []
        for (const file of files) {
          const { isVoid: reason, met, path } = file
          const deleted = yield* forgetIn([path], met)
          sum = add(sum, deleted)
          if (run.holdLosses && reason !== undefined && deleted.documents > 0) {
            named.push({ _tag: "Lost", path, reason, documents: deleted.documents })
          }
          if (collection === undefined) continue
          yield* store.touch(collection.name, [], seenBy, [file.change(indexer.settings, true)])
        }
        return { deleted: sum, named }
      })

      const keptOf = Effect.fnUntraced(function* ({ documents, met, path, repeats }: Reading) {
        const stored = yield* Stream.runCount(leftIn(path, met))
        return {
          _tag: "Kept",
          path,
          documents: met === undefined ? stored - documents + repeats : stored
        } satisfies FileEvent
      })

      /** The outcome of a batch, once it is stored. */
      const settle = Effect.fnUntraced(function* (
        { compared, drafts, events, keeping, left }: FileBatch,
        indexed: ReadonlyArray<IndexedDocument>
      ) {
        for (const { derivedId } of run.dryRun ? [] : drafts) underWay.delete(derivedId)
        const { deleted, named } = yield* cleanUp(left)
        const kept = yield* Effect.forEach(keeping, keptOf)
        return Chunk.unsafeFromArray<FileEvent>([
          ...indexed.map((document, index): FileEvent => ({
            _tag: "Indexed",
            document,
            characters: compared[index]!.draft.content.length
          })),
          ...events,
          ...kept.filter(({ documents }) => documents > 0),
          ...named,
          ...(deleted.documents === 0 ? [] : [{ _tag: "Pruned", ...deleted } satisfies FileEvent])
        ])
      })

      const forget = Effect.fnUntraced(function* (files: Chunk.Chunk<Lost>) {
        const forgotten = yield* forgetIn(Chunk.toReadonlyArray(files).map(({ path }) => path))
        if (!run.dryRun) yield* letOthersWrite
        return { _tag: "Pruned", ...forgotten } satisfies FileEvent
      })

      /** At the end: what was indexed before and was not met. */
      const ending = Stream.suspend(() => {
        const losses = {
          collection: run.collection,
          paths: run.paths,
          include,
          number: seenBy,
          met,
          missing,
          unreadable
        }
        if (run.prune && run.holdLosses) return holdingLosses(store, losses, forget)
        const files = lost(store, losses)
        return run.prune
          ? Stream.mapEffect(Stream.grouped(files, 100), forget)
          : files.pipe(
              Stream.filter(({ documents }) => documents > 0),
              Stream.map((file): FileEvent => ({ _tag: "Lost", ...file }))
            )
      })

      return found(met).pipe(
        Stream.aggregate(toBatches(collection)),
        Stream.mapEffect(toBatch),
        indexer.through(collection, seenBy),
        Stream.mapEffect(({ batch, indexed }) => settle(batch, indexed)),
        Stream.flattenChunks,
        Stream.concat(run.paths.length === 0 ? Stream.empty : ending)
      )
    })

    /** Indexes texts that are in no file, each read when its turn comes; without a name, its content identifies it. */
    const runTexts = <R>(inputs: Stream.Stream<Text, never, R>, run: Pick<FileRun, "collection" | "dryRun">) => {
      const stepsOf = ({ bytes, isPiped = false, name }: Text) => {
        const path = name ?? "stdin"
        const file = new Reading(path, bytes.length, run.dryRun ? new Set() : undefined, true)
        if (!isPiped || isBlank(bytes)) file.source = name
        return toSteps(file, loader.fromText({ name: path, bytes }), (loaded) => toDraft(name, undefined, loaded))
      }
      return Stream.unwrap(start({ ...run, paths: [], prune: false }, () => Stream.flatMap(inputs, stepsOf)))
    }

    return {
      /** Fails only if nothing can go on; a problem with a file is an event. */
      run: (given: FileRun) => {
        const run = { ...given, paths: given.paths.map((root) => path.resolve(root)) }
        return Stream.unwrap(start(run, (met) => steps(run, met)))
      },
      runTexts
    }
  })
}) {}
