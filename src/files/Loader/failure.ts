import { replaced } from "../../runtime/installation.ts"

/** Why a file's text is not extracted. */
export type Failure =
  | { readonly reason: string; readonly isLimit?: boolean }
  /** The reader could not run, which says nothing of the file. */
  | { readonly fault: string }

/** Codes of a system that has no room, or of a program that is being replaced or removed. */
const faults = new Set(
  "ENOENT EACCES EPERM EIO EAGAIN ENOMEM ENOSPC EMFILE ENFILE ERR_MODULE_NOT_FOUND MODULE_NOT_FOUND ERR_WORKER_INIT_FAILED".split(
    " "
  )
)

/** Why a reader failed: for itself, or for the file, which is then damaged. */
export const whyNot = (error: unknown): Failure => {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  const words = String(message ?? error)
    .replace(/\s+/g, " ")
    .slice(0, 300)
  const gone = replaced()
  if (gone !== undefined) return { fault: gone }
  return typeof code === "string" && faults.has(code)
    ? { fault: `its reader cannot run (${words}); try again` }
    : { reason: `damaged: ${words}` }
}
