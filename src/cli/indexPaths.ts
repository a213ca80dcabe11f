import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { existsSync } from "node:fs"
import * as path from "node:path"
import { Collections } from "../Collections.ts"
import { StoreConfig } from "../Config.ts"
import type { FileEvent } from "../files/FileEvent.ts"
import { FileIndexer } from "../files/FileIndexer.ts"
import { defaultCollection } from "../model/Collection.ts"
import { UpkeepStore } from "../Store.ts"
import { define } from "./command.ts"
import { Engine } from "./engine.ts"
import { exitCode, stop } from "./exit.ts"
import { DocumentLine, IndexReport } from "./indexReport.ts"
import * as IndexText from "./indexText.ts"
import { foreignTexts } from "./languages.ts"
import * as options from "./options.ts"
import { printJson, printLine } from "./output.ts"
import { Place } from "./place.ts"
import { withProgress } from "./progress.ts"
import { Tally } from "./tally.ts"
import { Terminal } from "./terminal.ts"
import { UsageError } from "./UsageError.ts"

const wrong = (detail: string) => new UsageError({ detail, command: "clew index" })

/** What happens to one document or file, as `--verbose` shows it. */
const show = Effect.fnUntraced(function* (event: FileEvent) {
  const { cwd, globals } = yield* Place
  if (!globals.json) return yield* IndexText.showEvent(event, cwd)
  if (event._tag !== "Indexed") return
  const { docId, passages, source, status } = event.document
  yield* printLine(DocumentLine, {
    type: "document",
    doc_id: docId,
    ...(source === undefined ? {} : { source }),
    status,
    chunks: passages
  })
})

/** The result of a run, for `--json` and for people. */
export const reportOf = Effect.fnUntraced(function* (
  tally: Tally,
  run: { readonly collection: IndexReport["collection"]; readonly dryRun: boolean },
  ms: number
) {
  const { backend, dimensions, model } = yield* (yield* Collections).identity(run.collection)
  const { path: database } = yield* StoreConfig
  return {
    type: "summary",
    dry_run: run.dryRun,
    collection: run.collection,
    database,
    embedding: { backend, model, dimensions },
    files: tally.files,
    bytes: tally.bytes,
    created: tally.created,
    updated: tally.updated,
    unchanged: tally.unchanged,
    chunks: tally.passages,
    skipped: tally.skipped,
    failed: tally.failed,
    deleted_documents: tally.deleted.documents,
    deleted_chunks: tally.deleted.passages,
    files_gone: tally.gone,
    files_ignored: tally.ignored,
    index_time_ms: ms,
    skipped_by_reason: Object.fromEntries(tally.skippedByReason),
    skipped_files: tally.skippedFiles.map(({ path, reason }) => ({ path, reason })),
    failed_files: tally.failedFiles.map(({ line, path, reason }) => ({
      path,
      reason,
      ...(line === undefined ? {} : { line })
    }))
  } satisfies IndexReport
})

export const indexPaths = define(
  {
    name: "index",
    summary: "Index what is new or changed in files and folders",
    positional: {
      name: "PATH",
      summary: "File or folder; - is a document on standard input",
      min: 1,
      max: Infinity,
      paths: true
    },
    flags: {
      collection: options.collection,
      include: options.include,
      exclude: options.exclude,
      source: options.source,
      prune: options.prune,
      rehash: options.rehash,
      dryRun: options.dryRun,
      verbose: options.verbose,
      quiet: options.quiet
    },
    examples: [
      "clew index docs notes.md",
      "clew index . --include '*.md' --exclude drafts --prune",
      "curl -s https://example.org | clew index - --source https://example.org"
    ],
    details: [
      "Skips files named in .gitignore and .clewignore, hidden and binary files, lock files and generated files; --include brings the last two back. If a file or record fails, it is reported, the rest is indexed, and the exit code is 1.",
      "Ctrl-C stops at a safe point: what was indexed stays, and the next run resumes from there."
    ]
  },
  (flags, named) =>
    Effect.gen(function* () {
      const { cwd, globals } = yield* Place
      const terminal = yield* Terminal
      const fromInput = named.includes("-")
      if (flags.source !== undefined && !fromInput) {
        return yield* wrong("--source names the document on standard input: give - as a PATH, or leave it out")
      }
      if (fromInput && named.length === 1 && (flags.prune || flags.include.length > 0 || flags.exclude.length > 0)) {
        return yield* wrong("--prune, --include and --exclude apply to folders: leave them out, or add a PATH to -")
      }
      if (flags.quiet && flags.verbose) return yield* wrong("--quiet and --verbose: choose one")
      const run = {
        paths: named.filter((name) => name !== "-").map((name) => path.resolve(cwd, name)),
        include: flags.include.length === 0 ? undefined : flags.include,
        exclude: flags.exclude.length === 0 ? undefined : flags.exclude,
        collection: flags.collection ?? defaultCollection,
        prune: flags.prune,
        rehash: flags.rehash,
        nameUnchanged: flags.verbose,
        dryRun: flags.dryRun
      }
      // If all paths are mistyped, create no index.
      const isMistyped = !fromInput && !run.paths.some((file) => existsSync(file))
      const isPreview = run.dryRun || isMistyped
      if (fromInput && terminal.isInteractive) yield* terminal.note("clew: reading standard input; Ctrl-D ends it")
      const bytes = fromInput ? yield* terminal.input : undefined
      const engine = yield* Engine

      yield* Effect.gen(function* () {
        const files = yield* FileIndexer
        const tally = new Tally()
        const started = yield* Clock.currentTimeMillis
        const text = bytes === undefined ? Stream.empty : files.runText({ name: flags.source, bytes }, run)
        const events = run.paths.length === 0 ? text : Stream.concat(text, files.run({ ...run, dryRun: isPreview }))

        const work = Stream.runForEach(events, (event) => {
          tally.add(event)
          return flags.verbose ? show(event) : Effect.void
        })
        const watched = flags.quiet || flags.verbose ? work : withProgress(tally, run)(work)
        yield* Effect.onInterrupt(watched, () => IndexText.showInterrupted(tally))

        const changed = tally.created + tally.updated + tally.deleted.documents
        // No later process may come to do it.
        if (!run.dryRun && changed > 0) yield* (yield* UpkeepStore).settle()
        const report = yield* reportOf(tally, run, (yield* Clock.currentTimeMillis) - started)
        if (globals.json) yield* (flags.verbose ? printLine : printJson)(IndexReport, report)
        else {
          if (!flags.quiet && !isMistyped) yield* IndexText.showReport(report)
          yield* IndexText.showFailures(report, cwd)
        }
        const foreign = changed === 0 ? undefined : yield* foreignTexts(run.collection, report.embedding)
        if (foreign !== undefined && !flags.quiet) yield* terminal.note(`clew: ${foreign}`)
        if (report.failed > 0) yield* stop(exitCode.failed)
      }).pipe(Effect.provide(engine.open(isPreview ? "preview" : "write")))
    })
)
