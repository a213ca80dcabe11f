import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import type { Cure } from "../../../upkeep/Examiner.ts"
import { StoreUnavailable } from "../../../Store.ts"
import { client, open } from "../../sqlite/connect.ts"
import { isBusy } from "../../sqlite/errors.ts"
import { alone, inUse, move, partial, trying } from "../../sqlite/file/exchange.ts"
import { inspect } from "../../sqlite/file/inspect.ts"
import { besides, statOf } from "../../sqlite/file/place.ts"
import { copyRows, type Salvaged } from "./copyRows.ts"

/** At most this many lost documents are named. */
const mostNamed = 1000

/**
 * The damaged file to read: itself, locked against other processes, or if it cannot be opened as it is, a copy extended
 * to the length in its header.
 */
const source = (filename: string, bytes: number) =>
  Effect.gen(function* () {
    const { size } = yield* trying(filename, () => fs.statSync(filename))
    if (size >= bytes) {
      const held = yield* Effect.either(alone(filename))
      if (held._tag === "Right") return held.right
      if (isBusy(held.left)) {
        return yield* Effect.fail(
          new StoreUnavailable({ reason: `${inUse(filename)}; stop it, then run \`clew doctor --fix\` again` })
        )
      }
    }
    const copied = yield* partial(`${filename}.damaged`)
    yield* trying(filename, () => {
      fs.copyFileSync(filename, copied)
      if (size < bytes) fs.truncateSync(copied, bytes)
      const wal = `${filename}-wal`
      if (statOf(wal) !== undefined) fs.copyFileSync(wal, `${copied}-wal`)
    })
    return yield* client(copied, false)
  })

/** Gives a file a second name; if the file system has no hard links, renames it. */
const keepAs = (filename: string, name: string): void => {
  try {
    fs.linkSync(filename, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw error
    fs.renameSync(filename, name)
  }
}

const sentences = (kept: string, found: Salvaged): ReadonlyArray<string> => {
  const { documents, lost, missing, wasReindexing } = found
  const unnamed = missing - Math.min(lost.length, mostNamed)
  const names = lost.slice(0, mostNamed).join(", ")
  return [
    `${documents} documents could be read and are in a new file; the damaged one is ${kept}`,
    ...(missing === 0
      ? documents === 0
        ? ["its content is unknown; run `clew index` on your files again"]
        : []
      : [
          `${missing} documents are lost${names === "" ? "" : `: ${names}`}${names !== "" && unnamed > 0 ? ` and ${unnamed} more` : ""}; ` +
            "the next `clew index` restores documents that came from files; index the others again yourself"
        ]),
    ...(wasReindexing ? ["the next `clew reindex` starts the change of embedder over"] : [])
  ]
}

/** Salvages an index; see `Examiner.salvage`. */
export const salvage = (
  filename: string
): Effect.Effect<
  { readonly kept: string; readonly done: ReadonlyArray<string>; readonly cures: ReadonlyArray<Cure> },
  SqlError | StoreUnavailable
> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { header } = yield* inspect(filename, "existing")
      const from = yield* source(filename, header!.pages * header!.pageBytes)
      const made = yield* partial(filename)
      const found = yield* Effect.scoped(
        Effect.flatMap(open({ filename: made, mode: "create" }), ({ sql }) => copyRows(from, sql))
      )
      const kept = `${filename}.${yield* Clock.currentTimeMillis}.before-fix`
      yield* trying(filename, () => {
        for (const file of besides(filename)) {
          if (statOf(file) !== undefined) fs.renameSync(file, kept + file.slice(filename.length))
        }
        keepAs(filename, kept)
        move(made, filename)
      })
      return {
        kept,
        done: sentences(kept, found),
        cures: [{ _tag: "Rows" } as const, ...found.graphs.map((collection): Cure => ({ _tag: "Graph", collection }))]
      }
    })
  )
