import { InvalidRequest } from "./errors.ts"
import { limits } from "../model/Limits.ts"
import type { FieldError } from "./Problem.ts"

const longest = 300
const short = (text: string): string => (text.length > longest ? `${text.slice(0, longest)}…` : text)

/** A fault as a schema reports it. */
export interface Issue {
  readonly path: ReadonlyArray<PropertyKey>
  readonly message: string
}

/** What a schema found wrong, one line a path; that a field might also be left out is not worth one. */
export const fromIssues = (issues: ReadonlyArray<Issue>): InvalidRequest => {
  const telling = issues.filter(({ message }) => !message.startsWith("Expected undefined, actual"))
  const errors = new Map<string, FieldError>()
  for (const { message, path } of telling.length > 0 ? telling : issues) {
    const name = path.map(String).join(".")
    if (errors.size === limits.errors) break
    if (!errors.has(name)) errors.set(name, { path: name, message: short(message) })
  }
  return new InvalidRequest({ errors: [...errors.values()] })
}
