import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { assert, describe, it } from "vitest"
import { temporaryOf } from "../../src/runtime/partial.ts"

describe("uploads that killed servers left", () => {
  it("are removed by a later one, others stay", () => {
    const kind = `clew-left-${process.pid}-`
    const long = new Date(Date.now() - 3 * 3600_000)
    // No process has this number.
    const gone = 2 ** 30
    const isRoot = process.getuid?.() === 0
    const names = [
      `${gone}-old`,
      `${gone}-new`,
      `${process.ppid}-old`,
      `${process.pid}-old`,
      "old",
      `${gone}-foreign-old`
    ]
    const made = names.map((name) => {
      const folder = path.join(tmpdir(), kind + name)
      fs.mkdirSync(folder)
      fs.writeFileSync(path.join(folder, "text"), "secret")
      if (isRoot && name.includes("foreign")) fs.chownSync(folder, 65534, 65534)
      if (name.endsWith("old")) fs.utimesSync(folder, long, long)
      return folder
    })
    try {
      assert.strictEqual(temporaryOf(kind), `${kind}${process.pid}-`)
      assert.deepStrictEqual(made.map(fs.existsSync), [false, true, true, false, true, isRoot])
    } finally {
      for (const folder of made) fs.rmSync(folder, { recursive: true, force: true })
    }
  })
})
