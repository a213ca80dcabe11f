import Database from "better-sqlite3"
import type { KeywordRow } from "../src/postings/build.ts"
import { isLoneCharacter } from "../src/terms/scan.ts"
import { rankedTerms, salient, terms } from "../src/terms/terms.ts"

/** The ASCII punctuation that terms may contain: `tokenchars` of FTS5's `ascii` tokenizer. */
const termPunctuation = "+#.-/"

const phrase = (term: string): string => `"${term.replaceAll('"', '""')}"${isLoneCharacter(term) ? "*" : ""}`

/** FTS5's expression for any of a query's terms; empty without terms, which FTS5 refuses. */
export const expression = (query: string): string =>
  [...salient(rankedTerms(query))].flatMap(([term, count]) => new Array<string>(count).fill(phrase(term))).join(" OR ")

/** FTS5 over the same terms, with the same weights: what our postings are held against. */
export const fts5 = (rows: Iterable<KeywordRow>) => {
  const db = new Database(":memory:")
  db.exec(`
    CREATE VIRTUAL TABLE t USING fts5 (title, heading, text, content = '', tokenize = "ascii tokenchars '${termPunctuation}'");
    INSERT INTO t (t, rank) VALUES ('rank', 'bm25(3, 1, 1)');
    CREATE VIRTUAL TABLE vocabulary USING fts5vocab (t, 'row');
    BEGIN
  `)
  const insert = db.prepare("INSERT INTO t (rowid, title, heading, text) VALUES (?, ?, ?, ?)")
  const joined = (text: string) => terms(text).join(" ")
  for (const { heading, id, text, title } of rows) insert.run(id, joined(title), joined(heading), joined(text))
  db.exec("COMMIT")
  const select = db.prepare<[string, number], { readonly id: number; readonly score: number }>(
    "SELECT rowid AS id, -rank AS score FROM t WHERE t MATCH ? ORDER BY rank, rowid LIMIT ?"
  )
  return {
    /** The best passages with their scores, best first; ties by id. */
    search: (query: string, limit = -1) => {
      const match = expression(query)
      return match === "" ? [] : select.all(match, limit)
    },
    vocabulary: () => db.prepare("SELECT term FROM vocabulary").pluck().all() as ReadonlyArray<string>,
    close: () => db.close()
  }
}
