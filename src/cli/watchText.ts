import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { WatchEvent } from "../files/WatchEvent.ts"
import { DocumentLine } from "./indexReport.ts"
import { count, durationText, numberText, printLine } from "./output.ts"
import { Place, shown } from "./place.ts"
import { Terminal } from "./terminal.ts"

/** What `watch --json` prints besides `DocumentLine`, one event a line. */
export const WatchLine = Schema.Union(
  Schema.Struct({
    type: Schema.Literal("waiting"),
    pid: Schema.optional(Schema.Int.annotations({ description: "The process that already watches this index" })),
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

const toLine = (event: WatchEvent): WatchLine | typeof DocumentLine.Type | undefined => {
  switch (event._tag) {
    case "Waiting":
      return { type: "waiting", ...(event.pid === undefined ? {} : { pid: event.pid }), paths: event.paths }
    case "Following":
      return { type: "following", paths: event.paths }
    case "Polling":
      return {
        type: "polling",
        reason: event.reason,
        ...(event.advice === undefined ? {} : { advice: event.advice })
      }
    case "Missing":
      return { type: "missing", path: event.path }
    case "Held":
      return { type: "held", path: event.path, files: event.files, gone: event.gone }
    case "Broken":
      return { type: "broken", reason: event.reason }
    case "Scanned": {
      const { cause, created, deleted, failed, files, ms, paths, updated } = event
      return {
        type: "scan",
        cause,
        paths,
        files,
        created,
        updated,
        failed,
        deleted_documents: deleted.documents,
        deleted_chunks: deleted.passages,
        ms
      }
    }
    case "File":
      return toFileLine(event.event)
  }
}

const toFileLine = (event: Extract<WatchEvent, { readonly _tag: "File" }>["event"]) => {
  switch (event._tag) {
    case "Indexed": {
      const { docId, passages, source, status } = event.document
      return {
        type: "document",
        doc_id: docId,
        ...(source === undefined ? {} : { source }),
        status,
        chunks: passages
      } as const
    }
    case "Lost":
      return { type: "forgotten", path: event.path, reason: event.reason, documents: event.documents } as const
    case "Failed":
      return {
        type: "failed",
        path: event.path,
        ...(event.line === undefined ? {} : { line: event.line }),
        reason: event.reason
      } as const
    default:
      return undefined
  }
}

/** An event as a line for people, and whether it is a problem; undefined: nothing to report. */
export const describe = (
  event: WatchEvent,
  cwd: string
): { readonly text: string; readonly isTrouble: boolean } | undefined => {
  const line = toLine(event)
  if (line === undefined) return undefined
  const at = (path: string) => shown(cwd, path)
  const trouble = (text: string) => ({ text, isTrouble: true })
  const news = (text: string) => ({ text, isTrouble: false })
  switch (line.type) {
    case "waiting":
      return trouble(
        `${line.pid === undefined ? "Another process" : `Process ${line.pid}`} already watches this index` +
          `${line.paths.length === 0 ? "" : ` (${line.paths.join(", ")})`}; waiting until it ends`
      )
    case "following":
      return news(`Following ${line.paths.map(at).join(", ")}`)
    case "polling":
      return trouble(
        `Scanning for changes now and then, because ${line.reason}${line.advice === undefined ? "" : `. ${line.advice}`}`
      )
    case "missing":
      return trouble(`${at(line.path)} is missing: keeping its documents and waiting for it (--prune-all forgets them)`)
    case "held":
      return trouble(
        `${at(line.path)} has lost ${numberText(line.gone)} of its ${count(line.files, "file")} at once: ` +
          `keeping their documents until they are back (--prune-all forgets them)`
      )
    case "broken":
      return trouble(`Indexing failed and will be retried: ${line.reason}`)
    case "scan":
      return line.cause === "start"
        ? news(
            `Indexed ${count(line.created + line.updated, "document")} (${numberText(line.created)} new, ` +
              `${numberText(line.updated)} changed) from ${count(line.files, "file")}, in ${durationText(line.ms)}`
          )
        : undefined
    case "document":
      return news(
        `${(line.status === "created" ? "new" : "changed").padEnd(9)}  ${at(line.source ?? line.doc_id)} (${count(line.chunks, "passage")})`
      )
    case "forgotten":
      return news(`forgotten  ${at(line.path)} (${line.reason})`)
    case "failed":
      return trouble(`failed     ${at(line.path)}${line.line === undefined ? "" : `:${line.line}`}: ${line.reason}`)
  }
}

/** Shows an event: as JSON with `--json`, else a line, with problems on standard error. */
export const show = Effect.fnUntraced(function* (event: WatchEvent) {
  const { cwd, globals } = yield* Place
  if (globals.json) {
    const line = toLine(event)
    if (line === undefined) return
    return yield* line.type === "document" ? printLine(DocumentLine, line) : printLine(WatchLine, line)
  }
  const said = describe(event, cwd)
  if (said === undefined) return
  const { note, print } = yield* Terminal
  yield* said.isTrouble ? note(said.text) : print(said.text)
})
