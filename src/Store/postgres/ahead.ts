import type { Connection } from "@effect/sql/SqlConnection"
import * as Effect from "effect/Effect"

type Rows = ReadonlyArray<any>

interface Asked {
  /** Transactions that asked for it, and those since the last that did. */
  times: number
  idle: number
}

/** Fewer rows than a search reads of its passages. */
const mostRows = 50
const mostKept = 16
/** Transactions in a row that did not ask for a statement, after which it is not asked ahead any more. */
const mostIdle = 8

/** A statement with its parameters in it; undefined: it has others than numbers and plain texts. */
const inlined = (text: string, params: ReadonlyArray<unknown>): string | undefined =>
  params.every((value) => typeof value === "number" || (typeof value === "string" && !value.includes("\\")))
    ? text.replace(/\$(\d+)/g, (_, at: string) => `'${String(params[Number(at) - 1]).replaceAll("'", "''")}'`)
    : undefined

/**
 * What every search asks for, such as its collection, its segments and its codes, is asked for ahead, in the message that
 * begins the transaction: in one snapshot the answer is the same. So a search waits for far fewer answers.
 */
export class Ahead {
  private readonly known = new Map<string, Asked>()

  /** Begins a transaction; gives the rows of the last statement of its own, and the connection to use in it. */
  begin(connection: Connection, begin: string) {
    const run = (ahead: ReadonlyArray<string>) =>
      Effect.map(connection.executeUnprepared([begin, ...ahead].join("; "), [], undefined), (results) => {
        const own = results.length - ahead.length
        const answers = new Map(ahead.map((statement, at) => [statement, results[own + at] as Rows]))
        return { rows: results[own - 1] as Rows, connection: this.answering(connection, answers) }
      })
    for (const [statement, one] of this.known) if (++one.idle > mostIdle) this.known.delete(statement)
    const asked = [...this.known].flatMap(([statement, { times }]) => (times > 1 ? [statement] : []))
    if (asked.length === 0) return run(asked)
    return Effect.catchAll(run(asked), () => {
      this.known.clear()
      return Effect.zipRight(connection.execute("ROLLBACK", [], undefined), run([]))
    })
  }

  private answering(connection: Connection, answers: ReadonlyMap<string, Rows>): Connection {
    return {
      ...connection,
      execute: (text, params, transform) => {
        const statement = inlined(text, params)
        const rows = statement === undefined ? undefined : answers.get(statement)
        if (rows !== undefined) {
          this.known.get(statement!)!.idle = 0
          // Copies, since rows belong to who asks for them.
          return Effect.succeed(rows.map((row) => ({ ...row })))
        }
        const found = connection.execute(text, params, transform)
        return statement === undefined ? found : Effect.tap(found, (rows) => this.learn(statement, rows))
      }
    }
  }

  private learn(statement: string, rows: Rows) {
    return Effect.sync(() => {
      const asked = this.known.get(statement)
      if (asked !== undefined) {
        asked.times++
        asked.idle = 0
      } else if (rows.length <= mostRows && this.known.size < mostKept) {
        this.known.set(statement, { times: 1, idle: 0 })
      }
    })
  }
}
