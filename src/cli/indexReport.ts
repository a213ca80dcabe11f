import * as Schema from "effect/Schema"
import { CollectionName } from "../model/Collection.ts"
import { Embedding } from "../model/Stats.ts"

const Failed = Schema.Struct({
  path: Schema.String,
  line: Schema.optional(Schema.Int.annotations({ description: "Line of the record that failed, from 1" })),
  reason: Schema.String
})

const Skipped = Schema.Struct({ path: Schema.String, reason: Schema.String })

/** What `index --json --verbose` prints for each document, on a line of its own. */
export const DocumentLine = Schema.Struct({
  type: Schema.Literal("document"),
  doc_id: Schema.String,
  source: Schema.optional(Schema.String),
  status: Schema.Literal("created", "updated", "unchanged"),
  chunks: Schema.Int
}).annotations({ identifier: "DocumentLine" })

/** What `index --json` prints last; lists hold the first 10,000. */
export const IndexReport = Schema.Struct({
  type: Schema.Literal("summary"),
  dry_run: Schema.Boolean,
  collection: CollectionName,
  database: Schema.String,
  embedding: Embedding,
  files: Schema.Int.annotations({ description: "Number of files read to the end" }),
  bytes: Schema.Int.annotations({ description: "Total size of these files" }),
  created: Schema.Int,
  updated: Schema.Int,
  unchanged: Schema.Int,
  chunks: Schema.Int.annotations({ description: "Number of passages in created and updated documents" }),
  skipped: Schema.Int,
  failed: Schema.Int,
  deleted_documents: Schema.Int,
  deleted_chunks: Schema.Int,
  files_gone: Schema.Int.annotations({ description: "Number of indexed files that are gone; --prune forgets them" }),
  files_ignored: Schema.Int.annotations({
    description: "Number of indexed files that are now ignored; --prune forgets them"
  }),
  index_time_ms: Schema.Int,
  skipped_by_reason: Schema.Record({ key: Schema.String, value: Schema.Int }),
  skipped_files: Schema.Array(Skipped),
  failed_files: Schema.Array(Failed)
}).annotations({ identifier: "IndexReport" })
export type IndexReport = typeof IndexReport.Type
