import type { SqlError } from "@effect/sql/SqlError"
import Sqlite from "better-sqlite3"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as fs from "node:fs"
import { StoreUnavailable } from "../../Store.ts"
import { fromStored } from "../../entities/said.ts"
import { crcOf } from "../crc.ts"
import { type SqliteClient, transaction } from "../sqlite/client.ts"
import { client, open } from "../sqlite/connect.ts"
import { isBusy, isUnreadable } from "../sqlite/errors.ts"
import { exclusively, inUse, move, partial } from "../sqlite/file/exchange.ts"
import { inspect, trying } from "../sqlite/file/inspect.ts"
import { type Header, type RawFile, besides, statOf } from "../sqlite/file/place.ts"
import type { StoredAnswer } from "../core/graph.ts"
import type { CheckedRow, DocumentRow } from "../core/passage.ts"
import { codeOf, messageOf } from "../sql/errors.ts"
import { drop } from "../sql/rebuild.ts"
import { insertRows, column, first, only } from "../sql/rows.ts"
import { isPresent } from "../sql/tables.ts"
import { vectorTable } from "../sql/vectorTable.ts"
import { schemaVersion } from "../sqlite/schema.ts"
import { isIntact } from "./documents.ts"
import { altered, fresh } from "./structure.ts"

type Sql = SqliteClient
type Values = Readonly<Record<string, unknown>>

/** Rows per read: smaller and smaller, down to one, while a read fails. */
const amounts = [256, 32, 4, 1]

/** In a table of at most so many keys, each key of a gap is tried; in a larger one, as many places of it. */
const mostTried = 65_536

/** A table or column that the damaged list does not name. */
const isMissing = (error: SqlError): boolean => /^no such (?:table|column)/.test(messageOf(error))

const orElse = <A, B>(effect: Effect.Effect<A, SqlError>, other: B): Effect.Effect<A | B, SqlError> =>
  Effect.catchIf(
    effect,
    (error) => isUnreadable(error) || isMissing(error),
    () => Effect.succeed(other)
  )

/** Columns whose numbers are beyond 2^53, and so read as text. */
const large = new Set(["modified_ns", "changed_ns", "inode"])

/**
 * Gives `use` the readable rows of a damaged table by rising ids, and skips what cannot be read. Pages that point back,
 * or to another table, give ids that do not rise.
 */
const eachReadable = Effect.fnUntraced(function* <Row extends { readonly id: number }, R>(
  from: Sql,
  table: string,
  columns: ReadonlyArray<string>,
  use: (rows: ReadonlyArray<Row>) => Effect.Effect<unknown, SqlError, R>
) {
  const largest = (statement: string, params: ReadonlyArray<unknown>) =>
    Effect.map(orElse(first<number | null>(from, statement, params), null), (id) => id ?? 0)
  const last = Math.max(
    yield* largest(`SELECT max(id) AS id FROM ${table}`, []),
    yield* largest("SELECT max(seq) AS id FROM sqlite_sequence WHERE name = ?", [table])
  )
  const names = columns.map((name) => (large.has(name) ? `CAST(${name} AS TEXT) AS ${name}` : `"${name}"`)).join(", ")
  const read = (after: number, most: number) =>
    Effect.map(
      orElse(
        from.unsafe<Row>(`SELECT ${names} FROM ${table} NOT INDEXED WHERE id > ? ORDER BY id LIMIT ?`, [after, most]),
        undefined
      ),
      (rows) => {
        const end = rows?.findIndex(({ id }, at) => !(id > (at === 0 ? after : rows[at - 1]!.id))) ?? 0
        return end === 0 ? undefined : end < 0 ? rows : rows?.slice(0, end)
      }
    )
  const step = Math.max(1, Math.ceil(last / mostTried))
  const behind = Effect.fnUntraced(function* (gap: number) {
    let place = gap + step
    while (place < last && (yield* read(place, 1)) === undefined) place += step
    for (let at = place - step + 1; at < place; at++) if ((yield* read(at, 1)) !== undefined) return at
    return place
  })
  for (let after = 0; after < last;) {
    let rows: ReadonlyArray<Row> | undefined
    for (const most of amounts) {
      rows = yield* read(after, most)
      if (rows !== undefined) break
    }
    if (rows === undefined) after = yield* behind(after)
    else {
      const end = rows.at(-1)
      if (end === undefined) return
      yield* use(rows)
      after = end.id
    }
  }
})

const picked = (row: object, columns: ReadonlyArray<string>): Values =>
  Object.fromEntries(columns.map((column) => [column, (row as Values)[column]]))

/** Inserts a row; false: the table rejects it, because a value is invalid or must be unique. */
const inserted = (to: Sql, table: string, columns: ReadonlyArray<string>, row: Values) =>
  insertRows(to, table, [picked(row, columns)]).pipe(
    Effect.as(true),
    Effect.catchIf(
      (error) => /^SQLITE_(CONSTRAINT|MISMATCH)/.test(codeOf(error)),
      () => Effect.succeed(false)
    )
  )

/** Inserts rows, without those that the table rejects. */
const insertedEach = (to: Sql, table: string, rows: ReadonlyArray<object>) =>
  Effect.forEach(rows, (row) => inserted(to, table, Object.keys(row), row as Values), { discard: true })

const columnsOf = (sql: Sql, table: string) => column<string>(sql, "SELECT name FROM pragma_table_info(?)", [table])

/** Copies a table whose rows are independent; leaves out rows that the new table rejects. */
const copyTable = Effect.fnUntraced(function* (
  from: Sql,
  to: Sql,
  table: string,
  use: (row: Values) => Effect.Effect<unknown, SqlError> = () => Effect.void
) {
  const columns = yield* columnsOf(to, table)
  yield* eachReadable<Values & { readonly id: number }, never>(from, table, columns, (rows) =>
    Effect.forEach(rows, (row) =>
      Effect.flatMap(inserted(to, table, columns, row), (isIn) => (isIn ? use(row) : Effect.void))
    ).pipe(transaction(to, "BEGIN IMMEDIATE"))
  )
})

/** A document's passages, read by their consecutive numbers, since the passages' index may be damaged. */
const passagesOf = (from: Sql, { first_passage: first, id, passages }: DocumentRow) =>
  Number.isSafeInteger(first) && Number.isSafeInteger(passages) && passages >= 0
    ? orElse(
        from.unsafe<CheckedRow>(
          `SELECT * FROM passages NOT INDEXED WHERE id BETWEEN ? AND ? AND document_id = ? ORDER BY id LIMIT ?`,
          [first, first! + passages - 1, id, passages]
        ),
        []
      )
    : Effect.succeed([])

/** Vectors that are as they were stored; the others are made again later. */
const vectorsOf = (from: Sql, collection: number, width: number, { first_passage: first, passages }: DocumentRow) =>
  Effect.map(
    orElse(
      from.unsafe<{ readonly passage_id: number; readonly vector: Uint8Array; readonly crc: number | null }>(
        `SELECT passage_id, vector, crc FROM ${vectorTable(from).of(collection)} WHERE passage_id BETWEEN ? AND ? LIMIT ?`,
        [first, first === null ? null : first + passages - 1, passages]
      ),
      []
    ),
    (rows) =>
      rows.filter(
        ({ crc, passage_id, vector }) =>
          vector instanceof Uint8Array &&
          vector.length === 4 * width &&
          (crc === null || crcOf(vector, passage_id) === crc)
      )
  )

/** What a model said about a document's passages, which only another call could tell again. */
const answersOf = (from: Sql, { first_passage: first, passages }: DocumentRow) =>
  Effect.map(
    orElse(
      from.unsafe<StoredAnswer & { readonly passage_id: number }>(
        "SELECT passage_id, asked, model, answer FROM graph_answers WHERE passage_id BETWEEN ? AND ? LIMIT ?",
        [first, first === null ? null : first + passages - 1, passages]
      ),
      []
    ),
    (rows) => rows.filter(({ answer }) => Option.isSome(fromStored(answer)))
  )

interface Named {
  readonly id: number
  readonly name: string
}

/** Names of a collection's documents, from a separate index, as far as it can be read. */
const eachName = Effect.fnUntraced(function* (from: Sql, collection: number, use: (id: number, name: string) => void) {
  for (let after = ""; ;) {
    const rows: ReadonlyArray<Named> = yield* orElse(
      from.unsafe<Named>(
        `SELECT id, name FROM documents INDEXED BY documents_name WHERE collection_id = ? AND name > ?
         ORDER BY name LIMIT 1000`,
        [collection, after]
      ),
      []
    )
    const last = rows.at(-1)
    if (last === undefined || !(last.name > after)) return
    after = last.name
    for (const { id, name } of rows) use(id, name)
  }
})

/**
 * Copies what can be read and is as it was stored into a new index, and returns how many documents it has and which are
 * lost, as far as their names can be read; what is derived is made again later.
 */
const copyRows = Effect.fnUntraced(function* (from: Sql, to: Sql) {
  const widths = new Map<number, number>()
  let counted = 0
  yield* copyTable(from, to, "collections", ({ dimensions, documents, id }) => {
    widths.set(id as number, dimensions as number)
    counted += documents as number
    return vectorTable(to).create(id as number, "current")
  })
  const hidden = yield* to.unsafe<{ readonly id: number; readonly documents: number }>(
    `DELETE FROM collections WHERE NOT (${isPresent}) RETURNING id, documents`
  )
  for (const { documents, id } of hidden) {
    widths.delete(id)
    counted -= documents
    yield* to.unsafe(`DROP TABLE ${vectorTable(to).of(id)}`)
  }

  // Documents whose collection is lost get another when the rows are mended.
  yield* to.unsafe("PRAGMA foreign_keys = OFF")
  const columns = yield* columnsOf(to, "documents")
  const parts = yield* columnsOf(to, "passages")
  const kept = new Set<number>()
  const lost = new Map<number, string>()
  const keep = Effect.fnUntraced(function* (row: DocumentRow & Values) {
    if (hidden.some(({ id }) => id === row.collection_id)) return
    const width = widths.get(row.collection_id)
    const passages = yield* passagesOf(from, row)
    const whole = isIntact(row, passages)
    const found = whole && width !== undefined ? yield* vectorsOf(from, row.collection_id, width, row) : []
    const answers = whole ? yield* answersOf(from, row) : []
    // Reads inside a transaction go to the database that the transaction belongs to.
    const isKept = yield* Effect.gen(function* () {
      if (!whole || !(yield* inserted(to, "documents", columns, row))) return false
      yield* insertRows(
        to,
        "passages",
        passages.map((passage) => picked(passage, parts))
      )
      yield* insertedEach(to, vectorTable(to).of(row.collection_id), found)
      yield* insertedEach(to, "graph_answers", answers)
      return true
    }).pipe(transaction(to, "BEGIN IMMEDIATE"))
    if (isKept) kept.add(row.id)
    else lost.set(row.id, row.source ?? row.doc_id)
  })
  yield* eachReadable<DocumentRow & Values, never>(from, "documents", columns, (rows) =>
    Effect.forEach(rows, keep, { discard: true })
  )
  for (const collection of widths.keys()) {
    yield* eachName(from, collection, (id, name) => kept.has(id) || lost.set(id, name))
    const inGraph = yield* orElse(
      from.unsafe("SELECT 1 FROM graph_mentions WHERE collection_id = ? LIMIT 1", [collection]),
      [{}]
    )
    if (inGraph.length > 0) yield* drop(to, collection, "graph")
  }

  yield* copyTable(from, to, "files")
  // The next `index` reads the files of missing documents again.
  yield* to.unsafe(
    `UPDATE files SET size = NULL, outcome = 'unfinished', settings = '' WHERE documents <>
       (SELECT count(*) FROM documents AS d WHERE d.collection_id = files.collection_id AND d.origin = files.path)`
  )
  const rootColumns = yield* columnsOf(to, "roots")
  for (const root of yield* orElse(from.unsafe<Values>("SELECT * FROM roots"), [])) {
    yield* inserted(to, "roots", rootColumns, root)
  }
  const reindexes = yield* orElse(from.unsafe("SELECT 1 FROM reindexes LIMIT 1"), [])
  return {
    documents: kept.size,
    lost: [...lost.values()],
    missing: Math.max(lost.size, counted - kept.size),
    wasReindexing: reindexes.length > 0
  }
})

const mostNamed = 1000

const sentences = (
  kept: string,
  { documents, lost, missing, wasReindexing }: Effect.Effect.Success<ReturnType<typeof copyRows>>
): ReadonlyArray<string> => {
  const unnamed = missing - Math.min(lost.length, mostNamed)
  const names = lost.slice(0, mostNamed).join(", ")
  return [
    `${documents} documents could be read and are in a new file; the damaged one is ${kept}`,
    ...(missing > 0
      ? [
          `${missing} documents are lost${names === "" ? "" : `: ${names}`}${names !== "" && unnamed > 0 ? ` and ${unnamed} more` : ""}; ` +
            "the next `clew index` restores documents that came from files; index the others again yourself"
        ]
      : documents === 0
        ? ["its content is unknown; run `clew index` on your files again"]
        : []),
    ...(wasReindexing ? ["the next `clew reindex` starts the change of embedder over"] : [])
  ]
}

type Definitions = Effect.Effect.Success<typeof fresh>

/** Where a file's header has its number of pages. */
const pagesAt = 28

/** The name of a table or index whose definition SQLite cannot parse. */
const brokenDefinition = (database: Sqlite.Database): string | undefined => {
  try {
    database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get()
    return undefined
  } catch (error) {
    return /^malformed database schema \((.*?)\)(?: - |$)/s.exec((error as Error).message)?.[1]
  }
}

/**
 * Lets SQLite read a copy whose list of tables and indices is damaged: one flipped bit there makes every row
 * unreadable. What is defined otherwise than in a new index is defined as there, if the copy has its schema; what still
 * cannot be parsed is taken off the list, and SQLite names one at a time.
 */
const mendDefinitions = (copied: string, definitions: Definitions): void => {
  const step = (database: Sqlite.Database): boolean => {
    // Otherwise the list is read-only.
    database.unsafeMode(true)
    const broken = brokenDefinition(database)
    database.pragma("writable_schema = ON")
    const set = database.prepare("UPDATE sqlite_schema SET sql = $sql WHERE name = $name AND sql IS NOT $sql")
    const isCurrent = database.pragma("user_version", { simple: true }) === schemaVersion
    const mended = isCurrent ? definitions.map((definition) => set.run(definition).changes) : []
    if (mended.some((changes) => changes > 0)) return true
    return broken !== undefined && database.prepare("DELETE FROM sqlite_schema WHERE name = ?").run(broken).changes > 0
  }
  for (let left = 1000; left > 0; left--) {
    const database = new Sqlite(copied)
    try {
      if (!step(database)) return
    } catch {
      // The list's own pages are damaged.
      return
    } finally {
      database.close()
    }
  }
}

/** Copies an index through its raw descriptor: to open and close the file again would end this process's locks on it. */
const copyThrough = ({ fd }: RawFile, target: string): void => {
  const to = fs.openSync(target, "w", 0o600)
  try {
    const piece = Buffer.allocUnsafe(1 << 20)
    for (let at = 0; ;) {
      const read = fs.readSync(fd, piece, 0, piece.length, at)
      if (read === 0) return
      at += fs.writeSync(to, piece, 0, read)
    }
  } finally {
    fs.closeSync(to)
  }
}

/**
 * The damaged file to read: itself, locked against other processes, or if SQLite cannot read it as it is, a copy whose
 * header tells its length, and whose list of tables can be read.
 */
const source = Effect.fnUntraced(function* (filename: string, raw: RawFile, { pageBytes, pages }: Header) {
  const definitions = yield* fresh
  const { size } = yield* trying(filename, () => fs.statSync(filename))
  const held = yield* Effect.either(exclusively(filename))
  if (held._tag === "Left" && isBusy(held.left)) {
    return yield* new StoreUnavailable({
      reason: `${inUse(filename)}; stop it, then run \`clew doctor --fix\` again`
    })
  }
  if (held._tag === "Right" && size === pages * pageBytes) {
    // The header may tell an older version than the WAL, which is in the file only now.
    const version = yield* orElse(only<number>(held.right, "PRAGMA user_version"), schemaVersion)
    const others = version === schemaVersion ? yield* orElse(altered(held.right, definitions), definitions) : []
    if (others.length === 0) return held.right
  }
  const copied = yield* partial(`${filename}.damaged`)
  yield* trying(filename, () => {
    copyThrough(raw, copied)
    const pagesFound = Math.ceil(size / pageBytes)
    fs.truncateSync(copied, pagesFound * pageBytes)
    const header = fs.openSync(copied, "r+")
    try {
      const count = Buffer.alloc(4)
      count.writeUInt32BE(pagesFound)
      fs.writeSync(header, count, 0, count.length, pagesAt)
    } finally {
      fs.closeSync(header)
    }
    const wal = `${filename}-wal`
    if (statOf(wal) !== undefined) fs.copyFileSync(wal, `${copied}-wal`)
    mendDefinitions(copied, definitions)
  })
  return yield* client(copied, false)
})

/** Gives a file a second name; if the file system has no hard links, renames it. */
const keepAs = (filename: string, name: string): void => {
  try {
    fs.linkSync(filename, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw error
    fs.renameSync(filename, name)
  }
}

/** Salvages an index; see `Examining.salvage`. */
export const salvage = (filename: string) =>
  Effect.gen(function* () {
    const { header, raw } = yield* inspect(filename, "existing")
    const from = yield* source(filename, raw, header!)
    const made = yield* partial(filename)
    const found = yield* Effect.scoped(
      Effect.flatMap(open({ filename: made, mode: "create" }), ({ sql }) => copyRows(from, sql))
    )
    const kept = `${filename}.${yield* Clock.currentTimeMillis}.before-fix`
    yield* trying(filename, () => {
      for (const file of besides(filename)) {
        if (statOf(file) !== undefined) fs.renameSync(file, kept + file.slice(filename.length))
      }
      keepAs(filename, kept)
      move(made, filename)
    })
    return { kept, done: sentences(kept, found) }
  }).pipe(Effect.scoped)
