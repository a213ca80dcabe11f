import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { isUnreadable } from "../../sqlite/errors.ts"

/** Reads at most `most` rows of a table after a key, by rising keys. */
export type Read<Row> = (after: number, most: number) => Effect.Effect<ReadonlyArray<Row>, SqlError>

/** Rows per read: smaller and smaller, down to one, while a read fails. */
const amounts = [256, 32, 4, 1]

/** The widest step across an unreadable gap, unless a whole table would take more than `mostSteps` of them. */
const leastStep = 64
const mostSteps = 65_536

/** Gives `use` the readable rows of a damaged table, by rising keys up to `last`, and skips what cannot be read. */
export const eachReadable = Effect.fnUntraced(function* <Row, R>(
  read: Read<Row>,
  keyOf: (row: Row) => number,
  last: number,
  use: (rows: ReadonlyArray<Row>) => Effect.Effect<unknown, SqlError, R>
) {
  /** Undefined: the rows cannot be read. Pages that point back, or to another table, give keys that do not rise. */
  const attempt = (after: number, most: number) =>
    read(after, most).pipe(
      Effect.map((rows) => {
        let before = after
        const rising = rows.findIndex((row) => {
          const key = keyOf(row)
          const falls = !(key > before)
          before = key
          return falls
        })
        return rising === 0 ? undefined : rising < 0 ? rows : rows.slice(0, rising)
      }),
      Effect.catchIf(isUnreadable, () => Effect.succeed(undefined))
    )
  const step = Math.max(leastStep, Math.ceil(last / mostSteps))

  /** The first readable key after a gap; undefined: there is none. */
  const behind = Effect.fnUntraced(function* (gap: number) {
    let bad = gap
    for (let width = 1; ; width = Math.min(step, 2 * width)) {
      const place = bad + width
      if (place > last) return undefined
      if ((yield* attempt(place, 1)) === undefined) {
        bad = place
        continue
      }
      let good = place
      while (good - bad > 1) {
        const middle = Math.floor((bad + good) / 2)
        if ((yield* attempt(middle, 1)) === undefined) bad = middle
        else good = middle
      }
      return good
    }
  })

  let after = 0
  while (after < last) {
    let rows: ReadonlyArray<Row> | undefined
    for (const most of amounts) {
      rows = yield* attempt(after, most)
      if (rows !== undefined) break
    }
    if (rows === undefined) {
      const next: number | undefined = yield* behind(after)
      if (next === undefined) return
      after = next
      continue
    }
    if (rows.length === 0) return
    yield* use(rows)
    after = keyOf(rows.at(-1)!)
  }
})
