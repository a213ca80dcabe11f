import * as Schema from "effect/Schema"

/** What makes a collection's vectors, as the doors show it. */
export const Embedding = Schema.Struct({
  backend: Schema.String.annotations({ description: "builtin, ollama or openai" }),
  model: Schema.String.annotations({ description: "The model's name" }),
  dimensions: Schema.Int.annotations({ description: "Width of a vector" })
}).annotations({ identifier: "Embedding", description: "What makes the vectors" })

/** What is in an index, as GET /stats and `info --json` say it. */
export const Stats = Schema.Struct({
  documents: Schema.Int.annotations({ description: "Documents, of one collection where one is named" }),
  chunks: Schema.Int.annotations({ description: "Passages" }),
  collections: Schema.Int.annotations({ description: "Collections" }),
  database_bytes: Schema.Int.annotations({ description: "Size of the database" }),
  posting_bytes: Schema.Int.annotations({ description: "Of that, the keyword index" }),
  code_bytes: Schema.Int.annotations({
    description: "Of that, the codes that vectors are found by; 0 while they are few"
  }),
  embedding: Embedding,
  read_only: Schema.Boolean.annotations({ description: "Whether writes are refused" }),
  version: Schema.String.annotations({ description: "Clew's version" }),
  uptime_seconds: Schema.Int.annotations({ description: "Since the process started" })
}).annotations({ identifier: "Stats" })
export type Stats = typeof Stats.Type
