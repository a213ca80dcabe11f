import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Loader } from "../Loader.ts"
import type { CollectionName } from "../../model/Collection.ts"
import { isProof, type KnownFile, sameStamp } from "../../model/File.ts"
import type { Store } from "../../Store.ts"
import type { WalkEvent } from "../WalkEvent.ts"
import type { Numbers } from "./lost.ts"
import { Reading, type Step } from "./steps.ts"

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

  return (run: Run, met: Numbers) =>
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
        const { path, size, stamp } = event
        const before = known.get(path)
        if (before !== undefined) met.add(before.id)
        if (before?.stamp !== undefined && !run.rehash && sameStamp(before.stamp, stamp) && isCurrent(before)) {
          return { _tag: "Known", file: before, size }
        }
        const proof = isProof(stamp, now) ? stamp : undefined
        return new Reading({ path, size, stamp: proof, known: before, dryRun: run.dryRun })
      })
    })
}

/** What is processed together: files that need no reading, some small files, or a large one that is streamed. */
export type Group =
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
