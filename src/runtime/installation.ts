import { statSync } from "node:fs"

/** What tells the file that this code is in from another at its place; undefined if there is none, or none any more. */
const ownFile = (): string | undefined => {
  try {
    const { ino, mtimeMs, size } = statSync(new URL(import.meta.url))
    return `${ino} ${size} ${mtimeMs}`
  } catch {
    return undefined
  }
}

const atStart = ownFile()

/**
 * Why Clew's own files, which a process loads when it first needs them, are missing or of another version; undefined as
 * long as they are those that it began with.
 */
export const replaced = (): string | undefined =>
  ownFile() === atStart ? undefined : "Clew was updated or removed while this process ran; start it again"
