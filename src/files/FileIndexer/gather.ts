import type { Draft } from "../../model/Draft.ts"
import type { DocumentId } from "../../model/Document.ts"
import type { FileEvent } from "../FileEvent.ts"
import type { Reading, Step } from "./steps.ts"

/** A record whose id occurred earlier in its file. */
export const repeated = (draft: Draft): FileEvent => ({
  _tag: "Failed",
  path: draft.origin ?? "",
  line: draft.line,
  reason: `the id of ${draft.source} occurs earlier in the file; the first one is kept`
})

const ended = ({ failure, isUnreadable, isVoid, path, size }: Reading): FileEvent =>
  isUnreadable
    ? { _tag: "Failed", path, reason: failure ?? "unreadable" }
    : isVoid === undefined
      ? { _tag: "FileDone", path, size }
      : { _tag: "Skipped", path, reason: isVoid }

/** Sorts a batch of steps by kind; reports and drops drafts whose id is already in progress. */
export const gather = (steps: Iterable<Step>, underWay: Set<DocumentId>) => {
  const events: Array<FileEvent> = []
  const drafts: Array<Draft> = []
  /** Files with documents in the batch. */
  const changed = new Set<Reading>()
  const done: Array<Reading> = []
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
          events.push(repeated(draft))
          break
        }
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
  return { events, drafts, changed: [...changed], done, missing }
}
