import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { sortable, unsortable } from "../core/clauses.ts"
import { type Sql, first, only } from "./rows.ts"

/**
 * Where PostgreSQL and SQLite differ. All other statements are the same: they write parameters as `?` and lists of numbers
 * as `json_each(?)`, which PostgreSQL's client translates (`postgres/client.ts`).
 */
export interface Dialect {
  /** A column's numbers as one text with commas, since transferring a row costs more than reading it. */
  readonly digits: (column: string, order?: string) => string
  /** Rows as one text, a JSON list of lists. */
  readonly jsonRows: (columns: string, order?: string) => string
  /** A text of `jsonRows`, in which the client does not undo what it did to store it. */
  readonly textIn: (text: string) => string
  /** A list of texts as a table with the column `value`; its parameter is made by `list`. */
  readonly texts: (table: string) => string
  /** Rows as a table whose column `value` is a JSON list; its parameter is a JSON list of them. */
  readonly rows: (table: string) => string
  /** Whether a column contains a text. */
  readonly contains: (column: string) => string
  /** Compares a column with a pattern, which `pattern` makes of a glob in which only `*` and `?` are special. */
  readonly like: (column: string, pattern: string) => string
  readonly pattern: (glob: string) => string
  /** A metadata value as columns: the value as the database compares it within one kind, and before it what finds it. */
  readonly scalar: (value: string | number | boolean) => Readonly<Record<string, string | number>>
  /** A metadata value as it was before `scalar` made columns of it. */
  readonly read: (kind: "s" | "n" | "b", value: string | number) => string | number | boolean
  /**
   * The columns by which an index orders a text: keys of PostgreSQL's indexes are short, so its indexes have the text's
   * first characters; SQLite's index of titles ignores their case.
   */
  readonly indexed: (column: string) => ReadonlyArray<string>
  /** By what an index finds a title whatever the case of its English letters: the title, or its beginning. */
  readonly caseless: (title: string) => string
  /** The first of the next row ids of a table. The caller holds the write lock, so nobody else gets them; or asks for none. */
  readonly nextIds: (sql: Sql, table: "documents" | "passages", count: number) => Effect.Effect<number, SqlError>
  /** A text of any length in a unique index. */
  readonly key: (column: string) => string
  /** Whether the files of its documents are on this machine, as they are beside a database that is a file. */
  readonly hasFiles: boolean
  /** A statement that ends a transaction that has stored documents. */
  readonly reserve: string | undefined
  /** A statement that tells how many rows this connection has changed, if the database counts them. */
  readonly changes: string | undefined
}

/** The beginning of a text in lower case, as far as the alphabet is English. */
export const caselessStart = (text: string): string => `lower(substr(${text}, 1, 80))`

/** Characters of a text that PostgreSQL's indexes hold: at most a kilobyte of the 2,700 bytes of a key. */
const indexedCharacters = 256

const sqlite: Dialect = {
  digits: (column) => `CAST(group_concat(${column}) AS BLOB)`,
  jsonRows: (columns) => `json_group_array(json_array(${columns}))`,
  textIn: (text) => text,
  texts: (table) => `json_each(?) AS ${table}`,
  rows: (table) => `json_each(?) AS ${table}`,
  contains: (column) => `instr(${column}, ?) > 0`,
  like: (column, pattern) => `${column} GLOB ${pattern}`,
  // Its bracket classes are escaped.
  pattern: (glob) => glob.replaceAll("[", "[[]"),
  scalar: (value) => ({ value: typeof value === "boolean" ? Number(value) : value }),
  read: (kind, value) => (kind === "b" ? value === 1 : value),
  indexed: (column) => (column === "d.title" ? [sqlite.caseless(column), column] : [column]),
  caseless: (title) => `${title} COLLATE NOCASE`,
  key: (column) => column,
  hasFiles: true,
  nextIds: (sql, table) =>
    Effect.map(first<number>(sql, "SELECT seq FROM sqlite_sequence WHERE name = ?", [table]), (last = 0) => last + 1),
  // Space in the file for deleting on a full disk, which frees space only in the end: enough for the documents of an
  // index of some hundred megabytes.
  reserve: `INSERT INTO reserve (id, body) SELECT 1, zeroblob(${256 * 1024}) WHERE NOT EXISTS (SELECT 1 FROM reserve)`,
  changes: "SELECT total_changes() AS count"
}

/**
 * PostgreSQL has no U+0000 in texts. It and U+0001 become two characters each, which keep the order of texts and are
 * undone when they are read.
 */
export const escaped = (text: string): string =>
  /[\0\x01]/.test(text) ? text.replace(/[\0\x01]/g, (sign) => (sign === "\0" ? "\x01\x01" : "\x01\x02")) : text

export const unescaped = (text: string): string =>
  text.includes("\x01") ? text.replace(/\x01([\x01\x02])/g, (_, sign) => (sign === "\x01" ? "\0" : "\x01")) : text

const postgres: Dialect = {
  digits: (column, order) => `convert_to(string_agg(${column}::text, ','${order ? ` ORDER BY ${order}` : ""}), 'UTF8')`,
  jsonRows: (columns, order) =>
    `coalesce(json_agg(json_build_array(${columns})${order ? ` ORDER BY ${order}` : ""}), '[]')::text`,
  textIn: unescaped,
  texts: (table) => `unnest(?::text[]) AS ${table} (value)`,
  rows: (table) => `json_array_elements(?::json) AS ${table} (value)`,
  contains: (column) => `strpos(${column}, ?) > 0`,
  like: (column, pattern) => `${column} LIKE ${pattern}`,
  pattern: (glob) =>
    glob
      .replace(/[\\%_]/g, "\\$&")
      .replaceAll("*", "%")
      .replaceAll("?", "_"),
  scalar: (given) => {
    const value = typeof given === "number" ? sortable(given) : String(given)
    // By code points, which sort as their bytes do.
    const head =
      value.length > indexedCharacters
        ? Array.from(value.slice(0, 2 * indexedCharacters)).slice(0, indexedCharacters)
        : [value]
    return { head: head.join(""), value }
  },
  read: (kind, value) => (kind === "b" ? value === "true" : kind === "n" ? unsortable(String(value)) : value),
  hasFiles: false,
  key: (column) => `md5(${column})`,
  indexed: (column) => [`left(${column}, ${indexedCharacters})`, column],
  caseless: caselessStart,
  nextIds: (sql, table, count) =>
    count === 0
      ? only(sql, "SELECT next FROM row_ids WHERE name = ?", [table])
      : only(sql, "UPDATE row_ids SET next = next + ? WHERE name = ? RETURNING next - ? AS next", [
          count,
          table,
          count
        ]),
  reserve: undefined,
  changes: undefined
}

export const dialectOf = (sql: Sql): Dialect => sql.onDialectOrElse({ pg: () => postgres, orElse: () => sqlite })

/** Whether two texts are equal, as an index that orders by the first finds it; a parameter is bound once for each column. */
export const same = ({ indexed }: Dialect, column: string, other: string): string =>
  indexed(column)
    .map((one, at) => `${one} = ${indexed(other)[at]!}`)
    .join(" AND ")
