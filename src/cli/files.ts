import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { cannot } from "./exit.ts"

const isDatabase = (file: string): boolean => {
  if (fs.statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false
  const fd = fs.openSync(file, "r")
  try {
    const start = Buffer.alloc(15)
    fs.readSync(fd, start, 0, start.length, 0)
    return start.toString("latin1") === "SQLite format 3"
  } finally {
    fs.closeSync(fd)
  }
}

/** Writes a file, which gets its name when it is complete. It replaces neither a database nor what belongs to one. */
export const replaceFile = (file: string, text: string) =>
  Effect.try({
    try: () => {
      if (isDatabase(file.replace(/-(?:wal|shm|journal)$/, ""))) throw new Error("it is a database; name another file")
      // A pipe or a terminal is written to.
      if (fs.statSync(file, { throwIfNoEntry: false })?.isFile() === false) return fs.writeFileSync(file, text)
      fs.writeFileSync(`${file}.new`, text)
      fs.renameSync(`${file}.new`, file)
    },
    catch: cannot("write", file)
  })
