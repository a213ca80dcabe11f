import { assert, it } from "@effect/vitest"
import { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Postgres from "../../../src/Store/Postgres.ts"
import { typed } from "../../../src/Store/postgres/errors.ts"
import { built } from "../opened.ts"
import { certificate } from "../opensearch/node.ts"
import { answering, asking, refusal } from "./fake.ts"

/** Why a store does not open at this address. */
const reasonAt = (address: string) =>
  Effect.map(
    Effect.flip(built(Postgres.layer({ url: Redacted.make(address), schema: "clew", pool: 2, mode: "create" }))),
    ({ reason }) => reason
  )

/** Why a store does not open on a server that gives these answers. */
const reasonOf = (...answers: ReadonlyArray<Buffer>) => Effect.flatMap(answering(...answers), reasonAt)

const cases: ReadonlyArray<readonly [what: string, answer: Buffer, expected: string]> = [
  ["a wrong password", refusal("28P01", "password authentication failed"), "it refuses the user or the password"],
  [
    "a server that takes TLS only",
    refusal("28000", 'no pg_hba.conf entry for host "127.0.0.1", user "somebody", database "somewhere", no encryption'),
    "sslmode=require"
  ],
  ["a user whom a pooler does not know", refusal("08P01", "no such user: somebody"), "no such user: somebody"],
  ["a parameter that a pooler does not know", refusal("08P01", "unsupported startup parameter: options"), "options"],
  ["a server that is starting", refusal("57P03", "the database system is starting up"), "shutting down or starting"],
  ["a full disk", refusal("53100", "could not extend file"), "its disk is full"]
]

for (const [what, answer, expected] of cases) {
  it.scopedLive(`names ${what}`, () => Effect.map(reasonOf(answer), (reason) => assert.include(reason, expected)))
}

it.scopedLive("says that a password is needed, where none is given", () =>
  Effect.map(reasonOf(asking(10, "SCRAM-SHA-256\0\0"), asking(11, "r=n,s=c2FsdA==,i=4096")), (reason) =>
    assert.include(reason, "it asks for a password")
  )
)

it.scopedLive("names a certificate and a key that do not belong together", () =>
  Effect.gen(function* () {
    const address = yield* answering(Buffer.from("S"))
    const reason = yield* reasonAt(`${address}?sslmode=require&sslcert=${certificate}&sslkey=${certificate}`)
    assert.include(reason, "sslcert and sslkey are not a certificate and its key")
  })
)

it.effect("tells a certificate that has expired, and a client's that is refused, from one that is not trusted", () =>
  Effect.gen(function* () {
    for (const [code, expected] of [
      ["CERT_HAS_EXPIRED", "has expired or is not valid yet"],
      ["CERT_NOT_YET_VALID", "has expired or is not valid yet"],
      ["ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED", "it refuses what this client offers for TLS"],
      ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", "it refuses what this client offers for TLS"],
      ["ERR_TLS_CERT_ALTNAME_INVALID", "for another host"],
      ["SELF_SIGNED_CERT_IN_CHAIN", "sslrootcert"]
    ] as const) {
      const { message } = yield* Effect.flip(
        typed("here")(new SqlError({ cause: { code }, message: "PgClient: Failed to connect" }))
      )
      assert.include(message, expected)
      assert.include(message, `(${code})`)
    }
  })
)
