import Database from "better-sqlite3"
import { copyFileSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { SearchResponse } from "../../../src/model/SearchResult.ts"
import { beyondAscii } from "../../contracts/beyondAscii.ts"
import { Sandbox } from "./sandbox.ts"

const folder = fileURLToPath(new URL("../../fixtures/schemas/", import.meta.url))

let box: Sandbox
beforeEach(() => {
  box = new Sandbox()
})
afterEach(() => box.remove())

describe("an index that an older version made", () => {
  // One without a keyword index, and one with another version's; the store's own tests open all.
  for (const name of ["1.db", "3.db"]) {
    it(`is answered from, and said to be made anew: ${name}`, async () => {
      copyFileSync(`${folder}${name}`, box.path("index.db"))
      const ask = (...args: ReadonlyArray<string>) => box.run(["query", "--db", "index.db", ...args])
      const first = await ask("--alpha", "0", "château")
      assert.strictEqual(first.code, 0, first.stderr)
      assert.match(first.stdout, /french\.txt/)
      assert.match(
        first.stderr,
        /keyword index of collection default .* (is missing|was built by an older version): rebuilding it/
      )

      for (const [source, { finds }] of Object.entries(beyondAscii).slice(0, 3)) {
        const { results } = await box.json(SearchResponse, ["query", "--db", "index.db", "--alpha", "0", finds[1]!])
        assert.deepStrictEqual(
          results.map(({ metadata }) => metadata.source),
          [`docs/${source}`]
        )
      }
      const again = await ask("when is the spring tide highest")
      assert.match(again.stdout, /tides\.md/)
      assert.match(again.stderr, /^.*as an older Clew made them.*`clew reindex -c default`.*\n$/)
      for (const name of ["default", "notes"]) {
        await box.ends(0, ["reindex", "-c", name, "--quiet", "--db", "index.db"])
      }
      assert.strictEqual((await ask("when is the spring tide highest")).stderr, "")
    })
  }

  it("is not damaged where that gave passages no vector, which --fix makes", async () => {
    copyFileSync(`${folder}12.db`, box.path("index.db"))
    await box.ends(0, ["info", "--db", "index.db"])
    const { code, stdout } = await box.run(["doctor", "--db", "index.db"])
    assert.match(stdout, /^warn vectors: .* passages have no vector: an older Clew made none/m)
    assert.strictEqual(code, 0, stdout)
    const fixed = await box.run(["doctor", "--fix", "--db", "index.db"])
    assert.notMatch(fixed.stdout, /have no vector/)
  })

  it("and that is damaged stays as it is, and is said to be beyond repair", async () => {
    const bytes = readFileSync(`${folder}3.db`)
    const at = bytes.indexOf("Knead the dough")
    const page = bytes.readUInt16BE(16)
    bytes.fill(0, at - (at % page), at - (at % page) + page)
    writeFileSync(box.path("index.db"), bytes)
    const { code, stdout } = await box.run(["doctor", "--fix", "--db", "index.db"])
    assert.strictEqual(code, 1)
    assert.match(
      stdout,
      /^fail repair: .* too damaged to be brought up to date; its documents are as they were\n +restore a backup/m
    )
    // Behind the header, which tells how the file is written.
    assert.deepStrictEqual(readFileSync(box.path("index.db")).subarray(100), bytes.subarray(100))
  })

  it("that has too few vectors for them to matter, and no codes, answers without a word", async () => {
    const lines = Array.from({ length: 4200 }, (_, n) =>
      JSON.stringify({ _id: `d${n}`, text: `Note ${n} about tides.` })
    )
    writeFileSync(box.path("notes.jsonl"), lines.join("\n"))
    await box.ends(0, ["index", "--db", "index.db", "notes.jsonl"])
    const database = new Database(box.path("index.db"))
    database.pragma("foreign_keys = ON")
    assert.strictEqual(database.prepare("DELETE FROM code_sets").run().changes, 1)
    database.close()
    const answer = await box.run(["query", "--db", "index.db", "note 77"])
    assert.match(answer.stdout, /Note 77 about tides/)
    assert.strictEqual(answer.stderr, "")
    const doctor = await box.run(["doctor", "--db", "index.db"])
    assert.match(doctor.stdout + doctor.stderr, /codes: collection default: made by another version, or incomplete/)
    await box.run(["doctor", "--db", "index.db", "--fix"])
    const fixed = await box.run(["doctor", "--db", "index.db"])
    assert.match(fixed.stdout + fixed.stderr, /ok +codes: collection default/)
  })
})
