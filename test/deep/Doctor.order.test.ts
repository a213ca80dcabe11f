import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { writeFileSync } from "node:fs"
import { run, temporary, wrong } from "../examined.ts"

/** A number of SQLite's variable length, and how many bytes it takes. */
const varint = (bytes: Buffer, at: number): readonly [number, number] => {
  let value = 0
  for (let length = 1; ; length++) {
    const byte = bytes[at + length - 1]!
    value = value * 128 + (byte & 127)
    if (byte < 128) return [value, length]
  }
}

/** Gives the last row of a table a small number, as one flipped bit may; its key then falls. */
const withFallingKey = (bytes: Buffer, root: number): Buffer => {
  const changed = Buffer.from(bytes)
  const pageBytes = changed.readUInt16BE(16)
  let page = (root - 1) * pageBytes
  while (changed[page] === 5) page = (changed.readUInt32BE(page + 8) - 1) * pageBytes
  assert.strictEqual(changed[page], 13)
  const cell = page + changed.readUInt16BE(page + 8 + 2 * (changed.readUInt16BE(page + 3) - 1))
  const [, length] = varint(changed, cell)
  const at = cell + length
  const [, keyLength] = varint(changed, at)
  // As many bytes, of which the last one alone is not 0.
  for (let n = 0; n < keyLength; n++) changed[at + n] = n === keyLength - 1 ? 1 : 128
  return changed
}

it.layer(NodeFileSystem.layer)("doctor", (it) => {
  it.scoped("ends and finds it if the last row of a table comes before the others", () =>
    Effect.gen(function* () {
      const { bytes, folder } = yield* temporary
      const db = new Database(`${folder}/index.db`, { readonly: true })
      const tables = db
        .prepare(
          `SELECT name, rootpage AS root FROM sqlite_schema
           WHERE name IN ('vectors_1', 'vectors_2', 'passages', 'documents', 'graph_passages')`
        )
        .all() as ReadonlyArray<{ readonly name: string; readonly root: number }>
      db.close()
      assert.lengthOf(tables, 5)
      for (const { name, root } of tables) {
        const file = `${folder}/${name}.db`
        writeFileSync(file, withFallingKey(bytes, root))
        assert.isNotEmpty(wrong(yield* run(file)), name)
        // The repair ends too, whatever it can do.
        assert.isDefined((yield* Effect.either(run(file, { fix: true })))._tag, name)
      }
    })
  )

  it.scoped("tells what it is doing, and can be interrupted", () =>
    Effect.gen(function* () {
      const { folder } = yield* temporary
      const told: Array<string> = []
      const listen = (what: string) => Effect.sync(() => void told.push(what))
      yield* run(`${folder}/index.db`, { told: listen })
      for (const part of ["pages", "documents", "postings", "vectors", "codes", "graph", "embedder"]) {
        assert.isTrue(
          told.some((what) => what.startsWith(part)),
          part
        )
      }
      const reached = yield* Deferred.make<void>()
      const fiber = yield* Effect.fork(
        run(`${folder}/index.db`, {
          told: (what) => (what === "documents" ? Effect.asVoid(Deferred.succeed(reached, undefined)) : Effect.void)
        })
      )
      yield* Deferred.await(reached)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
    })
  )
})
