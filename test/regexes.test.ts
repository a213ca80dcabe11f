import { readFileSync } from "node:fs"
import { assert, it } from "vitest"
import { hashOf, provenFile, regexes, slowness, wrongAmong } from "./regexes.ts"

it("no new regex takes more than linear time, wherever what it sees has no bound", { timeout: 300_000 }, async () => {
  const { unbounded } = regexes()
  assert.isAbove(unbounded.length, 100)
  const proven = new Set(readFileSync(provenFile, "utf8").split("\n"))
  const fresh = unbounded.filter((regex) => !proven.has(hashOf(regex)))
  assert.deepStrictEqual(await wrongAmong(fresh, slowness), [])
})
