import { createRequire } from "node:module"

/** The file of SQLite's driver that this Node runs, for other processes (src/Store/sqlite/driver.ts). */
export const sqliteDriver = createRequire(import.meta.url).resolve(
  Number(process.versions.napi) < 10 ? "better-sqlite3" : "better-sqlite3-napi"
)
