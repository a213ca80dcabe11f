import * as fs from "node:fs"
import * as path from "node:path"
import type { Check } from "../model/Check.ts"
import { harmless } from "./harmless.ts"
import { attempt } from "./surroundings.ts"

/** How many processes are checked. */
const most = 10_000

/** The name of a process; for a script, its own name and first word, such as `clew serve`. */
const nameOf = (pid: string): string => {
  const [program = "", ...args] = (attempt(() => fs.readFileSync(`/proc/${pid}/cmdline`, "utf8")) ?? "").split("\0")
  const name = path.basename(program)
  const [script = "", command = ""] = name === "node" ? args.filter((word) => !word.startsWith("-")) : []
  return harmless(script === "" ? name : `${path.basename(script)} ${command}`.trim()) || "a process"
}

/** Other processes that have one of the files open, as far as Linux shows them to this user; none on other systems. */
const holders = (files: ReadonlySet<string>): ReadonlyArray<string> =>
  (attempt(() => fs.readdirSync("/proc")) ?? [])
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .slice(0, most)
    .flatMap((pid) => {
      const open = attempt(() => fs.readdirSync(`/proc/${pid}/fd`)) ?? []
      if (!open.some((fd) => files.has(attempt(() => fs.readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? ""))) return []
      return [`${nameOf(pid)} (${pid})`]
    })

/** Other processes that have the index open. */
export const neighbours = (file: string): ReadonlyArray<Check> => {
  if (process.platform !== "linux") return []
  const whole = attempt(() => fs.realpathSync(file)) ?? file
  const found = holders(new Set([whole, `${whole}-wal`, `${whole}-shm`]))
  return [
    {
      name: "processes",
      status: "ok",
      detail:
        found.length === 0
          ? "no other process of yours has the index open"
          : `other processes have the index open: ${found.slice(0, 5).join(", ")}${found.length > 5 ? ` and ${found.length - 5} more` : ""}`
    }
  ]
}
