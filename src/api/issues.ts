import { InvalidRequest } from "./errors.ts"
import { limits } from "../model/Limits.ts"
import type { FieldError } from "./Problem.ts"

const cut = (text: string, longest: number): string => (text.length > longest ? `${text.slice(0, longest)}…` : text)

/** A fault as a schema reports it. */
export interface Issue {
  readonly path: ReadonlyArray<PropertyKey>
  readonly message: string
}

/** The faults that a schema found, one line per path, without the alternative that a field could be absent. */
export const fromIssues = (issues: ReadonlyArray<Issue>): InvalidRequest => {
  const telling = issues.filter(({ message }) => !message.startsWith("Expected undefined, actual"))
  const errors = new Map<string, FieldError>()
  for (const { message, path } of telling.length > 0 ? telling : issues) {
    // A key may be as long as the body.
    const name = path.map((part) => cut(String(part), 60)).join(".")
    if (errors.size === limits.errors) break
    if (!errors.has(name)) errors.set(name, { path: name, message: cut(message, 300) })
  }
  return new InvalidRequest({ errors: [...errors.values()] })
}
