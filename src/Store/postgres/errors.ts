import { SqlError } from "@effect/sql/SqlError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { codeOf, messageOf, typedBy } from "../sql/errors.ts"
import { committing } from "./client.ts"

/**
 * The connection ended before the transaction's COMMIT was asked for, as after a pause of this process: nothing of it was
 * done. The driver sends nothing more on a connection whose end it has seen.
 */
const isCut = (error: SqlError): boolean =>
  codeOf(error) === "25P03" ||
  messageOf(error).includes("is not queryable") ||
  (/^(?:EPIPE|ECONNRESET)$/.test(codeOf(error)) && error.message !== committing && !connecting.test(error.message))

/** Another process holds the writers' lock, or the transaction has to be repeated. */
const isBusy = (error: unknown): boolean =>
  error instanceof SqlError && (/^(?:55P03|40001|40P01)$/.test(codeOf(error)) || isCut(error))

/** Longer than the 10 s that a user may have to wait; a lock is waited for a second at a time. */
const patience = Schedule.spaced(Duration.millis(5)).pipe(Schedule.jittered, Schedule.upTo(Duration.seconds(30)))

/** Repeats a transaction that could not begin or could not go on; it can be interrupted between two attempts. */
export const retryBusy = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.retry(effect, { schedule: patience, while: isBusy })

const reasons: ReadonlyArray<readonly [RegExp, string]> = [
  [/^(?:55P03|40P01)$/, "other processes have kept it locked for too long; try again"],
  [
    /^40001$/,
    "it ended each attempt, as a standby does that is behind its primary; try again, or raise max_standby_streaming_delay there"
  ],
  [/^57014$/, "a statement took too long and was cancelled"],
  [/^(?:53300|53400)$/, "it has no connection left; lower store.pool, or raise its max_connections"],
  [/^53100$/, "its disk is full; free space there"],
  [/^(?:53|54)/, "it has run out of resources; see its log"],
  [/^28P/, "it refuses the user or the password in store.url"],
  [
    /^28/,
    "it lets no such user in from here (its pg_hba.conf); if it takes TLS only, as managed ones do, add ?sslmode=require to store.url, and sslcert and sslkey if it asks for a certificate"
  ],
  [/^3D000$/, "there is no such database; create it, or mend store.url"],
  [/^(?:3F000|42P01)$/, "its tables are gone; restore them, or restart to make a new index"],
  [
    /^22P05$/,
    "the encoding of its database lacks a character of the text; docs/postgres.md says how to make one in UTF8"
  ],
  [/^42501$/, "the user may not do this; docs/postgres.md lists the rights that Clew needs"],
  [/^25006$/, "it is read-only, perhaps a standby; writing needs the primary"],
  [/^(?:XX001|XX002)$/, "its data are damaged; restore a backup of the database"],
  [/^(?:58|XX|F0)/, "it cannot read or write its files, as on a full disk, or has an internal error; see its log"],
  [
    /^25P0[34]$/,
    "it ended a transaction by a time limit, as of a process that was suspended; try again, or raise idle_in_transaction_session_timeout and transaction_timeout for the user"
  ],
  [/^(?:08|57P0)/, "it is shutting down or starting, or the connection was cut; try again"],
  [/ALTNAME/, "its TLS certificate is for another host than the one in store.url"],
  [
    /_ALERT_/,
    "it refuses what this client offers for TLS; if it asks for a certificate, sslcert and sslkey in store.url name one that it trusts"
  ],
  [
    /^ERR_(?:OSSL|MISSING_PASSPHRASE)/,
    "the files that store.url names as sslcert and sslkey are not a certificate and its key, in PEM without a password"
  ],
  [
    /HAS_EXPIRED|NOT_YET_VALID/,
    "its TLS certificate, or its authority's, has expired or is not valid yet; renew it, or set this machine's clock"
  ],
  [
    /CERT|SIGNATURE|ERR_TLS/,
    "its TLS certificate is not trusted; name the authority's file as sslrootcert in store.url"
  ],
  [/^E[A-Z_]+$/, "it cannot be reached"]
]

/** Errors without a code, by the driver's words. */
const lost = /terminat|timeout|timed out|closed|ended|not queryable|cannot connect|failed to (?:connect|acquire)/i

/** What the driver's errors say when there is no connection yet. */
const connecting = /failed to (?:connect|acquire)/i

/** Whether the server has ended the connection, as far as it says so in English. */
const isFatal = ({ cause }: SqlError): boolean =>
  ["FATAL", "PANIC"].includes(String((cause as { readonly severity?: unknown } | undefined)?.severity))

const reasonOf = (error: SqlError): string | undefined => {
  const code = codeOf(error)
  // A pooler has this code for all that it refuses.
  if (code === "08P01") return `it, or a pooler before it, refuses: ${messageOf(error)}`
  if (/^E(?:NOENT|ACCES)/.test(code) && messageOf(error).includes(", open ")) {
    return `the file that store.url names as sslrootcert, sslcert or sslkey cannot be read (${code})`
  }
  const known = reasons.find(([pattern]) => pattern.test(code))
  if (known !== undefined) return /^E[A-Z_\d]+$|CERT|SIGNATURE/.test(code) ? `${known[1]} (${code})` : known[1]
  if (/password must be a string/.test(messageOf(error))) {
    return "it asks for a password: put it in store.url or PGPASSWORD, or in a file (PGPASSFILE) that only you may read"
  }
  if (/does not support SSL/i.test(messageOf(error))) {
    return "it has no TLS, which sslmode in store.url asks for; turn it on there, or set sslmode=disable for a network that you trust"
  }
  if (code !== "" && (connecting.test(error.message) || isFatal(error)))
    return `it accepts no connection (${code}); see its log`
  return code === "" && (lost.test(messageOf(error)) || lost.test(error.message))
    ? "the connection was lost"
    : undefined
}

/** Errors of the server or of the way to it become `StoreUnavailable`. */
export const typed = typedBy("PostgreSQL", reasonOf)
