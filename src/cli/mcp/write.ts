import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { Unwritable } from "./Unwritable.ts"

const attempt = <A>(file: string, doing: string, run: () => A): Effect.Effect<A, Unwritable> =>
  Effect.try({
    try: run,
    catch: (error) => new Unwritable({ message: `${file} cannot be ${doing}: ${(error as Error).message}` })
  })

/** The file's text; undefined if there is no file. */
export const read = (file: string): Effect.Effect<string | undefined, Unwritable> =>
  attempt(file, "read", () => (fs.existsSync(file) ? fs.readFileSync(file, "utf8") : undefined))

const stamp = (now: number): string => new Date(now).toISOString().replace(/[-:]|\.\d+/g, "")

/** Replaces a file atomically, keeping its mode and the link to it; gives the path of a copy of the old file. */
export const replace = (file: string, text: string, now: number): Effect.Effect<string | undefined, Unwritable> =>
  attempt(file, "written", () => {
    fs.mkdirSync(path.dirname(file), { recursive: true })
    const exists = fs.existsSync(file)
    const target = exists ? fs.realpathSync(file) : file
    const backup = exists ? `${target}.${stamp(now)}.bak` : undefined
    if (backup !== undefined) fs.copyFileSync(target, backup)
    const temporary = `${target}.${process.pid}.tmp`
    try {
      fs.writeFileSync(temporary, text, { mode: exists ? fs.statSync(target).mode : 0o600 })
      fs.renameSync(temporary, target)
    } finally {
      fs.rmSync(temporary, { force: true })
    }
    return backup
  })
