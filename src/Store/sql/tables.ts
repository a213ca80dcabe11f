/** A table as SQLite declares it; PostgreSQL's types are made from these (`postgres/schema.ts`). */
interface Table {
  /** Later ones are added to older indexes in this order, so a new column goes to the end. */
  readonly columns: ReadonlyArray<string>
  readonly constraint?: string
  readonly options?: string
}

/** A document's passages have consecutive ids, so id and ordinal identify the document. */
const byEntity: Table = {
  columns: [
    "collection_id INTEGER NOT NULL",
    "entity INTEGER NOT NULL",
    "relation INTEGER NOT NULL",
    "passage_id INTEGER NOT NULL",
    "ordinal INTEGER NOT NULL"
  ],
  constraint: "PRIMARY KEY (collection_id, entity, relation, passage_id)",
  options: "STRICT, WITHOUT ROWID"
}

export const tables: Readonly<Record<string, Table>> = {
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
  // The same, by entity; recent ones of a large collection in a table of their own (graph/byEntity.ts).
  graph_mentions: byEntity,
  graph_recent: byEntity,
  // The keys of the entities that are mentioned, so that names are found by their beginnings.
  graph_names: {
    columns: ["collection_id INTEGER NOT NULL", "entity INTEGER NOT NULL", "key TEXT NOT NULL"],
    constraint: "PRIMARY KEY (collection_id, entity)",
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

/** The indexes that every database has alike. */
export const indexes = [
  "CREATE INDEX IF NOT EXISTS documents_passages ON documents (collection_id, first_passage, passages)",
  "CREATE UNIQUE INDEX IF NOT EXISTS passages_document ON passages (document_id, ordinal)",
  "CREATE INDEX IF NOT EXISTS metadata_values_document ON metadata_values (document_id)",
  "CREATE INDEX IF NOT EXISTS keyword_segments_collection ON keyword_segments (collection_id, state, first_id)",
  "CREATE INDEX IF NOT EXISTS code_blocks_set ON code_blocks (set_id, epoch, rows, version, first, last)",
  "CREATE INDEX IF NOT EXISTS graph_names_key ON graph_names (collection_id, key)",
  "CREATE INDEX IF NOT EXISTS graph_answers_asked ON graph_answers (asked, model)"
]

/**
 * Collections being deleted have names starting with `~`, which sort after every valid name. Their rows are the only
 * record of them, so any later process can continue.
 */
export const isPresent = "name < '~'"

/** The ids of collections being deleted. */
export const hiddenCollections = "SELECT id FROM collections WHERE name >= '~'"

/** The graphs of an older index, which have no names: they are made again, and used meanwhile. */
export const rebuildGraphs = `INSERT INTO rebuilds (collection_id, kind, format, terms_version, until, boundary)
  SELECT c.id, 'graph', 1, 0, (SELECT coalesce(max(id), 0) FROM passages), 0 FROM collections AS c
  WHERE c.name < '~' AND EXISTS (SELECT 1 FROM graph_mentions AS m WHERE m.collection_id = c.id)
  ON CONFLICT DO NOTHING`
