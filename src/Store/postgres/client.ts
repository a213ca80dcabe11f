import * as Reactivity from "@effect/experimental/Reactivity"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import type * as Statement from "@effect/sql/Statement"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { Socket } from "node:net"
import { Kept } from "../../runtime/Kept.ts"
import { escaped, unescaped } from "../sql/dialect.ts"
import { inSteps } from "../sql/steps.ts"
import type { Ahead } from "./ahead.ts"

/** A statement in PostgreSQL's words, and which parameters are lists: `json` ones stay JSON, the others become arrays. */
interface Translated {
  readonly text: string
  readonly lists: ReadonlyMap<number, "array" | "json">
}

const tokens =
  /\?::json|\?::text\[\]|IN \(SELECT value FROM json_each\(\?\)\)|json_each\(\?\) AS (\w+)|\?|CROSS JOIN|INDEXED BY \w+|NOT INDEXED/g

/**
 * Numbers the parameters of a statement, makes arrays of lists, and leaves out what only SQLite's planner is told: the
 * order of joins, and an index.
 */
const translate = (statement: string): Translated => {
  let at = 0
  const lists = new Map<number, "array" | "json">()
  const list = (kind: "array" | "json"): string => {
    lists.set(at++, kind)
    return `$${at}`
  }
  const text = statement.replace(tokens, (token, name: string | undefined) => {
    if (token === "?") return `$${++at}`
    if (token === "?::json") return `${list("json")}::json`
    if (token === "?::text[]") return `${list("array")}::text[]`
    if (token === "CROSS JOIN") return "JOIN"
    if (token.endsWith("INDEXED") || token.startsWith("INDEXED")) return ""
    return name === undefined
      ? `= ANY(${list("array")})`
      : `unnest(${list("array")}::bigint[]) WITH ORDINALITY AS ${name} (value, key)`
  })
  return { text, lists }
}

/** Most statements whose translation is kept; those of filters differ without end. */
const mostKept = 500

const deeply = (value: unknown): unknown =>
  typeof value === "string" ? escaped(value) : Array.isArray(value) ? value.map(deeply) : value

const parameter = (value: unknown, list: "array" | "json" | undefined): unknown => {
  if (list === "array") return deeply(JSON.parse(value as string))
  if (list === "json") return JSON.stringify(deeply(JSON.parse(value as string)))
  if (typeof value === "string") return escaped(value)
  return typeof value === "bigint" ? value.toString() : value
}

const oids = { bool: 16, bytea: 17, int8: 20, int2: 21, int4: 23, text: 25, float8: 701, varchar: 1043, numeric: 1700 }

const parsers: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [oids.bool, (text) => (text === "t" ? 1 : 0)],
  [oids.bytea, (text) => Buffer.from(text.slice(2), "hex")],
  ...[oids.int8, oids.int2, oids.int4, oids.float8, oids.numeric].map((oid) => [oid, Number] as const),
  ...[oids.text, oids.varchar].map((oid) => [oid, unescaped] as const)
])

const types = { getTypeParser: (oid: number) => parsers.get(oid) ?? ((text: string) => text) }

interface ClientOptions {
  readonly url: Redacted.Redacted
  /** Connections at most. */
  readonly pool: number
  /**
   * Milliseconds of silence after which a connection counts as lost, and of age after which it is not used again, since
   * the address may lead elsewhere by then; default: the system decides, and never.
   */
  readonly silence?: number | undefined
}

/** A socket that fails when nothing comes for long: a machine that is gone, or a network that is cut, says nothing. */
const socket = (silence = 0): Socket => {
  const made = new Socket()
  return made.setTimeout(silence, () => made.destroy(new Error("Connection terminated: no answer")))
}

/** The driver checks the server's certificate in these modes too, and warns of it in pages of text unless that is said. */
const checked = (url: string): string =>
  url.includes("uselibpqcompat")
    ? url
    : url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, "$1verify-full")

/** The driver leaves these signs encoded in the name of a database; a `?` or `#` it cannot be told. */
const named = (url: string): string =>
  url.replace(
    /^([a-z]+:\/\/[^/?#]*)(\/[^?#]*)/,
    (_, before: string, path: string) => before + path.replace(/%(?:2[46BCF]|3[ABD]|40)/gi, decodeURIComponent)
  )

/** A pool of connections, closed with the scope. Its statements are those of SQLite, translated. */
export const make = ({ pool, silence, url }: ClientOptions) =>
  Effect.map(
    PgClient.make({
      url: Redacted.make(named(checked(Redacted.value(url)))),
      stream: () => socket(silence),
      maxConnections: pool,
      connectTimeout: Duration.seconds(5),
      connectionTTL: silence,
      applicationName: "clew",
      types: types as never
    }),
    (client) => {
      const kept = new Kept<string, Translated>(mostKept)
      const { unsafe: plain } = client
      const unsafe = <A extends object>(
        statement: string,
        params: ReadonlyArray<unknown> = []
      ): Statement.Statement<A> => {
        const known = kept.get(statement) ?? translate(statement)
        kept.add(statement, known)
        const { lists, text } = known
        return plain<A>(
          text,
          params.map((value, at) => parameter(value, lists.get(at)))
        )
      }
      return Object.assign(client, { unsafe }) as SqlClient.SqlClient
    }
  ).pipe(Effect.provide(Reactivity.layer))

/** The message of a COMMIT that failed: if its connection was lost, nobody knows whether it was done. */
export const committing = "Failed to commit"

/** How a transaction begins. */
interface Beginning<F> {
  /** Gets the rows of the last statement of the beginning. */
  readonly admit?: (rows: ReadonlyArray<any>) => Effect.Effect<void, F>
  /** Only for reading: statements are asked ahead, and nobody waits for its end. */
  readonly ahead?: Ahead
}

/**
 * Runs an effect in one transaction, which begins with some statements. It can be interrupted before each statement, and
 * while it waits for a connection; one that comes too late goes back at once, since the scope is closed.
 */
export const transaction =
  <F = never>(sql: SqlClient.SqlClient, begin: string, { admit = () => Effect.void, ahead }: Beginning<F> = {}) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | F | SqlError, R> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Scope.make(), (scope) => {
        const within = Effect.gen(function* () {
          const connection = yield* restore(Effect.disconnect(Effect.uninterruptible(sql.reserve)))
          const run = (statement: string) => connection.execute(statement, [], undefined)
          const work = Effect.gen(function* () {
            const begun = yield* ahead === undefined
              ? Effect.map(run(begin), (results) => ({ rows: results.at(-1), connection }))
              : ahead.begin(connection, begin)
            yield* admit(begun.rows)
            const within: readonly [Connection, number] = [inSteps(begun.connection), 0]
            return yield* restore(Effect.provideService(effect, SqlClient.TransactionConnection, within))
          })
          // Also if it could not begin: a transaction that waited in vain for its lock is open, and fails.
          const failed = Effect.ignore(run("ROLLBACK"))
          const commit = Effect.mapError(run("COMMIT"), ({ cause }) => new SqlError({ cause, message: committing }))
          return yield* ahead === undefined
            ? Effect.onError(Effect.zipLeft(work, commit), () => failed)
            : Effect.ensuring(work, Scope.addFinalizer(scope, failed))
        })
        const end = (exit: Exit.Exit<unknown, unknown>) => Scope.close(scope, exit)
        return Effect.onExit(Scope.extend(within, scope), (exit) =>
          ahead === undefined ? end(exit) : Effect.forkDaemon(end(exit))
        )
      })
    ) as Effect.Effect<A, E | F | SqlError, R>
