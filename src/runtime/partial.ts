import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"

/** Longer than a process of another container, whose number means nothing here, checks what it has written. */
const abandonedMs = 60 * 60 * 1000

const isGone = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH"
  }
}

/**
 * The name of the file, beside its target, that this process writes before it takes the target's place. What killed
 * processes left there is removed.
 */
export const partialOf = (target: string): string => {
  const name = (pid: number | string) => `${target}.${pid}.partial`
  let names: ReadonlyArray<string> = []
  try {
    names = fs.readdirSync(path.dirname(target))
  } catch {
    // One may write into a folder that one may not list.
  }
  for (const found of names) {
    const file = path.join(path.dirname(target), found)
    const [, pid] = /\.(\d+)\.partial(?:-wal|-shm|-journal)?$/.exec(found) ?? []
    if (pid === undefined || !file.startsWith(path.normalize(name(pid)))) continue
    // In a container the next process has the same number.
    const isOurs = Number(pid) === process.pid
    const changed = fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
    if (isOurs || (isGone(Number(pid)) && changed < Date.now() - abandonedMs)) fs.rmSync(file, { force: true })
  }
  return name(process.pid)
}

/**
 * What the names of this process's folders in the system's folder for temporary files begin with. Those that killed
 * processes left there are removed.
 */
export const temporaryOf = (kind: string): string => {
  for (const found of fs.existsSync(tmpdir()) ? fs.readdirSync(tmpdir()) : []) {
    const pid = found.startsWith(kind) ? Number(/^(\d{1,10})-/.exec(found.slice(kind.length))?.[1]) : Number.NaN
    if (Number.isNaN(pid)) continue
    try {
      const folder = path.join(tmpdir(), found)
      const { mtimeMs: changed, uid } = fs.lstatSync(folder)
      // Whoever owns it could put a link into it while it is removed.
      if (uid !== (process.getuid?.() ?? uid)) continue
      // In a container the next process has the same number.
      const isOlder = pid === process.pid && changed < Date.now() - process.uptime() * 1000
      if (isOlder || (isGone(pid) && changed < Date.now() - abandonedMs)) fs.rmSync(folder, { recursive: true })
    } catch {
      // Another process removes the same.
    }
  }
  return `${kind}${process.pid}-`
}
