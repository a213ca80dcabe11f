import Database from "better-sqlite3"
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as sqliteVec from "sqlite-vec"
import { type Data, passageAt, shares, type Task, topK } from "./data.ts"
import type { Result, Row, Truth } from "./result.ts"
import { measure } from "./timing.ts"

/** Candidates by bit codes that are rescored by their floats, as a multiple of the hits. */
const oversample = 16

const columns = { "1 %": "one", "10 %": "ten", "50 %": "half" } as const

const blob = (rows: Float32Array, row: number, width: number) =>
  Buffer.from(rows.buffer, rows.byteOffset + row * width * 4, width * 4)

const batch = 1000

/** A peer's database: built beside its place and moved there when complete, with the time that took. */
export const built = (file: string, make: (db: Database.Database) => void) => {
  const took = `${file}.json`
  if (!existsSync(took)) {
    for (const old of [file, `${file}.part`]) rmSync(old, { force: true })
    const started = performance.now()
    const db = new Database(`${file}.part`)
    sqliteVec.load(db)
    db.pragma("journal_mode = WAL")
    db.pragma("synchronous = NORMAL")
    make(db)
    db.pragma("wal_checkpoint(TRUNCATE)")
    db.close()
    renameSync(`${file}.part`, file)
    writeFileSync(took, JSON.stringify((performance.now() - started) / 1000))
  }
  const db = new Database(file, { readonly: true })
  sqliteVec.load(db)
  return { db, seconds: JSON.parse(readFileSync(took, "utf8")) as number, bytes: statSync(file).size }
}

export const vec0 = async (
  { identity, queries, source, vectors }: Data,
  { size, work }: Task,
  truth: Truth
): Promise<Result> => {
  const width = identity.dimensions
  const { bytes, db, seconds } = built(join(work, `vec0-${source.hash}-${size}.db`), (db) => {
    db.exec(
      `CREATE VIRTUAL TABLE v USING vec0 (embedding float[${width}], code bit[${width}], one integer, ten integer, half integer)`
    )
    const insert = db.prepare(
      "INSERT INTO v (rowid, embedding, code, one, ten, half) VALUES (?, ?, vec_quantize_binary(?), ?, ?, ?)"
    )
    for (let at = 0; at < size; at += batch) {
      const count = Math.min(batch, size - at)
      const rows = vectors(at, count)
      db.transaction(() => {
        for (let row = 0; row < count; row++) {
          const { half, one, ten } = passageAt(source, at + row).metadata
          const vector = blob(rows, row, width)
          insert.run(BigInt(at + row + 1), vector, vector, BigInt(one), BigInt(ten), BigInt(half))
        }
      })()
    }
  })
  const float = (share?: keyof typeof columns) => {
    const where = share === undefined ? "" : ` AND ${columns[share]} = 1`
    const select = db
      .prepare(`SELECT rowid - 1 FROM v WHERE embedding MATCH ? AND k = ${topK}${where} ORDER BY distance`)
      .pluck()
    return ({ vector }: { readonly vector: Float32Array }) => select.all(blob(vector, 0, width)) as Array<number>
  }
  const nearest = db
    .prepare(`SELECT rowid FROM v WHERE code MATCH vec_quantize_binary(?) AND k = ${topK * oversample}`)
    .pluck()
  const floats = db.prepare("SELECT embedding FROM v WHERE rowid = ?").pluck()
  const bit = ({ vector }: { readonly vector: Float32Array }) => {
    const scored = (nearest.all(blob(vector, 0, width)) as Array<number>).map((rowid) => {
      const stored = floats.get(rowid) as Buffer
      let score = 0
      for (let i = 0; i < width; i++) score += stored.readFloatLE(i * 4) * vector[i]!
      return { id: rowid - 1, score }
    })
    return scored
      .sort((a, b) => b.score - a.score)
      .slice(0, topK)
      .map(({ id }) => id)
  }
  const rows: Array<Row> = [
    await measure("vec0 float", queries, truth["all"], float()),
    await measure(`vec0 bit, ×${oversample} rescored`, queries, truth["all"], bit)
  ]
  for (const share of shares)
    rows.push(await measure(`vec0 float, filter ${share}`, queries, truth[share], float(share)))
  return { rows, buildSeconds: seconds, rss: process.memoryUsage().rss, bytes, notes: [] }
}
