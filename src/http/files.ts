import * as FileSystem from "@effect/platform/FileSystem"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { open, readFile, unlink } from "node:fs/promises"
import { join } from "node:path"
import { Api } from "../api/Api.ts"
import { badField } from "../api/errors.ts"
import { exportType, type FilesResponse, type ImportResponse } from "../api/Files.ts"
import { current, mustUse } from "../Caller.ts"
import { LimitsConfig, ServerConfig } from "../Config.ts"
import { FileIndexer } from "../files/FileIndexer.ts"
import { Tally } from "../files/Tally.ts"
import { CollectionName, defaultCollection, nameRule } from "../model/Collection.ts"
import { Source } from "../model/Document.ts"
import { UpkeepStore } from "../Store.ts"
import { temporaryOf } from "../runtime/partial.ts"
import { linesOf } from "../upkeep/exportLines.ts"
import { Transfer } from "../upkeep/Transfer.ts"
import { bodyStream } from "./body.ts"
import { cannotKeep, type Form, type FormFile, readForm } from "./form.ts"
import { Jobs, type Told } from "./Jobs.ts"
import * as metrics from "./metrics.ts"

const isSource = Schema.is(Source)
const isCollection = Schema.is(CollectionName)

/** The source of a file with this name, or why it is refused: a name is data, and leads out of no folder. */
export const sourceOf = (prefix: string, name: string): Either.Either<string, string> => {
  if (name === "") return Either.left("it has no name")
  const source = prefix === "" ? name : `${prefix.replace(/(?<!\/)\/+$/, "")}/${name}`
  if ([prefix, name].some((each) => /^(?:[/\\]|[a-z]:[/\\])/i.test(each))) {
    return Either.left("its name is an absolute path; name it relative to a folder")
  }
  if (source.split(/[/\\]/).includes("..")) return Either.left("its name leads out of its folder with ..")
  // oxlint-disable-next-line no-control-regex
  if (/[\x00-\x1f\x7f]/.test(source)) return Either.left("its name has a control character")
  return isSource(source) ? Either.right(source) : Either.left("its name is longer than 4096 characters or not Unicode")
}

const knownFields: ReadonlyArray<string> = ["collection", "prefix"]

const exportTypes = [exportType, "application/jsonl", "application/gzip", "application/x-gzip"]

/** Documents, skipped and failed files that a response names. */
const mostNamed = 1000

/** What an export may unpack to, as a multiple of the largest body: text with vectors shrinks to a third or so. */
const mostUnpacked = 32

/** A folder of its own, deleted with the scope. */
const folder = (kind: string) =>
  Effect.flatMap(FileSystem.FileSystem, (fs) =>
    Effect.mapError(fs.makeTempDirectoryScoped({ prefix: temporaryOf(kind) }), cannotKeep)
  )

/** An open file, closed with the scope. */
const opened = (...how: Parameters<typeof open>) =>
  Effect.acquireRelease(Effect.tryPromise({ try: () => open(...how), catch: cannotKeep }), (file) =>
    Effect.promise(() => file.close())
  )

/** Receives what the work needs, and hands it on with what deletes it. */
const receiving = <A, E, R, B, E2, R2>(
  receive: Effect.Effect<A, E, R | Scope.Scope>,
  use: (received: A, release: Effect.Effect<void>) => Effect.Effect<B, E2, R2>
) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const release = Scope.close(scope, Exit.void)
      const received = yield* Effect.onError(restore(Scope.extend(receive, scope)), () => release)
      return yield* use(received, release)
    })
  )

export const layer = HttpApiBuilder.group(Api, "files", (handlers) =>
  Effect.gen(function* () {
    const jobs = yield* Jobs
    const files = yield* FileIndexer
    const transfer = yield* Transfer
    const upkeep = yield* UpkeepStore
    const fs = yield* FileSystem.FileSystem
    const { maxBodyBytes } = yield* ServerConfig
    const { maxBatch } = yield* LimitsConfig

    const checked = Effect.fnUntraced(function* ({ fields, files }: Form) {
      for (const name of fields.keys()) {
        if (!knownFields.includes(name)) {
          return yield* badField(
            name.slice(0, 60),
            `${name.slice(0, 60)} is unknown; beside files a form has ${knownFields.join(", ")}`
          )
        }
      }
      if (files.length === 0) return yield* badField("file", "the form has no file: send at least one, with its name")
      const collection = fields.get("collection") ?? defaultCollection
      if (!isCollection(collection)) {
        return yield* badField("collection", nameRule)
      }
      yield* mustUse(yield* FiberRef.get(current), collection)
      const prefix = fields.get("prefix") ?? ""
      if (prefix !== "") yield* Effect.mapError(sourceOf("", prefix), (reason) => badField("prefix", reason))
      return { collection, prefix }
    })

    const index = (received: ReadonlyArray<FormFile>, collection: CollectionName, prefix: string, told: Told) =>
      Effect.gen(function* () {
        const started = yield* Clock.currentTimeMillis
        const tally = new Tally()
        const documents: Array<FilesResponse["documents"][number]> = []
        const skipped: Array<FilesResponse["skipped"][number]> = []
        const failed: Array<FilesResponse["failed"][number]> = []
        let omitted = 0
        let done = 0
        const name = <A>(list: Array<A>, one: A) => {
          if (list.length < mostNamed) list.push(one)
          else omitted++
        }
        const total = received.length
        const finish = Effect.suspend(() => told({ done: ++done, total, unit: "files" }))
        const named = received.map((file) => ({ ...file, source: sourceOf(prefix, file.name) }))
        for (const { name: given, source } of named) {
          if (Either.isRight(source)) continue
          name(failed, { source: given.slice(0, 4096), reason: source.left })
          yield* finish
        }
        const texts = Stream.fromIterable(named).pipe(
          Stream.filterMap(({ path, source }) => Option.map(Either.getRight(source), (source) => ({ path, source }))),
          Stream.mapEffect(({ path, source }) =>
            Effect.promise(async () => {
              const bytes = await readFile(path)
              await unlink(path)
              return { name: source, bytes }
            })
          )
        )
        yield* Stream.runForEach(files.runTexts(texts, { collection, dryRun: false }), (event) => {
          tally.add(event)
          switch (event._tag) {
            case "Indexed": {
              const { docId, passages, source, status } = event.document
              name(documents, { doc_id: docId, source, status, chunks: passages })
              return Effect.void
            }
            case "FileDone":
              return finish
            case "Skipped":
              name(skipped, { source: event.path, reason: event.reason })
              return finish
            case "Failed":
              name(failed, {
                source: event.line === undefined ? event.path : `${event.path}:${event.line}`,
                reason: event.reason
              })
              return event.line === undefined ? finish : Effect.void
            default:
              return Effect.void
          }
        })
        const { chunks, created, unchanged, updated } = tally.counts
        yield* metrics.indexed({ documents, chunks })
        return {
          indexed: created + updated,
          unchanged,
          chunks,
          documents,
          skipped,
          failed,
          omitted: omitted || undefined,
          index_time_ms: (yield* Clock.currentTimeMillis) - started
        } satisfies FilesResponse
      })

    const take = (path: string, told: Told) =>
      Effect.gen(function* () {
        const started = yield* Clock.currentTimeMillis
        const file = yield* opened(path)
        let total: number | undefined
        /** Read twice: the first time it is counted. The first line and the last are no documents. */
        const lines = Stream.suspend(() => {
          let seen = 0
          const isSecond = total !== undefined
          return Stream.fromAsyncIterable(linesOf(file, mostUnpacked * maxBodyBytes, maxBodyBytes), (error) =>
            badField("", `the export cannot be read: ${(error as Error).message}`)
          ).pipe(
            Stream.tap(() => {
              seen++
              return isSecond && seen % 100 === 0
                ? told({ done: seen - 1, total: Math.max(0, total! - 2), unit: "documents" })
                : Effect.void
            }),
            Stream.ensuring(Effect.sync(() => (total ??= seen)))
          )
        })
        const { documents, passages, skipped, unchanged } = yield* transfer.take(lines)
        yield* upkeep.settle()
        return {
          documents,
          chunks: passages,
          unchanged,
          skipped,
          import_time_ms: (yield* Clock.currentTimeMillis) - started
        } satisfies ImportResponse
      }).pipe(Effect.scoped)

    const withFiles = Effect.provideService(FileSystem.FileSystem, fs)

    const upload = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
      const receive = Effect.gen(function* () {
        const form = yield* readForm(request, {
          folder: yield* folder("clew-files-"),
          limit: maxBodyBytes,
          mostFiles: maxBatch
        })
        return { files: form.files, ...(yield* checked(form)) }
      })
      return yield* receiving(jobs.receive(receive), ({ collection, files, prefix }, release) =>
        jobs.answer(request, { kind: "files", collection, release }, (told) => index(files, collection, prefix, told))
      )
    })

    const importing = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
      const receive = Effect.gen(function* () {
        const path = join(yield* folder("clew-import-"), "export")
        const file = yield* opened(path, "wx", 0o600)
        yield* Stream.runForEach(
          bodyStream(request, { limit: maxBodyBytes, types: exportTypes, encodings: ["gzip"] }),
          (chunk) => Effect.tryPromise({ try: () => file.writeFile(chunk), catch: cannotKeep })
        )
        return path
      })
      return yield* receiving(jobs.receive(receive), (path, release) =>
        jobs.answer(request, { kind: "import", release }, (told) => take(path, told))
      )
    })

    return handlers
      .handleRaw("files", ({ request }) => withFiles(upload(request)))
      .handleRaw("import", ({ request }) => withFiles(importing(request)))
  })
)
