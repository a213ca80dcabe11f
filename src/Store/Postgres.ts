import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { BackupRefused, Backups, type StoreUnavailable, type Stores, type Whole, ports } from "../Store.ts"
import { make as makeClient } from "./postgres/client.ts"
import { type DatabaseOptions, open } from "./postgres/Database.ts"
import { Database } from "./sql/Database.ts"
import { make } from "./sql/store.ts"
import { type Read, reads } from "./threads/messages.ts"

export type { DatabaseOptions }

/** Calls of a store on the lane that has the fewest; writes, which take turns, on the first. */
const spread = (lanes: ReadonlyArray<Whole>): Whole => {
  const running = lanes.map(() => 0)
  const on =
    (method: Read) =>
    (...args: ReadonlyArray<unknown>) =>
      Effect.suspend(() => {
        const lane = running.indexOf(Math.min(...running))
        running[lane]!++
        return Effect.ensuring(
          (lanes[lane]![method] as (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, unknown>)(...args),
          Effect.sync(() => running[lane]!--)
        )
      })
  return { ...lanes[0]!, ...(Object.fromEntries(reads.map((method) => [method, on(method)])) as Partial<Whole>) }
}

/** An index in a schema of a PostgreSQL database. */
export const layer = (options: DatabaseOptions): Layer.Layer<Stores, StoreUnavailable> =>
  Layer.scopedContext(
    Effect.flatMap(open(options), (databases) =>
      Effect.map(
        Effect.forEach(databases, (database) => Effect.provideService(make, Database, database)),
        (lanes) => ports(spread(lanes))
      )
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
