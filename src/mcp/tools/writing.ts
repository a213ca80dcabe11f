import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { realpathSync } from "node:fs"
import * as path from "node:path"
import { bounded, boundedSource } from "../../citations/line.ts"
import { skipsText } from "../../files/FileEvent.ts"
import { FileIndexer, type FileRun } from "../../files/FileIndexer.ts"
import { Tally } from "../../files/Tally.ts"
import { isBelow } from "../../files/below.ts"
import { alike, withoutGone } from "../../files/roots.ts"
import { CollectionName, defaultCollection } from "../../model/Collection.ts"
import { DocumentId, Source } from "../../model/Document.ts"
import { mustHaveLength } from "../../model/kinds.ts"
import { isoTime } from "../../model/SearchResult.ts"
import { Store } from "../../Store.ts"
import { refuse } from "../RpcError.ts"
import { type Call, make, mostItems } from "../Tool.ts"
import { defaultMaxTokens, described, fitting, guard, plural, quote } from "./answers.ts"
import { findDocument } from "./getDocument.ts"
import { whileProgressing } from "./indexDocuments.ts"
import { attempt } from "../../model/attempt.ts"

/** A path without links and in its true case; undefined if there is nothing. */
const realOf = (file: string): string | undefined => attempt(() => realpathSync.native(file))

const realFolders = (folders: ReadonlyArray<string>): ReadonlyArray<string> =>
  folders.flatMap((folder) => realOf(folder) ?? [])

const named = (folders: ReadonlyArray<string>): string => folders.map((folder) => JSON.stringify(folder)).join(", ")

/** The path, if what it leads to is in one of the folders that the user allows; as it is written if that is in one too. */
const allowed = (argument: string, given: string, folders: ReadonlyArray<string>) =>
  Effect.suspend(() => {
    const shown = JSON.stringify(boundedSource(given))
    const outside = () =>
      refuse(
        argument,
        `${argument}: ${shown} is outside the folders that may be written to the index: ${named(folders)}; the user can allow another with --allow-write`
      )
    if (!path.isAbsolute(given) && folders.length !== 1) {
      return refuse(argument, `${argument}: ${shown} must be an absolute path, in one of ${named(folders)}`)
    }
    const whole = path.resolve(folders[0] ?? "/", given)
    const real = realOf(whole)
    const isNamed = isBelow(whole, folders)
    if (real === undefined) {
      return isNamed
        ? refuse(
            argument,
            `${argument}: there is no file or folder ${JSON.stringify(boundedSource(whole))}; sync removes documents whose files are gone from an indexed folder, delete_document those of a path that was indexed itself`
          )
        : outside()
    }
    return isBelow(real, realFolders(folders)) ? Effect.succeed(isNamed ? whole : real) : outside()
  })

/** Most documents and failures that are kept to be named. */
const mostNamed = 1000

/** Paths named of which nothing was forgotten, or which are not there. */
const mostHeld = 5

const progressEvery = 1000

/** Runs over files, and what they did, told to the client as they go. */
const running = Effect.fnUntraced(function* (runs: ReadonlyArray<FileRun>, { progress }: Call) {
  const files = yield* FileIndexer
  const tally = new Tally()
  const documents: Array<Readonly<Record<"doc_id" | "source" | "status", string>> & { readonly chunks: number }> = []
  const held: Array<string> = []
  let reportedAt = 0
  yield* whileProgressing((reported) =>
    Effect.forEach(
      runs,
      (run) =>
        Stream.runForEach(files.run(run), (event) =>
          Effect.gen(function* () {
            reported()
            tally.add(event)
            if (event._tag === "Held") held.push(event.path)
            if (event._tag === "Indexed" && event.document.status !== "unchanged" && documents.length < mostNamed) {
              const { docId, passages, source = docId, status } = event.document
              documents.push({ doc_id: docId, source: boundedSource(source), status, chunks: passages })
            }
            const now = yield* Clock.currentTimeMillis
            if (now - reportedAt < progressEvery) return
            reportedAt = now
            yield* progress(tally.documents, undefined, `Looked at ${plural(tally.documents, "document")}`)
          })
        ),
      { discard: true }
    )
  )
  return { counts: tally.counts, documents, held, indexed_at: isoTime(yield* Clock.currentTimeMillis) }
})

/** The answer to a run. */
const answerOf = Effect.fnUntraced(function* (
  done: Effect.Effect.Success<ReturnType<typeof running>>,
  more: ReadonlyArray<string> = []
) {
  const { counts, documents, held, indexed_at } = done
  const { created, deleted_chunks, deleted_documents, failed: failures, skipped, unchanged, updated } = counts
  const failed = counts.failed_files
    .slice(0, mostNamed)
    .map(({ path, reason }) => ({ path: boundedSource(path), reason: bounded(reason) }))
  const opening = [
    `${created} new, ${updated} changed, ${unchanged} unchanged ${unchanged === 1 ? "document" : "documents"}; ${plural(deleted_documents, "document")} with ${plural(deleted_chunks, "passage")} removed; ${plural(skipped, "file")} skipped${skipped === 0 ? "" : ` (${bounded(skipsText(counts.skipped_by_reason))})`}, ${failures} failed.`,
    ...(created + updated > 0 ? ["They can be searched now."] : []),
    ...(failures > 0 ? ["What failed was not changed in the index: make it readable, and index it again."] : []),
    ...(held.length > 0
      ? [
          `More than half of the files below ${named(held.slice(0, mostHeld).map((path) => boundedSource(path)))} are gone, so nothing was removed there: if that is meant, the user runs clew update --prune.`
        ]
      : []),
    ...more
  ].join(" ")
  const lines = [
    ...failed.map((each) => `failed: ${each.path}: ${each.reason}`),
    ...documents.map(({ chunks, source, status }) => `${status}: ${source} (${plural(chunks, "passage")})`)
  ]
  return yield* fitting(
    [...failed, ...documents].map((structured, at) => ({ structured, text: [lines[at]!] })),
    defaultMaxTokens,
    "the answer",
    (shown) => {
      const left = created + updated + failures - shown
      const notice = lines.length === 0 ? opening : `${opening} ${guard}`
      return {
        structured: {
          notice,
          created,
          updated,
          unchanged,
          deleted_documents,
          deleted_chunks,
          skipped,
          indexed_at,
          documents: documents.slice(0, Math.max(0, shown - failed.length)),
          failed: failed.slice(0, shown),
          omitted: left || undefined
        },
        text: [
          [
            notice,
            ...(shown === 0 ? [] : [quote(lines.slice(0, shown))]),
            ...(left === 0 ? [] : [`And ${left} more.`])
          ].join("\n")
        ]
      }
    },
    { least: 0 }
  )
})

export const indexPaths = make({
  name: "index_paths",
  title: "Index files",
  description: ({ writePaths }) =>
    `Index files and folders, or index them again after a change, so that search finds them. Only in ${named(writePaths)}${writePaths.length === 1 ? ", from which relative paths count" : "; absolute paths"}.`,
  input: Schema.Struct({
    paths: Schema.Array(
      Schema.String.pipe(Schema.minLength(1), Schema.maxLength(4096)).annotations({
        message: mustHaveLength("a path", 4096)
      })
    ).pipe(Schema.minItems(1), Schema.maxItems(mostItems), Schema.annotations({ description: "Files and folders" })),
    collection: Schema.optional(described(CollectionName, "Created if new"))
  }),
  writes: true,
  run: ({ collection = defaultCollection, paths }, { writePaths }, call) =>
    Effect.gen(function* () {
      const places = yield* Effect.forEach(paths, (given, at) => allowed(`paths[${at}]`, given, writePaths))
      const run = { paths: places, collection, prune: false, dryRun: false, within: realFolders(writePaths) }
      return yield* answerOf(yield* running([run], call))
    })
})

export const sync = make({
  name: "sync",
  title: "Bring the index up to date",
  description: ({ writePaths }) =>
    `Index again what was indexed from ${named(writePaths)} and has changed there, and remove documents whose files are gone.`,
  input: Schema.Struct({ collection: Schema.optional(described(CollectionName, "Default: all")) }),
  writes: true,
  run: ({ collection }, { writePaths }, call) =>
    Effect.gen(function* () {
      const store = yield* Store
      const names = collection === undefined ? (yield* store.collections).map(({ name }) => name) : [collection]
      const within = realFolders(writePaths)
      const roots = (yield* Effect.forEach(names, (name) =>
        Effect.map(store.roots(name), (roots) => roots.map((root) => ({ ...root, name })))
      )).flat()
      // One that is gone is kept as it was, as by clew update.
      const own = roots.filter((root) => isBelow(realOf(root.path) ?? root.path, [...within, ...writePaths]))
      if (own.length === 0) {
        return yield* refuse("collection", `nothing was indexed from ${named(writePaths)} yet: index_paths does that`)
      }
      const runs: Array<FileRun> = []
      const gone: Array<string> = []
      for (const group of Object.values(Arr.groupBy(own, ({ name }) => name)).flatMap(alike)) {
        const [{ exclude, include, name }] = group
        const all = group.map((root) => root.path)
        const paths = all.filter((root) => isBelow(realOf(root) ?? "", within))
        gone.push(...withoutGone(all, paths).filter((root) => !paths.includes(root)))
        if (paths.length === 0) continue
        runs.push({ paths, collection: name, include, exclude, prune: true, holdLosses: true, dryRun: false, within })
      }
      return yield* answerOf(yield* running(runs, call), [
        ...(gone.length === 0
          ? []
          : [
              `${plural(gone.length, "path that was indexed is", "paths that were indexed are")} not there now (${named(gone.slice(0, mostHeld).map((path) => boundedSource(path)))}${gone.length > mostHeld ? ", …" : ""}): the documents were kept; delete_document removes one, and the user all of a path with clew delete PATH.`
            ]),
        ...(roots.length === own.length
          ? []
          : [`${plural(roots.length - own.length, "other path was", "other paths were")} not looked at: not allowed.`])
      ])
    })
})

export const deleteDocument = make({
  name: "delete_document",
  title: "Remove a document",
  description: () => "Delete one document from the index, only when the user asks for it; its file stays.",
  input: Schema.Struct({
    source: Schema.optional(described(Source, "The whole source")),
    docId: Schema.optional(described(DocumentId, "Instead of source")).pipe(Schema.fromKey("doc_id")),
    collection: Schema.optional(described(CollectionName, "If several have it"))
  }),
  writes: true,
  run: (by, { writePaths }) =>
    Effect.gen(function* () {
      const { collection, document } = yield* findDocument(by)
      const { docId, file, source = docId } = document
      const shown = boundedSource(source)
      if (by.source !== undefined && by.source !== source && by.source !== docId) {
        return yield* refuse("source", `source: to delete it, give the whole source: ${JSON.stringify(shown)}`)
      }
      const place = file?.path ?? (path.isAbsolute(source) ? source : undefined)
      if (
        place !== undefined &&
        !isBelow(realOf(place) ?? path.resolve(place), [...realFolders(writePaths), ...writePaths])
      ) {
        return yield* refuse(
          "source",
          `source: ${JSON.stringify(shown)} is outside the folders that may be written to the index: ${named(writePaths)}; the user deletes it with clew delete`
        )
      }
      const store = yield* Store
      const deleted = yield* store
        .deleteDocument(collection, docId)
        .pipe(
          Effect.catchTag("DocumentNotFound", () =>
            refuse("source", `source: ${JSON.stringify(shown)} has just been deleted`)
          )
        )
      // A path that was indexed by itself is forgotten with its last document, or sync would bring it back, or miss it.
      if (file !== undefined && (yield* store.filesBelow(collection, file.path, { limit: 1 })).length === 0) {
        yield* store.prune(collection, [file.path])
      }
      const notice = `Deleted ${JSON.stringify(shown)} with ${plural(deleted.passages, "passage")} from collection ${collection}. Its file, if it has one, stays: index_paths indexes it again, and sync if its folder, or the file that it is a record of, was indexed.`
      return {
        structured: { notice, doc_id: docId, source: shown, collection, deleted_chunks: deleted.passages },
        text: [notice]
      }
    })
})
