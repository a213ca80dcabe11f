import * as fs from "node:fs"
import * as path from "node:path"
import type { Check } from "../model/Check.ts"
import { bytesText } from "./output.ts"

/** The result of a call; undefined if it throws. */
export const attempt = <A>(use: () => A): A | undefined => {
  try {
    return use()
  } catch {
    return undefined
  }
}

/** Less free space than this gives a warning. */
const scarce = 512 * 1024 * 1024

const oldestNode: readonly [number, number] = [20, 12]

/** The Node that runs this. */
export const node = (): Check => {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
  const isOld = major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1])
  return {
    name: "Node",
    status: isOld ? "fail" : "ok",
    detail: `Node ${process.versions.node}`,
    ...(isOld ? { next: `Clew needs Node ${oldestNode.join(".")} or newer` } : {})
  }
}

const access = (file: string): Check => {
  const stat = attempt(() => fs.statSync(file))
  const can = (mode: number) => !fails(() => fs.accessSync(file, mode))
  if (stat === undefined) {
    return {
      name: "file",
      status: "fail",
      detail: `there is no index at ${file}`,
      next: "make one with `clew index PATH`"
    }
  }
  if (!stat.isFile()) {
    return { name: "file", status: "fail", detail: `${file} is not a file`, next: "name the index with --db" }
  }
  if (!can(fs.constants.R_OK)) {
    return {
      name: "file",
      status: "fail",
      detail: `you may not read ${file}`,
      next: `change its permissions, or run as its owner`
    }
  }
  const isOpen = (stat.mode & 0o077) !== 0
  return can(fs.constants.W_OK)
    ? {
        name: "file",
        status: isOpen ? "warn" : "ok",
        detail: isOpen ? `other users may read ${file}` : `${file}, ${bytesText(stat.size)}`,
        ...(isOpen ? { next: `chmod 600 ${file}` } : {})
      }
    : {
        name: "file",
        status: "warn",
        detail: `${file} is read-only`,
        next: "search with --read-only, or change its permissions"
      }
}

const fails = (use: () => unknown): boolean => {
  try {
    use()
    return false
  } catch {
    return true
  }
}

const space = (file: string): ReadonlyArray<Check> => {
  const stat = attempt(() => fs.statfsSync(path.dirname(file)))
  if (stat === undefined) return []
  const free = stat.bavail * stat.bsize
  return [
    {
      name: "disk",
      status: free < scarce ? "warn" : "ok",
      detail: `${bytesText(free)} free`,
      ...(free < scarce ? { next: "make room: `clew compact` frees the space of deleted documents" } : {})
    }
  ]
}

/** Checks of the index's file and disk. */
export const surroundings = (file: string): ReadonlyArray<Check> => [access(file), ...space(file)]

interface Origin {
  readonly origin: string
  readonly size: number | undefined
  /** Nanoseconds. */
  readonly modified: string | undefined
}

/** Source files that are gone, and those that have changed since they were indexed. */
export const stale = (origins: ReadonlyArray<Origin>) => {
  const gone: Array<string> = []
  const changed: Array<string> = []
  for (const { modified, origin, size } of origins) {
    if (!path.isAbsolute(origin)) continue
    const stat = attempt(() => fs.statSync(origin, { bigint: true }))
    if (stat === undefined) gone.push(origin)
    else if (size !== undefined && modified !== undefined) {
      if (Number(stat.size) !== size || String(stat.mtimeNs) !== modified) changed.push(origin)
    }
  }
  return { gone, changed }
}
