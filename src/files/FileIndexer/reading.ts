import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Sink from "effect/Sink"
import * as Stream from "effect/Stream"
import { isQuick, large } from "../../Indexer.ts"
import type { Store } from "../../Store.ts"
import type { Collection, CollectionName } from "../../model/Collection.ts"
import type { DocumentId } from "../../model/Document.ts"
import type { Draft } from "../../model/Draft.ts"
import { type FileChange, type FileStamp, isProof, type KnownFile, sameStamp } from "../../model/File.ts"
import type { FileEvent } from "../FileEvent.ts"
import type { Loaded, LoadedDocument, Loader, Unreadable, Unsupported } from "../Loader.ts"
import type { WalkEvent } from "../WalkEvent.ts"

/** A file being read, and the results so far. */
export class Reading {
  reader: string | undefined
  documents = 0
  /** Of these, records whose id occurred earlier. */
  repeats = 0
  many = false
  /** Its first problem; the rest of it may have been read. */
  failure: string | undefined
  isUnreadable = false
  /** Its problem is a limit: it need not be read again before it or the limit changes. */
  isLimited = false
  /** Why none of it is read. */
  isVoid: string | undefined
  /** The source of a text that is in no file; what is stored under it goes if the text is void. */
  source: string | undefined

  constructor(
    readonly path: string,
    readonly size: number,
    /** The ids of its documents, only in a dry run: a real one marks documents in the store. */
    readonly met: Set<DocumentId> | undefined,
    /** Whether it is read even if it is only of use to programs. */
    readonly isNamed: boolean,
    /** Undefined if it proves nothing, or if there is no file. */
    public stamp?: FileStamp,
    readonly known?: KnownFile
  ) {}

  /** The record to keep of it: complete once it is done, else marked as unfinished. */
  change(settings: string, isDone: boolean): FileChange {
    // Until it is complete, documents that an earlier run stored may still be there.
    const before = isDone && this.failure === undefined ? undefined : this.known
    return {
      path: this.path,
      stamp: this.failure === undefined || this.isLimited ? this.stamp : undefined,
      reader: this.reader,
      settings,
      outcome: !isDone
        ? "unfinished"
        : this.failure !== undefined
          ? "failed"
          : this.isVoid !== undefined
            ? "skipped"
            : "indexed",
      reason: this.failure ?? this.isVoid,
      documents: Math.max(this.documents - this.repeats, before?.documents ?? 0),
      many: before?.many ?? this.many,
      expected: this.known?.run
    }
  }

  /** Whether documents that it no longer contains may be left; of records, `prune` decides. */
  hasLeftovers(prune: boolean): boolean {
    if (this.known === undefined || this.known.documents === 0 || this.failure !== undefined) return false
    return this.isVoid !== undefined || this.known.many !== this.many || (prune && this.many)
  }

  /** Whether records that it no longer contains may be kept: a file that broke off while it was written must not lose them. */
  mayKeep(prune: boolean): boolean {
    return this.many && this.known !== undefined && this.failure === undefined && !this.hasLeftovers(prune)
  }
}

/** An event of a run on its way through the files. */
export type Step =
  | { readonly _tag: "Draft"; readonly draft: Draft; readonly file: Reading }
  | { readonly _tag: "Rejected"; readonly file: Reading; readonly line: number; readonly reason: string }
  /** The end of a file. */
  | { readonly _tag: "Read"; readonly file: Reading }
  | { readonly _tag: "Known"; readonly file: KnownFile; readonly size: number }
  | FileEvent

/** A batch where it is embedding that takes the time: large enough to be fast, small enough to stop soon. */
const smaller = { documents: 128, characters: 512 * 1024 }

/** Each batch is one transaction. */
export const toBatches = (collection: Collection | undefined) => {
  const { characters, documents } = collection !== undefined && isQuick(collection) ? large : smaller
  const least = characters / documents
  // Of unchanged files, which are only marked, a batch has eight times as many.
  const weigh = (step: Step): number =>
    step._tag === "Known" ? least / 8 : Math.max(least, step._tag === "Draft" ? step.draft.content.length : 0)
  return Sink.foldWeighted<Chunk.Chunk<Step>, Step>({
    initial: Chunk.empty(),
    maxCost: characters,
    cost: (_, step) => weigh(step),
    body: Chunk.append
  })
}

interface Run {
  readonly collection: CollectionName
  readonly dryRun: boolean
  readonly rehash?: boolean | undefined
}

/**
 * Decides which files of a walk to read: those that changed or failed, or that other formats or settings have read. A
 * file beyond a limit is read again once the limits are others.
 */
export const sorting = (store: typeof Store.Service, loader: typeof Loader.Service, today: string) => {
  const isCurrent = ({ documents, outcome, reader, settings }: KnownFile): boolean =>
    reader !== undefined &&
    loader.isCurrent(reader) &&
    (outcome === "skipped" ||
      (outcome === "indexed" && settings === today) ||
      (outcome === "failed" && reader === loader.limited && (documents === 0 || settings === today)))

  return (run: Run, met: Set<number>) =>
    Effect.fnUntraced(function* (events: Chunk.Chunk<WalkEvent>) {
      const paths = Chunk.toReadonlyArray(events).flatMap((event) => (event._tag === "File" ? [event.path] : []))
      const found =
        paths.length === 0
          ? []
          : yield* Effect.catchTag(store.knownFiles(run.collection, paths), "CollectionNotFound", () =>
              Effect.succeed([])
            )
      const known = new Map(found.map((file) => [file.path, file]))
      const now = yield* Clock.currentTimeMillis
      return Chunk.map(events, (event): Step | Reading => {
        if (event._tag === "Skipped") return event
        if (event._tag !== "File") return { _tag: "Failed", path: event.path, reason: event.reason }
        const { isNamed, path, stamp } = event
        const { size } = stamp
        const before = known.get(path)
        if (before !== undefined) met.add(before.id)
        const isSame = before?.stamp !== undefined && !run.rehash && sameStamp(before.stamp, stamp)
        if (isSame && isCurrent(before) && !(isNamed && before.outcome === "skipped")) {
          return { _tag: "Known", file: before, size }
        }
        const proof = isProof(stamp, now) ? stamp : undefined
        return new Reading(path, size, run.dryRun ? new Set() : undefined, isNamed, proof, before)
      })
    })
}

/** What is processed together: files that need no reading, some small files, or a large one that is streamed. */
type Group =
  | { readonly _tag: "Steps"; readonly steps: ReadonlyArray<Step> }
  | { readonly _tag: "Small"; readonly files: ReadonlyArray<Reading> }
  | { readonly _tag: "Large"; readonly file: Reading }

/** Largest file, in bytes, that is read at once, and how many of them are held together. */
const small = { bytes: 64 * 1024, files: 32 }

/** Splits a stretch of a walk into groups, in order. */
export const apart = (sorted: Iterable<Step | Reading>): ReadonlyArray<Group> => {
  const groups: Array<Group> = []
  let steps: Array<Step> = []
  let files: Array<Reading> = []
  const close = () => {
    if (steps.length > 0) groups.push({ _tag: "Steps", steps })
    if (files.length > 0) groups.push({ _tag: "Small", files })
    steps = []
    files = []
  }
  for (const each of sorted) {
    const isRead = each instanceof Reading
    if (isRead ? steps.length > 0 || files.length === small.files : files.length > 0) close()
    if (!isRead) steps.push(each)
    else if (each.size <= small.bytes) files.push(each)
    else {
      close()
      groups.push({ _tag: "Large", file: each })
    }
  }
  close()
  return groups
}

/** The folders that may be read; all if undefined. */
type Within = ReadonlyArray<string> | undefined

/** Reads files into steps, in order; a problem with a file ends only that file. */
export const loading = (
  loader: typeof Loader.Service,
  toDraft: (name: string | undefined, origin: string | undefined, loaded: LoadedDocument) => Draft
) => {
  const limit = (file: Reading) => {
    file.isLimited = true
    file.reader = loader.limited
  }

  /** Records why a file failed, and ends it. */
  const broken =
    (file: Reading) =>
    (error: Unreadable | Unsupported): Step => {
      if (error._tag === "Unsupported" && error.isLimit !== true) {
        file.isVoid = error.reason
        file.reader = loader.unsupported
      } else {
        file.failure = error.reason
        file.isUnreadable = true
        if (error._tag === "Unsupported") limit(file)
      }
      return { _tag: "Read", file }
    }

  const stepOf = (file: Reading, loaded: Loaded, draftOf: (loaded: LoadedDocument) => Draft): Step | undefined => {
    if (loaded._tag === "Loaded") {
      if (loaded.aside === undefined || loaded.record !== undefined || file.isNamed) {
        return { _tag: "Draft", draft: draftOf(loaded), file }
      }
      file.isVoid = loaded.aside
      return undefined
    }
    if (loaded.isEmpty === true) {
      const source = loaded.record === undefined ? file.path : `${file.path}#${loaded.record}`
      return { _tag: "Skipped", path: `${file.path}:${loaded.line}`, reason: loaded.reason, source }
    }
    if (loaded.isLimit === true) limit(file)
    return { _tag: "Rejected", file, line: loaded.line, reason: loaded.reason }
  }

  const toSteps = <R>(
    file: Reading,
    documents: Stream.Stream<Loaded, Unreadable | Unsupported, R>,
    draftOf: (loaded: LoadedDocument) => Draft
  ) =>
    documents.pipe(
      Stream.filterMap((loaded) => Option.fromNullable(stepOf(file, loaded, draftOf))),
      Stream.concat(Stream.succeed<Step>({ _tag: "Read", file })),
      Stream.catchAll((error) => Stream.succeed(broken(file)(error)))
    )

  const documentsIn = Effect.fnUntraced(function* (file: Reading, within: Within) {
    const { read, stamp } = yield* loader.open(file.path, within)
    // Another file than the one that was looked at; that one may come back.
    if (file.stamp !== undefined && !sameStamp(file.stamp, stamp)) file.stamp = undefined
    const { documents, reader } = yield* read
    file.reader = reader
    return documents
  })

  const load = (file: Reading, within: Within): Stream.Stream<Step> =>
    toSteps(file, Stream.unwrapScoped(documentsIn(file, within)), (loaded) => toDraft(file.path, file.path, loaded))

  /** Reads a small file at once: streaming it would cost more than reading it. */
  const loadSmall = (file: Reading, within: Within): Effect.Effect<ReadonlyArray<Step>> => {
    const steps: Array<Step> = []
    const keep = (loaded: Loaded) =>
      Effect.sync(() => {
        const step = stepOf(file, loaded, (read) => toDraft(file.path, file.path, read))
        if (step !== undefined) steps.push(step)
      })
    return Effect.flatMap(documentsIn(file, within), Stream.runForEach(keep)).pipe(
      Effect.scoped,
      Effect.match({
        onFailure: broken(file),
        onSuccess: (): Step => ({ _tag: "Read", file })
      }),
      Effect.map((end) => [...steps, end])
    )
  }

  const loadGroup = (group: Group, within: Within): Stream.Stream<Step> => {
    if (group._tag === "Steps") return Stream.fromIterable(group.steps)
    if (group._tag === "Large") return load(group.file, within)
    return Stream.fromIterableEffect(
      Effect.map(
        Effect.forEach(group.files, (file) => loadSmall(file, within), { concurrency: 4 }),
        (each) => each.flat()
      )
    )
  }

  return { loadGroup, toSteps }
}

/** A record whose id occurred earlier in its file, or a file that is named like a record of another. */
export const repeated = (draft: Draft): FileEvent => ({
  _tag: "Failed",
  path: draft.origin ?? "",
  line: draft.line,
  reason:
    draft.source === draft.origin
      ? "a record of another file has this file's name as its source; the record is kept: rename the file to have it indexed"
      : `the id of ${draft.source} occurs earlier in the file; the first one is kept`
})

const ended = ({ failure, isUnreadable, isVoid, path, size, source }: Reading): FileEvent =>
  isUnreadable
    ? { _tag: "Failed", path, reason: failure ?? "unreadable" }
    : isVoid === undefined
      ? { _tag: "FileDone", path, size }
      : { _tag: "Skipped", path, reason: isVoid, source }

/** Sorts a batch of steps by kind; reports and drops drafts whose id is already in progress. */
export const gather = (steps: Iterable<Step>, underWay: Set<DocumentId>) => {
  const events: Array<FileEvent> = []
  const drafts: Array<Draft> = []
  /** Files with documents in the batch. */
  const changed = new Set<Reading>()
  const done: Array<Reading> = []
  /** The files of records. */
  const owners = new Map<Draft, Reading>()
  /** Paths that do not exist, so nothing is known of their files. */
  const missing: Array<string> = []
  for (const step of steps) {
    switch (step._tag) {
      case "Draft": {
        const { draft, file } = step
        file.documents++
        file.many ||= draft.line !== undefined
        file.met?.add(draft.derivedId)
        if (draft.origin !== undefined) changed.add(file)
        if (underWay.has(draft.derivedId)) {
          file.repeats++
          events.push(repeated(draft))
          break
        }
        if (file.many) owners.set(draft, file)
        underWay.add(draft.derivedId)
        drafts.push(draft)
        break
      }
      case "Rejected": {
        const { file, line, reason } = step
        file.failure ??= `line ${line}: ${reason}`
        events.push({ _tag: "Failed", path: file.path, line, reason })
        break
      }
      case "Read": {
        done.push(step.file)
        if (step.file.isUnreadable) missing.push(step.file.path)
        events.push(ended(step.file))
        break
      }
      case "Known":
        break
      default:
        if (step._tag === "Failed") missing.push(step.path)
        events.push(step)
    }
  }
  return { events, drafts, changed: [...changed], done, missing, owners }
}
