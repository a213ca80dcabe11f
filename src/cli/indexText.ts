import * as Effect from "effect/Effect"
import type { FileEvent } from "../files/FileEvent.ts"
import { describeEmbedder } from "../model/Collection.ts"
import type { IndexReport } from "./indexReport.ts"
import { bytesText, count, durationText, numberText } from "./output.ts"
import { shown } from "./place.ts"
import type { Tally } from "./tally.ts"
import { Terminal } from "./terminal.ts"
import { wrapped } from "./wrap.ts"

const words = { created: "new", updated: "changed", unchanged: "unchanged" } as const

const at = (cwd: string, file: string, line: number | undefined) =>
  `${shown(cwd, file)}${line === undefined ? "" : `:${line}`}`

/** A line for each document, and for each skipped file. */
export const showEvent = Effect.fnUntraced(function* (event: FileEvent, cwd: string) {
  const { print } = yield* Terminal
  if (event._tag === "Indexed") {
    const { docId, passages, source, status } = event.document
    yield* print(`${words[status].padEnd(9)}  ${shown(cwd, source ?? docId)} (${count(passages, "passage")})`)
  } else if (event._tag === "Skipped") {
    yield* print(`skipped    ${shown(cwd, event.path)} (${event.reason})`)
  }
})

/** How many failures are listed; the rest is counted. */
const listed = 20

export const showFailures = Effect.fnUntraced(function* (report: IndexReport, cwd: string) {
  const { err, note } = yield* Terminal
  if (report.failed === 0) return
  yield* note(err.colors.red(`Failed: ${numberText(report.failed)}`))
  for (const { line, path, reason } of report.failed_files.slice(0, listed)) {
    yield* note(`  ${at(cwd, path, line)}: ${reason}`)
  }
  if (report.failed > listed) yield* note(`  and ${numberText(report.failed - listed)} more; --json lists them`)
})

const skips = ({ skipped_by_reason }: IndexReport): string =>
  Object.entries(skipped_by_reason)
    .sort(([, a], [, b]) => b - a)
    .map(([reason, times]) => `${numberText(times)} ${reason}`)
    .slice(0, 8)
    .join(", ")

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
  if (report.skipped > 0) yield* print(`Skipped: ${skips(report)}`)
  if (report.deleted_documents > 0) {
    yield* print(
      `${report.dry_run ? "Would forget" : "Forgot"} ${count(report.deleted_documents, "document")} whose text no longer exists`
    )
  }
  const lost = [
    ...(report.files_gone === 0 ? [] : [`${count(report.files_gone, "indexed file")} ${are(report.files_gone)} gone`]),
    ...(report.files_ignored === 0
      ? []
      : [`${count(report.files_ignored, "indexed file")} ${are(report.files_ignored)} now ignored`])
  ]
  if (lost.length > 0) yield* print(`${lost.join(", ")}: --prune forgets their documents`)
  yield* print(
    `Collection ${report.collection} of ${report.database}, vectors by ${describeEmbedder(report.embedding)}`
  )
})

export const showInterrupted = (tally: Tally) =>
  Effect.flatMap(Terminal, ({ isOutputGone, note }) =>
    Effect.unlessEffect(
      note(`clew: interrupted; ${count(tally.documents, "document")} done; the same command resumes from there`),
      isOutputGone
    )
  )
