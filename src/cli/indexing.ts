import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { existsSync } from "node:fs"
import * as path from "node:path"
import { Collections } from "../Collections.ts"
import { StoreConfig, indexName } from "../Config.ts"
import { Store, UpkeepStore } from "../Store.ts"
import { type FileEvent, skipsText } from "../files/FileEvent.ts"
import { FileIndexer } from "../files/FileIndexer.ts"
import { Tally } from "../files/Tally.ts"
import type { WalkOptions } from "../files/WalkEvent.ts"
import { CollectionName, type EmbedderIdentity, defaultCollection, describeEmbedder } from "../model/Collection.ts"
import { Embedding } from "../model/Stats.ts"
import { packagedModel } from "../packaged/model.ts"
import { lean } from "../runtime/Memory.ts"
import { isEnglish } from "../terms/languages.ts"
import { Reindexer } from "../upkeep/Reindexer.ts"
import * as Cli from "./command.ts"
import { Place, inIndex, displayPath } from "./engine.ts"
import { exitCode, stop, usage } from "./exit.ts"
import * as options from "./flags.ts"
import { bytesText, count, durationText, numberText, printJson, printLine } from "./output.ts"
import { withProgress } from "./progress.ts"
import { followed } from "./reindex.ts"
import { Terminal } from "./terminal.ts"
import { wrapped } from "./wrap.ts"

const Failed = Schema.Struct({
  path: Schema.String,
  line: Schema.optional(Schema.Int.annotations({ description: "Line of the record that failed, from 1" })),
  reason: Schema.String
})

const Skipped = Schema.Struct({ path: Schema.String, reason: Schema.String })

/** What `index --json --verbose` prints for each document, on a line of its own. */
export const DocumentLine = Schema.Struct({
  type: Schema.Literal("document"),
  doc_id: Schema.String,
  source: Schema.optional(Schema.String),
  status: Schema.Literal("created", "updated", "unchanged"),
  chunks: Schema.Int
}).annotations({ identifier: "DocumentLine" })

/** What `index --json` prints last; lists hold the first 10,000. */
export const IndexReport = Schema.Struct({
  type: Schema.Literal("summary"),
  dry_run: Schema.Boolean,
  collection: CollectionName,
  database: Schema.String,
  embedding: Embedding,
  files: Schema.Int.annotations({ description: "Number of files read to the end" }),
  bytes: Schema.Int.annotations({ description: "Total size of these files" }),
  created: Schema.Int,
  updated: Schema.Int,
  unchanged: Schema.Int,
  chunks: Schema.Int.annotations({ description: "Number of passages in created and updated documents" }),
  skipped: Schema.Int,
  failed: Schema.Int,
  deleted_documents: Schema.Int,
  deleted_chunks: Schema.Int,
  files_gone: Schema.Int.annotations({
    description: "Number of indexed files that are gone; --prune removes their documents"
  }),
  files_ignored: Schema.Int.annotations({
    description: "Number of indexed files that are now ignored, or links to others; --prune removes their documents"
  }),
  records_gone: Schema.Int.annotations({
    description: "Number of documents whose record is gone from its file, of the files read; --prune removes them"
  }),
  index_time_ms: Schema.Int,
  skipped_by_reason: Schema.Record({ key: Schema.String, value: Schema.Int }),
  skipped_files: Schema.Array(Skipped),
  failed_files: Schema.Array(Failed)
}).annotations({ identifier: "IndexReport" })
export type IndexReport = typeof IndexReport.Type

const statusWords = { created: "new", updated: "changed", unchanged: "unchanged" } as const

const placeIn = (cwd: string, file: string, line: number | undefined) =>
  `${displayPath(cwd, file)}${line === undefined ? "" : `:${line}`}`

export const documentLine = ({
  docId,
  passages,
  source,
  status
}: Extract<FileEvent, { readonly _tag: "Indexed" }>["document"]): typeof DocumentLine.Type => ({
  type: "document",
  doc_id: docId,
  source,
  status,
  chunks: passages
})

/** A line for each document; people are told of skipped files too. */
const showEvent = Effect.fnUntraced(function* (event: FileEvent) {
  const { cwd, globals } = yield* Place
  const { print } = yield* Terminal
  if (event._tag === "Indexed") {
    if (globals.json) return yield* printLine(DocumentLine, documentLine(event.document))
    const { docId, passages, source, status } = event.document
    yield* print(
      `${statusWords[status].padEnd(9)}  ${displayPath(cwd, source ?? docId)} (${count(passages, "passage")})`
    )
  } else if (event._tag === "Skipped" && !globals.json) {
    yield* print(`skipped    ${displayPath(cwd, event.path)} (${event.reason})`)
  }
})

/** How many failures are listed; the rest is counted. */
const listed = 20

export const showFailures = Effect.fnUntraced(function* (report: IndexReport, cwd: string) {
  const { err, note } = yield* Terminal
  if (report.failed === 0) return
  yield* note(err.colors.red(`Failed: ${numberText(report.failed)}`))
  for (const { line, path, reason } of report.failed_files.slice(0, listed)) {
    yield* note(`  ${placeIn(cwd, path, line)}: ${reason}`)
  }
  if (report.failed > listed) yield* note(`  and ${numberText(report.failed - listed)} more; --json lists them`)
})

/** Reasons for which a file is only skipped if nobody names it. */
const leftOut = ["generated", "lock file", "style sheet", "only links"]

export const are = (files: number): string => (files === 1 ? "is" : "are")

/** What was done, in a few lines. */
export const showReport = Effect.fnUntraced(function* (report: IndexReport) {
  const { out, print: printed } = yield* Terminal
  const print = (text: string) => printed(wrapped(out, text))
  const { bytes, chunks, created, index_time_ms: ms, unchanged, updated } = report
  const indexed = created + updated
  const seconds = Math.max(ms, 1) / 1000
  const rate = `${numberText(Math.round(chunks / seconds))} passages/s, ${bytesText(Math.round(bytes / seconds))}/s`
  yield* print(
    `${report.dry_run ? "Would index" : "Indexed"} ${count(indexed, "document")} (${numberText(created)} new, ` +
      `${numberText(updated)} changed; ${numberText(unchanged)} unchanged)` +
      (report.dry_run ? "" : `, ${count(chunks, "passage")}`) +
      ` from ${count(report.files, "file")}, ${bytesText(bytes)}, in ${durationText(ms)}` +
      (report.dry_run || indexed === 0 ? "" : ` (${rate})`)
  )
  if (report.skipped > 0) {
    const ofPrograms = leftOut.some((reason) => reason in report.skipped_by_reason)
    const how = ofPrograms ? "; a file that you name, or whose name --include has, is read whatever it is" : ""
    yield* print(`Skipped: ${skipsText(report.skipped_by_reason)}${how}`)
  }
  if (report.deleted_documents > 0) {
    yield* print(
      `${report.dry_run ? "Would remove" : "Removed"} ${count(report.deleted_documents, "document")} from the index: the files, or their records in a file, are gone or now ignored`
    )
  }
  const lost = [
    ...(report.files_gone === 0 ? [] : [`${count(report.files_gone, "indexed file")} ${are(report.files_gone)} gone`]),
    ...(report.files_ignored === 0
      ? []
      : [`${count(report.files_ignored, "indexed file")} ${are(report.files_ignored)} now ignored or a link`]),
    ...(report.records_gone === 0
      ? []
      : [`${count(report.records_gone, "record")} ${are(report.records_gone)} gone from the files read`])
  ]
  if (lost.length > 0) yield* print(`${lost.join(", ")}; --prune removes their documents from the index`)
  yield* print(
    `Collection ${report.collection} of ${report.database}, vectors by ${describeEmbedder(report.embedding)}`
  )
})

/** Runs the work on files, with its progress if that is wanted; an interrupted one says how to go on. */
export const working =
  (tally: Tally, options: WalkOptions, { progress }: { readonly progress: boolean }) =>
  <E, R>(work: Effect.Effect<void, E, R>) => {
    const shown: Effect.Effect<void, E, R | Terminal> = progress ? withProgress(tally, options)(work) : work
    return Effect.onInterrupt(lean(shown), () =>
      Effect.flatMap(Terminal, ({ isOutputGone, note }) =>
        Effect.unlessEffect(
          note(`clew: interrupted; ${count(tally.documents, "document")} done; the same command resumes from there`),
          isOutputGone
        )
      )
    )
  }

/** How many passages are sampled, spread over the collection. */
const sampled = 100
/** How many passages of a known language are needed for a warning. */
const least = 3

/** A warning if most of a collection is not in English, the only language of the packaged model. */
export const foreignTexts = Effect.fn("cli.foreignTexts")(function* (
  collection: CollectionName,
  embedder: Pick<EmbedderIdentity, "backend" | "model">
) {
  if (embedder.backend !== "builtin" || embedder.model !== packagedModel) return undefined
  const places = Array.from({ length: sampled }, (_, index) => index / (sampled - 1))
  const { sample } = yield* Store
  const passages = yield* Effect.catchTag(sample(collection, places), "CollectionNotFound", () => Effect.succeed([]))
  const told = passages.flatMap(({ text }) => isEnglish(text) ?? [])
  const foreign = told.filter((english) => !english).length
  return told.length < least || foreign <= told.length / 2
    ? undefined
    : `about ${Math.round((100 * foreign) / told.length)} % of collection ${collection} is not English, the only language of the packaged model: only keyword search finds it. To search it by meaning, pull a multilingual model (\`ollama pull bge-m3\`), set embedding.backend = "ollama" and embedding.model = "bge-m3", and run \`clew reindex\``
})

/** Ends a run that began then, and gives its result, for `--json` and for people. */
export const finish = Effect.fnUntraced(function* (
  tally: Tally,
  { collection, dryRun }: { readonly collection: CollectionName; readonly dryRun: boolean },
  started: number
) {
  // No later process may come to do it.
  if (!dryRun && tally.hasChanged) yield* (yield* UpkeepStore).settle()
  const index_time_ms = (yield* Clock.currentTimeMillis) - started
  const { backend, dimensions, model } = yield* (yield* Collections).identity(collection)
  const database = indexName(yield* StoreConfig)
  const embedding = { backend, model, dimensions }
  const about = { dry_run: dryRun, collection, database, embedding }
  return { type: "summary", ...about, ...tally.counts, index_time_ms } satisfies IndexReport
})

export const indexPaths = Cli.define(
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
      source: Cli.text("source", { value: "NAME", summary: "Source of the document on standard input" }),
      prune: options.prune,
      rehash: options.rehash,
      dryRun: options.dryRun,
      verbose: Cli.toggle("verbose", {
        alias: "v",
        summary: "Print a line for each document and skipped file"
      }),
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
  function* (flags, named) {
    const { cwd, globals } = yield* Place
    const terminal = yield* Terminal
    const fromInput = named.includes("-")
    if (flags.source !== undefined && !fromInput) {
      return yield* usage("--source names the document on standard input: give - as a PATH, or leave it out")
    }
    if (fromInput && named.length === 1 && (flags.prune || flags.include.length > 0 || flags.exclude.length > 0)) {
      return yield* usage("--prune, --include and --exclude apply to folders: leave them out, or add a PATH to -")
    }
    if (flags.quiet && flags.verbose) return yield* usage("--quiet and --verbose: choose one")
    const run = {
      paths: named.filter((name) => name !== "-").map((name) => path.resolve(cwd, name)),
      include: flags.include,
      exclude: flags.exclude,
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

    yield* inIndex(isPreview ? "preview" : "write", function* () {
      const files = yield* FileIndexer
      const tally = new Tally()
      const started = yield* Clock.currentTimeMillis
      const text =
        bytes === undefined
          ? Stream.empty
          : files.runTexts(Stream.succeed({ name: flags.source, bytes, isPiped: true }), run)
      const events = run.paths.length === 0 ? text : Stream.concat(text, files.run({ ...run, dryRun: isPreview }))

      const work = Stream.runForEach(events, (event) => {
        tally.add(event)
        return flags.verbose ? showEvent(event) : Effect.void
      })
      yield* working(tally, run, { progress: !flags.quiet && !flags.verbose })(work)
      // What a slow embedder left for later; searches have words and the packaged model meanwhile.
      const { resumed } = yield* Reindexer
      if (!isPreview) {
        yield* Effect.catchTag(followed(resumed(run.collection), flags.quiet), "ReindexTakenOver", ({ message }) =>
          terminal.note(`clew: ${message}`)
        )
      }

      const report = yield* finish(tally, run, started)
      if (globals.json) yield* (flags.verbose ? printLine : printJson)(IndexReport, report)
      else {
        if (!flags.quiet && !isMistyped) yield* showReport(report)
        yield* showFailures(report, cwd)
      }
      const foreign = tally.hasChanged ? yield* foreignTexts(run.collection, report.embedding) : undefined
      if (foreign !== undefined && !flags.quiet) yield* terminal.note(`clew: ${foreign}`)
      if (report.failed > 0) yield* stop(exitCode.failed)
    })
  }
)
