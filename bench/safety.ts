import Database from "better-sqlite3"
import { copyFileSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { crcOf } from "../src/Store/crc.ts"
import { temporaryFolder } from "./program.ts"

const [index] = process.argv.slice(2)
if (index === undefined) throw new Error("npm run bench -- safety INDEX: which index?")

const parts = 15
const copy = join(temporaryFolder(), "copy.db")
const written = () => Number(/wchar: (\d+)/.exec(readFileSync("/proc/self/io", "latin1"))![1])

/** Deletes all documents of a copy, with their passages and vectors, in several transactions. */
const emptied = (secure: "ON" | "OFF") => {
  copyFileSync(index, copy)
  const db = new Database(copy)
  for (const pragma of ["journal_mode = WAL", "foreign_keys = ON", `secure_delete = ${secure}`]) db.pragma(pragma)
  const before = written()
  const began = process.cpuUsage()
  for (let part = 0; part < parts; part++) {
    db.exec(`BEGIN;
      DELETE FROM vectors_1 WHERE passage_id IN (
        SELECT p.id FROM documents AS d JOIN passages AS p ON p.document_id = d.id WHERE d.id % ${parts} = ${part});
      DELETE FROM documents WHERE id % ${parts} = ${part};
      COMMIT`)
  }
  const { system, user } = process.cpuUsage(began)
  db.close()
  return { ms: (user + system) / 1000, megabytes: (written() - before) / 1e6 }
}

for (const secure of ["ON", "OFF", "ON", "OFF", "ON", "OFF"] as const) {
  const { megabytes, ms } = emptied(secure)
  console.log(
    `secure_delete ${secure.padEnd(3)} ${ms.toFixed(0)} ms of processor time, ${megabytes.toFixed(0)} MB written`
  )
}

const bytes = Buffer.alloc(2 ** 20, 7)
const rounds = 200
crcOf(bytes, 0)
const began = process.cpuUsage()
for (let round = 0; round < rounds; round++) crcOf(bytes, round)
console.log(`checksums: ${(process.cpuUsage(began).user / 1000 / rounds).toFixed(2)} ms a MiB`)
