import { join } from "node:path"
import { type Data, passageAt, type Task, topK } from "./data.ts"
import type { Result } from "./result.ts"
import { measure } from "./timing.ts"
import { built } from "./vec0.ts"

/** SQLite's full-text search as usually configured: its own stemmer, any of the query's words, its own BM25. */
export const fts5 = async ({ queries, source }: Data, { size, work }: Task): Promise<Result> => {
  const { bytes, db, seconds } = built(join(work, `fts5-${source.hash}-${size}.db`), (db) => {
    db.exec("CREATE VIRTUAL TABLE t USING fts5 (title, text, content = '', tokenize = 'porter unicode61')")
    const insert = db.prepare("INSERT INTO t (rowid, title, text) VALUES (?, ?, ?)")
    for (let at = 0; at < size; at += 1000) {
      db.transaction(() => {
        for (let row = at; row < Math.min(size, at + 1000); row++) {
          const { text, title } = passageAt(source, row)
          insert.run(row + 1, title, text)
        }
      })()
    }
  })
  const select = db.prepare(`SELECT rowid - 1 FROM t WHERE t MATCH ? ORDER BY rank LIMIT ${topK}`).pluck()
  const expression = (text: string) => (text.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => `"${word}"`).join(" OR ")
  const row = await measure(
    "FTS5 keyword",
    queries,
    undefined,
    ({ text }) => select.all(expression(text)) as Array<number>
  )
  return { rows: [row], buildSeconds: seconds, rss: process.memoryUsage().rss, bytes, notes: [] }
}
