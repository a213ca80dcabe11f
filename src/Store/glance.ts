import Sqlite from "better-sqlite3"
import { isPresent, hiddenCollections } from "./sql/tables.ts"

const looked = 60

/**
 * Reads the collections of an index, whether the graph joins documents in any, and sources of documents spread over the
 * index: without the program's layers, in a few milliseconds. Undefined if no such index can be read.
 */
export const glance = (filename: string) => {
  try {
    const database = new Sqlite(filename, { readonly: true, fileMustExist: true, timeout: 50 })
    try {
      const collections = database
        .prepare(`SELECT name, documents FROM collections WHERE ${isPresent} ORDER BY name LIMIT 1000`)
        .all() as ReadonlyArray<{ readonly name: string; readonly documents: number }>
      const swept = new Set(database.prepare(hiddenCollections).pluck().all())
      const { last } = database.prepare("SELECT coalesce(max(id), 0) AS last FROM documents").get() as { last: number }
      const next = database.prepare("SELECT id, source, collection_id FROM documents WHERE id >= ? ORDER BY id LIMIT 1")
      const found = new Map<number, string | null>()
      for (let place = 0; place < looked; place++) {
        const row = next.get(Math.ceil((place * last) / (looked - 1))) as
          | { readonly id: number; readonly source: string | null; readonly collection_id: number }
          | undefined
        if (row !== undefined && !swept.has(row.collection_id)) found.set(row.id, row.source)
      }
      // An older schema has no linkage; opening the index for writing upgrades it.
      const kept = database.prepare("SELECT 1 FROM pragma_table_info('graph_linkages') LIMIT 1").get() !== undefined
      const joined =
        kept &&
        database
          .prepare(
            `SELECT 1 FROM graph_linkages WHERE linkage > 0
             AND collection_id IN (SELECT id FROM collections WHERE ${isPresent}) LIMIT 1`
          )
          .get() !== undefined
      return { collections, joined, sources: [...found.values()].filter((source) => source !== null) }
    } finally {
      database.close()
    }
  } catch {
    return undefined
  }
}
