import { readFileSync } from "node:fs"
import { bread, folderWith, Program, sea, start, type StartOptions } from "./client.ts"

/** Whether a process has loaded SQLite: those that joined have not. */
export const hasEngine = ({ child }: Program) =>
  readFileSync(`/proc/${child.pid}/maps`, "latin1").includes("better-sqlite3")

export const found = async (client: Program, query = "tides") =>
  (await client.call("search", { query })).structuredContent.results[0].metadata.source

/** An index, a client whose process has it open, and others that may join. */
export const party = async (...others: ReadonlyArray<StartOptions>) => {
  const folder = await folderWith([sea, bread])
  const first = await start({ folder })
  await found(first)
  const rest = await Promise.all(others.map((options) => start({ folder, ...options })))
  await Promise.all(rest.map((client) => found(client)))
  return [first, ...rest] as const
}
