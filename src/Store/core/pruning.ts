import * as Effect from "effect/Effect"
import type { Deleted, PrunePosition, Pruned } from "../../model/Stored.ts"
import { type TextRange, ranges } from "./identity.ts"

const pageRows = 1000

/** Passages deleted in one step, unless a single document has more. */
const mostPassages = 4000

const always = Number.MAX_SAFE_INTEGER

/** A document of a file. */
export interface Prunable {
  readonly id: number
  readonly origin: string
  /** The last run that saw it; 0: none. */
  readonly seen: number
  readonly passages: number
}

export interface PruneOptions {
  readonly before?: number | undefined
  readonly from?: PrunePosition | undefined
}

/** What a deletion by paths asks of a store. */
interface Pruning<Row, E> {
  /** The next so many documents of files within a range, by origin, then in the order of storing. */
  readonly next: (range: TextRange, after: PrunePosition, limit: number) => Effect.Effect<ReadonlyArray<Row>, E>
  /** Deletes documents that no run since this one has seen. */
  readonly remove: (documents: ReadonlyArray<Row>, since: number) => Effect.Effect<Deleted, E>
  /** Forgets the files at these paths without documents, unless this run or a later one has recorded them. */
  readonly forget: (paths: ReadonlyArray<string>, before: number) => Effect.Effect<unknown, E>
  readonly forgetRoots: (within: ReadonlyArray<TextRange>) => Effect.Effect<unknown, E>
}

/** One step of a deletion by paths. */
export const pruneStep = Effect.fnUntraced(function* <Row extends Prunable, E>(
  { forget, forgetRoots, next, remove }: Pruning<Row, E>,
  paths: ReadonlyArray<string>,
  { before = always, from }: PruneOptions = {}
) {
  const within = paths.flatMap(ranges)
  let position: PrunePosition | undefined = from ?? { path: 0, origin: "", id: 0 }
  let left = pageRows
  let passages = 0
  const doomed = new Map<number, Row>()
  while (left > 0 && position !== undefined) {
    const at: PrunePosition = position
    const range = within[at.path]
    if (range === undefined) {
      position = undefined
      break
    }
    const rows: ReadonlyArray<Row> = yield* next(range, at, left)
    let last: Row | undefined
    for (const row of rows) {
      const goes = row.seen < before
      if (goes && doomed.size > 0 && passages + row.passages > mostPassages) break
      last = row
      if (!goes || doomed.has(row.id)) continue
      doomed.set(row.id, row)
      passages += row.passages
    }
    const isCut = last !== rows.at(-1)
    left -= rows.length
    if (last === undefined) position = isCut ? at : { path: at.path + 1, origin: "", id: 0 }
    else if (isCut || left === 0) position = { path: at.path, origin: last.origin, id: last.id }
    else position = { path: at.path + 1, origin: "", id: 0 }
    if (isCut) break
  }
  const deleted = yield* remove([...doomed.values()], before)
  if (position === undefined) {
    yield* forget(paths, before)
    // Deleting a path, whatever a run has seen, means that the next update must not bring it back.
    if (before === always) yield* forgetRoots(within)
  }
  return { ...deleted, ...(position === undefined ? {} : { next: position }) } satisfies Pruned
})
