import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

/** The schema this program writes, kept in the database's `user_version`. */
export const schemaVersion = 18

interface Table {
  /** Later ones are added to older indexes in this order, so a new column goes to the end. */
  readonly columns: ReadonlyArray<string>
  readonly constraint?: string
  readonly options?: string
}

const tables: Readonly<Record<string, Table>> = {
  collections: {
    columns: [
      "id INTEGER PRIMARY KEY AUTOINCREMENT",
      "name TEXT NOT NULL UNIQUE",
      "backend TEXT NOT NULL",
      "model TEXT NOT NULL",
      "dimensions INTEGER NOT NULL",
      "query_prefix TEXT NOT NULL",
      "passage_prefix TEXT NOT NULL",
      "documents INTEGER NOT NULL DEFAULT 0",
      "passages INTEGER NOT NULL DEFAULT 0",
      "created_at INTEGER NOT NULL",
      // Increases whenever documents are added or deleted.
      "changes INTEGER NOT NULL DEFAULT 0",
      // The model's weights as a server reported them; NULL if it reported none, or was not asked yet.
      "digest TEXT",
      // How Clew made the vectors.
      "making INTEGER NOT NULL DEFAULT 1"
    ]
  },
  // A document's content is its passages' leads and texts in order, and the tail: nothing is stored twice except
  // overlaps.
  documents: {
    columns: [
      "id INTEGER PRIMARY KEY AUTOINCREMENT",
      "collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE",
      "doc_id TEXT NOT NULL",
      "source TEXT",
      "title TEXT",
      "metadata TEXT NOT NULL",
      "fingerprint TEXT NOT NULL",
      "origin TEXT",
      "line INTEGER",
      "tail TEXT NOT NULL",
      "passages INTEGER NOT NULL",
      // No longer used: run numbers, which rise, replaced it.
      "seen_by INTEGER",
      "indexed_at INTEGER NOT NULL",
      // A document's passages have consecutive ids, so a filter need not read passages.
      "first_passage INTEGER",
      "seen_run INTEGER",
      // The name by which documents are listed, so that an index returns a page of them in order.
      "name TEXT GENERATED ALWAYS AS (coalesce(source, doc_id)) VIRTUAL",
      // A checksum of a document's texts, titles, metadata and spans; older documents have none.
      "crc INTEGER",
      // The language by which its words are stemmed, NULL until it is detected.
      "language TEXT",
      // A checksum of what a search shows of a document; older ones have none.
      "head_crc INTEGER"
    ]
  },
  passages: {
    columns: [
      "id INTEGER PRIMARY KEY AUTOINCREMENT",
      "document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE",
      "ordinal INTEGER NOT NULL",
      "lead TEXT NOT NULL",
      "text TEXT NOT NULL",
      "heading TEXT NOT NULL",
      "start INTEGER NOT NULL",
      '"end" INTEGER NOT NULL',
      "start_line INTEGER NOT NULL",
      "end_line INTEGER NOT NULL",
      // Page, slide, cell or time of a passage whose file is not text, as JSON.
      "locator TEXT",
      // A passage's column names, if it begins within a table.
      "table_header TEXT",
      "crc INTEGER"
    ]
  },
  // Metadata split up for filters: one row per scalar, and per element of a list; kind is s(tring), n(umber),
  // b(oolean), or o(ther) for a key without scalars.
  metadata_values: {
    columns: [
      "key TEXT NOT NULL",
      "kind TEXT NOT NULL",
      "value ANY NOT NULL",
      "document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE"
    ],
    constraint: "PRIMARY KEY (key, kind, value, document_id)",
    options: "STRICT, WITHOUT ROWID"
  },
  // A collection that is changing to another embedder; its passages up to and including `through` have new vectors, and
  // `done` is their number.
  reindexes: {
    columns: [
      "collection_id INTEGER PRIMARY KEY REFERENCES collections (id) ON DELETE CASCADE",
      "backend TEXT NOT NULL",
      "model TEXT NOT NULL",
      "dimensions INTEGER NOT NULL",
      "query_prefix TEXT NOT NULL",
      "passage_prefix TEXT NOT NULL",
      "through INTEGER NOT NULL DEFAULT 0",
      "done INTEGER NOT NULL DEFAULT 0",
      "digest TEXT",
      "making INTEGER NOT NULL DEFAULT 1"
    ]
  },
  // AUTOINCREMENT: the rows below belong to a segment's id, and those of a segment being deleted must not match a new
  // one. Segments and sets of codes name the version that made them; those of an older one are rebuilt.
  keyword_segments: {
    columns: [
      "id INTEGER PRIMARY KEY AUTOINCREMENT",
      "collection_id INTEGER NOT NULL",
      "state INTEGER NOT NULL",
      "stamp INTEGER NOT NULL",
      "passages INTEGER NOT NULL",
      "terms INTEGER NOT NULL",
      "dead INTEGER NOT NULL DEFAULT 0",
      "dead_terms INTEGER NOT NULL DEFAULT 0",
      "version INTEGER NOT NULL",
      "first_id INTEGER NOT NULL",
      "last_id INTEGER NOT NULL",
      "blocks INTEGER NOT NULL",
      "through BLOB",
      "inputs TEXT",
      "format INTEGER NOT NULL DEFAULT 0",
      "terms_version INTEGER NOT NULL DEFAULT 0",
      // The languages of its passages.
      "languages TEXT NOT NULL DEFAULT 'en'"
    ]
  },
  // In both tables, a segment has the rows from its id times 2^20 on.
  keyword_postings: { columns: ["id INTEGER PRIMARY KEY", "data BLOB NOT NULL", "crc INTEGER"] },
  keyword_tombstones: { columns: ["id INTEGER PRIMARY KEY", "bits BLOB NOT NULL", "crc INTEGER"] },
  code_sets: {
    columns: [
      "id INTEGER PRIMARY KEY AUTOINCREMENT",
      "collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE",
      "generation TEXT NOT NULL",
      "width INTEGER NOT NULL",
      "seed INTEGER NOT NULL",
      "rows INTEGER NOT NULL DEFAULT 0",
      "sequence INTEGER NOT NULL DEFAULT 0",
      "format INTEGER NOT NULL DEFAULT 0"
    ],
    constraint: "UNIQUE (collection_id, generation)"
  },
  code_epochs: {
    columns: [
      "set_id INTEGER NOT NULL REFERENCES code_sets (id) ON DELETE CASCADE",
      "epoch INTEGER NOT NULL",
      "rows INTEGER NOT NULL",
      "centroid BLOB NOT NULL",
      "crc INTEGER"
    ],
    constraint: "PRIMARY KEY (set_id, epoch)",
    options: "STRICT, WITHOUT ROWID"
  },
  // A block never changes: a changed one is stored as another, and versions are never reused. So a version identifies a
  // block's bytes for good, also for readers of an older state.
  code_blocks: {
    columns: [
      "version INTEGER PRIMARY KEY AUTOINCREMENT",
      "set_id INTEGER NOT NULL REFERENCES code_sets (id) ON DELETE CASCADE",
      "epoch INTEGER NOT NULL",
      "rows INTEGER NOT NULL",
      "first INTEGER NOT NULL",
      "last INTEGER NOT NULL",
      "body BLOB NOT NULL",
      "crc INTEGER"
    ]
  },
  // Runs have rising numbers, to distinguish what a later run saw from what none has seen since.
  run_numbers: { columns: ["id INTEGER PRIMARY KEY CHECK (id = 1)", "last INTEGER NOT NULL"] },
  // Shows whether a WAL belongs to this file; see file/marks.ts.
  file_mark: {
    columns: ["id INTEGER PRIMARY KEY CHECK (id = 1)", "before BLOB NOT NULL", "now BLOB NOT NULL"]
  },
  // Derived data being rebuilt; `through` is the last passage done. Segments up to `boundary` are the old ones.
  rebuilds: {
    columns: [
      "collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE",
      "kind TEXT NOT NULL",
      "format INTEGER NOT NULL",
      "terms_version INTEGER NOT NULL",
      "through INTEGER NOT NULL DEFAULT 0",
      "until INTEGER NOT NULL",
      "boundary INTEGER NOT NULL",
      "done INTEGER NOT NULL DEFAULT 0"
    ],
    constraint: "PRIMARY KEY (collection_id, kind)",
    options: "STRICT, WITHOUT ROWID"
  },
  // Records of files, so that an unchanged file need not be read. AUTOINCREMENT: a run holds ids.
  files: {
    columns: [
      "id INTEGER PRIMARY KEY AUTOINCREMENT",
      "collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE",
      "path TEXT NOT NULL",
      "size INTEGER",
      "modified_ns INTEGER",
      "changed_ns INTEGER",
      "inode INTEGER",
      "reader TEXT",
      "settings TEXT NOT NULL",
      "outcome TEXT NOT NULL",
      "reason TEXT",
      "documents INTEGER NOT NULL",
      "many INTEGER NOT NULL",
      "run INTEGER NOT NULL",
      "indexed_at INTEGER NOT NULL"
    ]
  },
  // The paths given to runs, so that a collection can be indexed again by its name alone.
  roots: {
    columns: [
      "collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE",
      "path TEXT NOT NULL",
      "include TEXT NOT NULL",
      "exclude TEXT NOT NULL",
      "run INTEGER NOT NULL"
    ],
    constraint: "PRIMARY KEY (collection_id, path)",
    options: "STRICT, WITHOUT ROWID"
  },
  // A passage's relations to entities, packed; a passage without a row has not been read yet.
  graph_passages: {
    columns: ["passage_id INTEGER PRIMARY KEY REFERENCES passages (id) ON DELETE CASCADE", "mentions BLOB NOT NULL"]
  },
  // The same, by entity. A document's passages have consecutive ids, so id and ordinal identify the document.
  graph_mentions: {
    columns: [
      "collection_id INTEGER NOT NULL",
      "entity INTEGER NOT NULL",
      "relation INTEGER NOT NULL",
      "passage_id INTEGER NOT NULL",
      "ordinal INTEGER NOT NULL"
    ],
    constraint: "PRIMARY KEY (collection_id, entity, relation, passage_id)",
    options: "STRICT, WITHOUT ROWID"
  },
  // The share of a collection's documents that the graph joins, and the state in which it was measured.
  graph_linkages: {
    columns: [
      "collection_id INTEGER PRIMARY KEY REFERENCES collections (id) ON DELETE CASCADE",
      "changes INTEGER NOT NULL",
      "documents INTEGER NOT NULL",
      "linkage REAL NOT NULL"
    ]
  },
  // A language model's answers about passages, with the hash of the question, by which a passage with the same words
  // finds them.
  graph_answers: {
    columns: [
      "passage_id INTEGER PRIMARY KEY REFERENCES passages (id) ON DELETE CASCADE",
      "asked TEXT NOT NULL",
      "model TEXT NOT NULL",
      "answer TEXT NOT NULL"
    ]
  },
  // Passages of a text that no word gives a direction, so that a lost vector is noticed.
  vectorless: {
    columns: [
      "passage_id INTEGER NOT NULL REFERENCES passages (id) ON DELETE CASCADE ON UPDATE CASCADE",
      "generation TEXT NOT NULL"
    ],
    constraint: "PRIMARY KEY (passage_id, generation)",
    options: "STRICT, WITHOUT ROWID"
  },
  // Space that deleting needs on a full disk.
  reserve: { columns: ["id INTEGER PRIMARY KEY", "body BLOB NOT NULL"] }
}

/** Indexes, and the first rows of tables that have exactly one. */
const statements = [
  "CREATE UNIQUE INDEX IF NOT EXISTS documents_doc_id ON documents (collection_id, doc_id)",
  "CREATE UNIQUE INDEX IF NOT EXISTS documents_source ON documents (collection_id, source) WHERE source IS NOT NULL",
  "CREATE INDEX IF NOT EXISTS documents_origin ON documents (collection_id, origin) WHERE origin IS NOT NULL",
  "CREATE INDEX IF NOT EXISTS documents_passages ON documents (collection_id, first_passage, passages)",
  "CREATE INDEX IF NOT EXISTS documents_unnamed ON documents (collection_id, doc_id) WHERE source IS NULL",
  "CREATE INDEX IF NOT EXISTS documents_name ON documents (collection_id, name, doc_id)",
  "CREATE INDEX IF NOT EXISTS documents_title ON documents (collection_id, title) WHERE title IS NOT NULL",
  // By content, so that a moved document keeps its vectors; part of the hash is small and distinguishes them.
  "CREATE INDEX IF NOT EXISTS documents_content ON documents (collection_id, substr(fingerprint, 1, 12))",
  "CREATE UNIQUE INDEX IF NOT EXISTS passages_document ON passages (document_id, ordinal)",
  "CREATE INDEX IF NOT EXISTS metadata_values_document ON metadata_values (document_id)",
  "CREATE INDEX IF NOT EXISTS keyword_segments_collection ON keyword_segments (collection_id, state, first_id)",
  "CREATE INDEX IF NOT EXISTS code_blocks_set ON code_blocks (set_id, epoch, rows, version, first, last)",
  "CREATE UNIQUE INDEX IF NOT EXISTS files_path ON files (collection_id, path)",
  "CREATE INDEX IF NOT EXISTS graph_answers_asked ON graph_answers (asked, model)",
  "INSERT OR IGNORE INTO run_numbers (id, last) VALUES (1, 0)",
  "INSERT OR IGNORE INTO file_mark (id, before, now) VALUES (1, randomblob(16), randomblob(16))"
]

/** What tables and columns of today hold for the documents of an index made before the schema that brought them. */
const fills: ReadonlyArray<readonly [before: number, statement: string]> = [
  [3, "UPDATE documents SET first_passage = (SELECT min(id) FROM passages WHERE document_id = documents.id)"],
  [
    7,
    `INSERT INTO files (collection_id, path, settings, outcome, documents, many, run, indexed_at)
     SELECT collection_id, origin, '', 'unfinished', count(*), count(*) > 1 OR max(line) IS NOT NULL, 0, max(indexed_at)
     FROM documents WHERE origin IS NOT NULL GROUP BY collection_id, origin`
  ],
  [
    9,
    `UPDATE reindexes SET done = (
       SELECT count(*) FROM documents AS d JOIN passages AS p ON p.document_id = d.id
       WHERE d.collection_id = reindexes.collection_id AND p.id <= reindexes.through)`
  ],
  // From schema 13 on, vectors were made as they are in schema 18.
  [
    18,
    `UPDATE collections SET making = 2 WHERE created_at >= 1000 *
       (SELECT CAST(strftime('%s', created_at) AS INTEGER) FROM clew_migrations WHERE migration_id = 13)`
  ],
  // Keys whose value is null, an object, or a list without scalars: before, filters took them for absent.
  [
    18,
    `INSERT OR IGNORE INTO metadata_values (key, kind, value, document_id)
     SELECT m.key, 'o', '', d.id
     FROM documents AS d JOIN json_each(CASE WHEN json_valid(d.metadata) THEN d.metadata ELSE '{}' END) AS m
     WHERE m.type IN ('null', 'object') OR (m.type = 'array' AND NOT EXISTS (
       SELECT 1 FROM json_each(m.value) AS e WHERE e.type NOT IN ('null', 'object', 'array')))`
  ],
  // Before, `user_version` was kept twice.
  [18, "DROP TABLE IF EXISTS clew_migrations"]
]

/** Passages without a vector as they are now: of a text that no word gives a direction, or lost before. */
const fillVectorless = (collection: number) =>
  `INSERT INTO vectorless (passage_id, generation)
   SELECT p.id, 'current' FROM documents AS d CROSS JOIN passages AS p ON p.document_id = d.id
   WHERE d.collection_id = ${collection} AND NOT EXISTS (SELECT 1 FROM vectors_${collection} WHERE passage_id = p.id)`

const addColumns = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  table: string,
  columns: ReadonlyArray<string>
) {
  const found = yield* sql.unsafe<{ readonly name: string }>("SELECT name FROM pragma_table_xinfo(?)", [table])
  const known = new Set(found.map(({ name }) => name))
  for (const column of columns) {
    const [name] = column.replaceAll('"', "").split(" ", 1)
    if (!known.has(name!)) yield* sql.unsafe(`ALTER TABLE ${table} ADD COLUMN ${column}`)
  }
})

/**
 * Brings a database from any older schema, 0 for an empty one, to `schemaVersion`, in the caller's transaction. Derived
 * data that another version made stay in use until they are rebuilt; FTS5's are dropped.
 */
export const migrate = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, from: number) {
  for (const [name, { columns, constraint, options = "STRICT" }] of Object.entries(tables)) {
    const parts = constraint === undefined ? columns : [...columns, constraint]
    yield* sql.unsafe(`CREATE TABLE IF NOT EXISTS ${name} (${parts.join(", ")}) ${options}`)
    if (from > 0) yield* addColumns(sql, name, columns)
  }
  for (const statement of statements) yield* sql.unsafe(statement)
  if (from > 0) {
    const tablesThat = (are: string) =>
      sql.unsafe<{ readonly name: string }>(`SELECT name FROM sqlite_schema WHERE type = 'table' AND ${are}`)
    const fts5 = yield* tablesThat("sql LIKE 'CREATE VIRTUAL TABLE%USING fts5%'")
    for (const { name } of fts5) yield* sql.unsafe(`DROP TABLE ${name}`)
    const vectors = yield* tablesThat("name GLOB 'vectors_[0-9]*'")
    for (const { name } of vectors) yield* addColumns(sql, name, ["crc INTEGER"])
    for (const [before, statement] of fills) if (from < before) yield* sql.unsafe(statement)
    const filled = yield* sql.unsafe<{ readonly id: number }>(
      `SELECT id FROM collections AS c
       WHERE name < '~' AND EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'vectors_' || c.id)`
    )
    for (const { id } of filled) yield* sql.unsafe(fillVectorless(id))
  }
  yield* sql.unsafe(`PRAGMA user_version = ${schemaVersion}`)
})
