import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { BackupRefused, Backups, type StoreUnavailable, type Stores, type Whole, ports } from "../Store.ts"
import { make as makeClient } from "./postgres/client.ts"
import { type DatabaseOptions, open } from "./postgres/Database.ts"
import { forwarding } from "./core/calls.ts"
import { make } from "./sql/store.ts"
import { reads } from "./threads/messages.ts"

export type { DatabaseOptions }

/** Calls of a store on the lane that has the fewest; writes, which take turns, on the first. */
const spread = (lanes: ReadonlyArray<Whole>): Whole => {
  const running = lanes.map(() => 0)
  const spreads: ReadonlySet<string> = new Set(reads)
  return forwarding(lanes[0]!, (name, call) => {
    if (!spreads.has(name)) return call(lanes[0]!)
    return Effect.suspend(() => {
      const lane = running.indexOf(Math.min(...running))
      running[lane]!++
      return Effect.ensuring(
        call(lanes[lane]!),
        Effect.sync(() => running[lane]!--)
      )
    })
  })
}

/** An index in a schema of a PostgreSQL database. */
export const layer = (options: DatabaseOptions): Layer.Layer<Stores, StoreUnavailable> =>
  Layer.scopedContext(
    Effect.flatMap(open(options), (databases) =>
      Effect.map(Effect.forEach(databases, make), (lanes) => ports(spread(lanes)))
    )
  )

/** Whether there is an index. */
export const exists = ({ pool, schema, url }: Pick<DatabaseOptions, "pool" | "schema" | "url">) =>
  Effect.scoped(
    Effect.flatMap(makeClient({ pool, url }), (sql) =>
      Effect.map(
        sql.unsafe("SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = 'clew'", [schema]),
        (rows) => rows.length > 0
      )
    )
  )

/** Refuses: the server's own tools copy a database while it is in use, with its rights and replicas. */
export const backups = (schema: string): Layer.Layer<Backups> => {
  const refused = new BackupRefused({
    reason: `This index is in PostgreSQL: back it up with \`pg_dump --schema=${schema}\` and restore it with pg_restore; \`clew export\` writes a copy that any store can import`
  })
  return Layer.succeed(Backups, { backup: () => refused, check: () => refused, restore: () => refused })
}
