import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { client } from "../connect.ts"
import { retryBusy } from "../errors.ts"
import { besides } from "./place.ts"
import { trying } from "./inspect.ts"
import { partialOf } from "../../../runtime/partial.ts"

/** A new file beside the target, readable by its owner only, deleted with the scope unless it was moved there. */
export const partial = (target: string) =>
  Effect.acquireRelease(
    trying(target, () => {
      const name = partialOf(target)
      fs.closeSync(fs.openSync(name, "wx", 0o600))
      return name
    }),
    (name) =>
      Effect.sync(() => {
        for (const file of [name, ...besides(name)]) fs.rmSync(file, { force: true })
      })
  )

const sync = (name: string) => {
  const fd = fs.openSync(name, "r")
  try {
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/** Replaces a file with another, durably across a power cut. */
export const move = (from: string, to: string): void => {
  sync(from)
  fs.renameSync(from, to)
  sync(path.dirname(to))
}

/**
 * Opens the only connection that may write to a file, until the scope ends; readers of a file without a WAL go on. The
 * WAL's content is then in the file.
 */
export const exclusively = Effect.fnUntraced(function* (filename: string) {
  const sql = yield* client(filename, false)
  // Whoever has opened a file with a WAL prevents this until it closes it: no use to wait for longer.
  yield* sql`PRAGMA busy_timeout = 1000`
  yield* sql`PRAGMA journal_mode = DELETE`
  yield* sql`PRAGMA busy_timeout = 0`
  // Not EXCLUSIVE: a busy reader's threads take over its lock from each other, and never give it up.
  yield* retryBusy(sql`BEGIN IMMEDIATE`)
  return sql
})

export const inUse = (filename: string): string =>
  `Another program has ${filename} open (clew serve, mcp, watch or index)`
