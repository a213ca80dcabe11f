import { assert, expect, it } from "vitest"
import { explosion, hashOf, provenFile, regexes, slowness, wrongAmong } from "../regexes.ts"

it("no regex takes more than linear time, wherever what it sees has no bound", { timeout: 600_000 }, async () => {
  const { unbounded } = regexes()
  assert.deepStrictEqual(await wrongAmong(unbounded, slowness), [])
  const proven = [...new Set(unbounded.map(hashOf))].sort()
  await expect(`${proven.join("\n")}\n`).toMatchFileSnapshot(provenFile)
})

it("no regex is exponential, however little it sees", { timeout: 600_000 }, async () => {
  assert.deepStrictEqual(await wrongAmong(regexes().bounded, explosion), [])
})
