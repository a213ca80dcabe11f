import type Sqlite from "better-sqlite3"
import { createRequire } from "node:module"

const require = createRequire(import.meta.url)

/** Release 13 with the binary that it brings, where that loads: not in every Node, on every machine or in every libc. */
const prebuilt = (): typeof Sqlite | undefined => {
  // In an older Node its functions are missing, and it ends the process.
  if (Number(process.versions.napi) < 10) return undefined
  try {
    const Driver: typeof Sqlite = require("better-sqlite3-napi")
    new Driver(":memory:").close()
    return Driver
  } catch {
    return undefined
  }
}

/** Release 12, compiled where it is installed. Whoever opens a database is told if it was not. */
const compiled = (): typeof Sqlite => {
  try {
    return require("better-sqlite3")
  } catch (error) {
    return function unbuilt() {
      throw error
    } as unknown as typeof Sqlite
  }
}

/** SQLite's driver. Node 24.19 and later may abort when they collect a statement of release 12, so release 13 comes first. */
export default prebuilt() ?? compiled()
