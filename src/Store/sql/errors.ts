import { SqlError } from "@effect/sql/SqlError"
import { typedBy as typing } from "../core/errors.ts"

const causeOf = (error: SqlError) => error.cause as { readonly code?: unknown; readonly message?: unknown } | undefined

/** The code of the database (SQLSTATE in PostgreSQL), else of the system, else empty. */
export const codeOf = (error: SqlError): string => {
  const code = causeOf(error)?.code
  return typeof code === "string" ? code : ""
}

/** The database's own message, which `SqlError` only has in its cause. */
export const messageOf = (error: SqlError): string => String(causeOf(error)?.message ?? error.message)

/** What SQL errors become; see `core/errors.ts`. */
export const typedBy = (database: string, reasonOf: (error: SqlError) => string | undefined, repair = "") =>
  typing({
    database,
    isOwn: (error): error is SqlError => error instanceof SqlError,
    messageOf,
    reasonOf,
    repair
  })
