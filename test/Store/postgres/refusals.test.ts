import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Postgres from "../../../src/Store/Postgres.ts"
import { built } from "../opened.ts"
import { answering, asking, refusal } from "./fake.ts"

/** Why a store does not open on a server that gives these answers. */
const reasonOf = (...answers: ReadonlyArray<Buffer>) =>
  Effect.gen(function* () {
    const url = Redacted.make(yield* answering(...answers))
    return (yield* Effect.flip(built(Postgres.layer({ url, schema: "clew", pool: 2, mode: "create" })))).reason
  })

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
