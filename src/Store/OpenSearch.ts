import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { BackupRefused, Backups, type StoreUnavailable, type Stores, ports } from "../Store.ts"
import { type IndexOptions, exists as isThere, open } from "./opensearch/Cluster.ts"
import { typed } from "./opensearch/errors.ts"
import { make } from "./opensearch/store.ts"

export type { IndexOptions }

/** An index in a cluster of OpenSearch. */
export const layer = (options: IndexOptions): Layer.Layer<Stores, StoreUnavailable> =>
  Layer.scopedContext(Effect.map(typed(options.prefix)(open(options)), (cluster) => ports(make(cluster))))

/** Whether there is an index. */
export const exists = (options: IndexOptions) => Effect.scoped(typed(options.prefix)(isThere(options)))

/** Refuses: the cluster's own snapshots copy indexes while they are in use. */
export const backups = (prefix: string): Layer.Layer<Backups> => {
  const refused = new BackupRefused({
    reason: `This index is in OpenSearch: back up its indexes ${prefix}-* by a snapshot of the cluster; \`clew export\` writes a copy that any store can import`
  })
  return Layer.succeed(Backups, { backup: () => refused, check: () => refused, restore: () => refused })
}
