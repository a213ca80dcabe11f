import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as path from "node:path"
import type { WatchEvent } from "../files/FileEvent.ts"
import { Watcher } from "../files/Watcher.ts"
import { defaultCollection } from "../model/Collection.ts"
import { Reindexer } from "../upkeep/Reindexer.ts"
import * as Cli from "./command.ts"
import { Engine, Place, displayPath } from "./engine.ts"
import { usage } from "./exit.ts"
import * as options from "./flags.ts"
import { DocumentLine, documentLine } from "./indexing.ts"
import { count, durationText, numberText, printLine } from "./output.ts"
import { Terminal, printableLine } from "./terminal.ts"

/** What `watch --json` prints besides `DocumentLine`, one event a line. */
export const WatchLine = Schema.Union(
  Schema.Struct({
    type: Schema.Literal("waiting"),
    pid: Schema.optional(
      Schema.Int.annotations({ description: "The process that already follows one of the paths for this index" })
    ),
    paths: Schema.Array(Schema.String).annotations({ description: "The paths that it watches" })
  }),
  Schema.Struct({ type: Schema.Literal("following"), paths: Schema.Array(Schema.String) }),
  Schema.Struct({
    type: Schema.Literal("polling"),
    reason: Schema.String,
    advice: Schema.optional(Schema.String)
  }),
  Schema.Struct({
    type: Schema.Literal("forgotten"),
    path: Schema.String,
    reason: Schema.String,
    documents: Schema.Int
  }),
  Schema.Struct({
    type: Schema.Literal("failed"),
    path: Schema.String,
    line: Schema.optional(Schema.Int),
    reason: Schema.String
  }),
  Schema.Struct({ type: Schema.Literal("missing"), path: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("held"),
    path: Schema.String,
    files: Schema.Int.annotations({ description: "Number of files before" }),
    gone: Schema.Int.annotations({ description: "Number of files that are gone; their documents are kept" })
  }),
  Schema.Struct({
    type: Schema.Literal("scan"),
    cause: Schema.Literal("start", "events", "rescan", "lost"),
    paths: Schema.Array(Schema.String),
    files: Schema.Int,
    created: Schema.Int,
    updated: Schema.Int,
    failed: Schema.Int,
    deleted_documents: Schema.Int,
    deleted_chunks: Schema.Int,
    ms: Schema.Int
  }),
  Schema.Struct({ type: Schema.Literal("broken"), reason: Schema.String })
).annotations({ identifier: "WatchLine" })
export type WatchLine = typeof WatchLine.Type

interface Notice {
  readonly line: WatchLine | typeof DocumentLine.Type
  /** Absent for what only programs are told. */
  readonly text?: string
  readonly isTrouble?: boolean
}

type Advise = (kind: "Missing" | "Held", path: string) => string

/** An event as JSON and as a line for people, with what removes the documents of files that are gone; undefined: nothing to report. */
const noticeOf = (event: WatchEvent, cwd: string, advise: Advise = () => "--prune-all"): Notice | undefined => {
  const at = (path: string) => displayPath(cwd, path)
  const trouble = (line: Notice["line"], text: string): Notice => ({ line, text, isTrouble: true })
  switch (event._tag) {
    case "Waiting": {
      const { paths, pid } = event
      const who = pid === undefined ? "Another process" : `Process ${pid}`
      const what = paths.length === 0 ? "" : ` (${paths.join(", ")})`
      return trouble(
        { type: "waiting", pid, paths },
        `${who} already follows one of these paths for this index${what}; waiting until it ends`
      )
    }
    case "Following":
      return { line: { type: "following", paths: event.paths }, text: `Following ${event.paths.map(at).join(", ")}` }
    case "Polling": {
      const { advice, reason } = event
      const more = advice === undefined ? "" : `. ${advice}`
      return trouble({ type: "polling", reason, advice }, `Scanning for changes now and then, because ${reason}${more}`)
    }
    case "Missing":
      return trouble(
        { type: "missing", path: event.path },
        `${at(event.path)} is missing: keeping its documents and waiting for it (${advise(event._tag, event.path)} removes them)`
      )
    case "Held": {
      const { files, gone, path } = event
      return trouble(
        { type: "held", path, files, gone },
        `${at(path)} has lost ${numberText(gone)} of its ${count(files, "file")} at once: ` +
          `keeping their documents until they are back (${advise(event._tag, path)} removes them)`
      )
    }
    case "Broken":
      return trouble({ type: "broken", reason: event.reason }, `Indexing failed and will be retried: ${event.reason}`)
    case "Scanned": {
      const { cause, created, deleted, failed, files, ms, paths, updated } = event
      const text =
        `Indexed ${count(created + updated, "document")} (${numberText(created)} new, ` +
        `${numberText(updated)} changed) from ${count(files, "file")}, in ${durationText(ms)}`
      const gone = { deleted_documents: deleted.documents, deleted_chunks: deleted.passages }
      return {
        line: { type: "scan", cause, paths, files, created, updated, failed, ...gone, ms },
        ...(cause === "start" ? { text } : {})
      }
    }
    case "File":
      return noticeOfFile(event.event, at)
  }
}

const noticeOfFile = (
  event: Extract<WatchEvent, { readonly _tag: "File" }>["event"],
  at: (path: string) => string
): Notice | undefined => {
  switch (event._tag) {
    case "Indexed": {
      const { docId, passages, source, status } = event.document
      const what = `${(status === "created" ? "new" : "changed").padEnd(9)}  ${at(source ?? docId)}`
      return { line: documentLine(event.document), text: `${what} (${count(passages, "passage")})` }
    }
    case "Lost": {
      const { documents, path, reason } = event
      return { line: { type: "forgotten", path, reason, documents }, text: `removed    ${at(path)} (${reason})` }
    }
    case "Failed": {
      const { line, path, reason } = event
      const where = `${at(path)}${line === undefined ? "" : `:${line}`}`
      return { line: { type: "failed", path, line, reason }, text: `failed     ${where}: ${reason}`, isTrouble: true }
    }
    default:
      return undefined
  }
}

/** Shows an event: as JSON with `--json`, else a line, with problems on standard error. */
const showChange = Effect.fnUntraced(function* (event: WatchEvent) {
  const { cwd, globals } = yield* Place
  const notice = noticeOf(event, cwd)
  if (notice === undefined) return
  if (globals.json) return yield* printLine(Schema.Union(DocumentLine, WatchLine), notice.line)
  if (notice.text === undefined) return
  const { note, print } = yield* Terminal
  yield* notice.isTrouble === true ? note(notice.text) : print(notice.text)
})

/** A path as an argument in a shell. */
const inShell = (path: string): string => {
  const text = printableLine(path)
  return /^[\w./~@%+:,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** Follows paths while the program does other work, and logs the results; a failure here ends nothing else. */
export const following = (
  paths: ReadonlyArray<string>,
  { cwd, globals }: Pick<typeof Place.Service, "cwd" | "globals">
): Effect.Effect<void, never, Watcher> => {
  // Servers have no --prune-all.
  const advise: Advise = (kind, path) => {
    const place = globals.db === undefined ? "" : ` --db ${inShell(globals.db)}`
    return `${kind === "Held" ? "clew index --prune" : "clew delete"} ${inShell(path)}${place}`
  }
  return Effect.flatMap(Watcher, ({ run }) =>
    run({ paths, collection: defaultCollection }, (event) => {
      const notice = noticeOf(event, cwd, advise)
      if (notice?.text === undefined) return Effect.void
      return notice.isTrouble === true ? Effect.logWarning(notice.text) : Effect.logInfo(notice.text)
    })
  ).pipe(Effect.catchAll(({ message }) => Effect.logError(`Not following changes: ${message}`)))
}

export const watch = Cli.define(
  {
    name: "watch",
    untilStopped: true,
    summary: "Index files and folders, then follow their changes",
    positional: {
      name: "PATH",
      summary: "File or folder (default: watch.paths)",
      min: 0,
      max: Infinity,
      paths: true
    },
    flags: {
      collection: options.collection,
      include: options.include,
      exclude: options.exclude,
      pruneAll: Cli.toggle("prune-all", {
        summary: "In the first scan, also remove documents whose path is missing or has lost most of its files"
      })
    },
    examples: ["clew watch docs notes.md", "clew watch . --include '*.md' --json"],
    details: [
      "The index reflects a new, changed, moved, deleted or newly ignored file about a second later. If a folder is missing, or has lost more than half of its files at once and not by git, its documents are kept.",
      "Only one process watches a path for an index; a second one waits until it ends. Ctrl-C stops at a safe point."
    ]
  },
  function* (flags, named) {
    const { cwd } = yield* Place
    const { isOutputGone, note } = yield* Terminal
    const engine = yield* Engine
    const { watch: configured } = yield* engine.settings
    const paths = named.length > 0 ? named.map((name) => path.resolve(cwd, name)) : configured.paths
    if (paths.length === 0) {
      return yield* usage("nothing to watch: name a PATH, or set watch.paths in the configuration")
    }
    const stopped = Effect.unlessEffect(note("clew: stopped; what was indexed stays"), isOutputGone)
    yield* Effect.flatMap(Watcher, ({ run }) =>
      run(
        {
          paths,
          collection: flags.collection ?? defaultCollection,
          include: flags.include,
          exclude: flags.exclude,
          pruneAll: flags.pruneAll,
          failEarly: true
        },
        showChange
      )
    ).pipe(
      (work) =>
        Effect.zipRight(
          Effect.flatMap(Reindexer, ({ inBackground }) => inBackground),
          work
        ),
      Effect.scoped,
      Effect.onInterrupt(() => stopped),
      Effect.provide(engine.open("write"))
    )
  }
)
