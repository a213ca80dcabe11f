import Database from "better-sqlite3"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { copyFileSync, readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { DoctorReport } from "../../../src/cli/doctor.ts"
import { ReindexReport } from "../../../src/cli/reindex.ts"
import { library } from "./files.ts"
import { Sandbox } from "./sandbox.ts"

const fixture = (schema: number) => fileURLToPath(new URL(`../../fixtures/schemas/${schema}.db`, import.meta.url))

const table = `# Harbours

| Harbour | Depth, in metres |
| --- | --- |
${Array.from({ length: 120 }, (_, n) => `| Harbour number ${n}, (north; south) - quay | ${n}.5 m! |`).join("\n")}
`

let box: Sandbox
beforeEach(() => {
  box = new Sandbox({ ...library, "more/harbours.md": table })
})
afterEach(() => box.remove())

const run = (...args: ReadonlyArray<string>) => box.run([...args, "--db", "index.db"])

/** The vectors of a source's passages, in order. */
const vectors = (file: string, source: string): ReadonlyArray<string> => {
  const db = new Database(box.path(file), { readonly: true })
  const [collection] = db.prepare("SELECT id FROM collections WHERE name = 'default'").pluck().all() as [number]
  const found = db
    .prepare(
      `SELECT hex(v.vector) FROM documents AS d JOIN passages AS p ON p.document_id = d.id
       JOIN vectors_${collection} AS v ON v.passage_id = p.id
       WHERE d.collection_id = ? AND d.source LIKE '%' || ? ORDER BY p.ordinal`
    )
    .pluck()
    .all(collection, source) as ReadonlyArray<string>
  db.close()
  return found
}

describe("an index of 0.1.0", () => {
  it("is no damaged one to doctor, which says how to bring it up to date, or does so with --fix", async () => {
    copyFileSync(fixture(3), box.path("index.db"))
    const found = await run("doctor")
    assert.strictEqual(found.code, 0, found.stdout)
    assert.match(found.stdout, /^warn schema: .*older Clew \(schema 3, this one has \d+\)/m)
    assert.match(found.stdout, /clew info/)
    assert.notMatch(found.stdout, /restore a backup/)
    const fixed = await run("doctor", "--fix", "--deep")
    assert.strictEqual(fixed.code, 0, fixed.stdout)
    assert.match(fixed.stdout, /^Fixed: the index of an older version was brought up to date/m)
    const copies = readdirSync(box.folder).filter((name) => name.endsWith(".before-fix"))
    assert.lengthOf(copies, 1)
    assert.include(fixed.stdout.replaceAll(/\s+/g, ""), copies[0]!)
    assert.match(fixed.stdout.replaceAll(/\s+/g, " "), /warn embedder: collection default: .*`clew reindex -c default`/)
    // Every vector is as the older version makes it.
    assert.notMatch(fixed.stdout, /vectors differ from what the embedder gives/)
  }, 120_000)

  it("goes on as it was made, says so, and is made anew by reindex", async () => {
    copyFileSync(fixture(3), box.path("index.db"))
    const indexed = await run("index", "more")
    assert.strictEqual(indexed.code, 0, indexed.stderr)
    assert.match(indexed.stderr, /collection default .*as an older Clew made them.*`clew reindex -c default`/i)
    await box.ends(0, ["index", "more", "--db", "fresh.db"])
    const source = "more/harbours.md"
    assert.isAbove(vectors("fresh.db", source).length, 1)
    assert.notDeepEqual(vectors("index.db", source), vectors("fresh.db", source))
    // All of them alike: the old ones and those that were added.
    const deep = await box.json(DoctorReport, ["doctor", "--deep", "--db", "index.db"])
    assert.deepStrictEqual(
      deep.checks.filter(({ name, status }) => name === "vectors" && status !== "ok"),
      []
    )
    const asked = await run("query", "spring tide")
    assert.strictEqual(asked.code, 0)
    assert.match(asked.stderr, /clew reindex -c default/)

    const made = await box.json(ReindexReport, ["reindex", "--quiet", "--db", "index.db"], {
      env: { CLEW_EMBEDDING_BACKEND: "auto", CLEW_EMBEDDING_URL: "http://127.0.0.1:9" }
    })
    assert.isTrue(made.changed)
    assert.deepStrictEqual([made.from.making, made.to.making], [1, undefined])
    assert.deepStrictEqual(vectors("index.db", source), vectors("fresh.db", source))
    const after = await run("query", "-c", "default", "spring tide")
    assert.notMatch(after.stderr, /reindex/)
    assert.isFalse((await box.json(ReindexReport, ["reindex", "--db", "index.db"])).changed)
  }, 120_000)

  it("is told from an index of the schema before this one, whose vectors are as they are made now", async () => {
    copyFileSync(fixture(17), box.path("index.db"))
    const asked = await run("query", "spring tide")
    assert.strictEqual(asked.code, 0)
    assert.notMatch(asked.stderr, /as an older Clew made them|clew reindex/)
    assert.isFalse((await box.json(ReindexReport, ["reindex", "--db", "index.db"])).changed)
  })
})
