import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { constants, gunzipSync } from "node:zlib"
import { isOnServer } from "../Config.ts"
import { Engine } from "./engine.ts"
import { partialOf } from "../runtime/partial.ts"
import { cannot, FileUnusable } from "./exit.ts"
import { attempt } from "../model/attempt.ts"

/** How a file begins, uncompressed: at most 4 KiB of what it holds. */
export const beginningOf = (file: string): string => {
  const fd = fs.openSync(file, "r")
  try {
    const bytes = Buffer.alloc(4096)
    const begun = bytes.subarray(0, fs.readSync(fd, bytes, 0, bytes.length, 0))
    const isPacked = begun[0] === 0x1f && begun[1] === 0x8b
    return (isPacked ? gunzipSync(begun, { finishFlush: constants.Z_SYNC_FLUSH }) : begun).toString("latin1")
  } finally {
    fs.closeSync(fd)
  }
}

const isFree = (file: string, isOurs: (file: string) => boolean): boolean => {
  const stat = fs.statSync(file, { throwIfNoEntry: false })
  if (stat === undefined) return true
  return stat.isFile() && (stat.size === 0 || attempt(() => isOurs(file)) === true)
}

const realPath = (file: string): string => attempt(() => fs.realpathSync(file)) ?? file

/** Fails if the path is that of the index, or of a file that SQLite keeps beside it, there or not. */
export const unlessOfIndex = Effect.fnUntraced(function* (file: string) {
  const { store } = yield* (yield* Engine).settings
  if (isOnServer(store)) return
  const index = realPath(store.path)
  const given = path.join(realPath(path.dirname(file)), path.basename(file))
  if (["", "-wal", "-shm", "-journal"].some((end) => index + end === given)) {
    return yield* new FileUnusable({ message: `${file} belongs to the index; name another file` })
  }
})

/** Fails if a file of that name exists that is neither empty nor ours, or if the name belongs to the index. */
export const unlessTaken = Effect.fnUntraced(function* (file: string, what: string, isOurs: (file: string) => boolean) {
  if (!(yield* Effect.try({ try: () => isFree(file, isOurs), catch: cannot("write", file) }))) {
    return yield* new FileUnusable({
      message: `${file} already exists and is not ${what} by Clew; name another file, or move it away`
    })
  }
  yield* unlessOfIndex(file)
})

/** Writes a text to a file that gets its name when it is complete. */
export const writeWhole = (file: string, text: string) =>
  Effect.try({
    try: () => {
      const name = partialOf(file)
      try {
        fs.writeFileSync(name, text, { flag: "wx" })
        fs.renameSync(name, file)
      } finally {
        fs.rmSync(name, { force: true })
      }
    },
    catch: cannot("write", file)
  })
