import { assert, it } from "vitest"
import { claims, unproven, wrongAmong } from "./regexes.ts"

it("no new regex takes more than linear time, or exponential where it sees little", { timeout: 300_000 }, async () => {
  const all = claims()
  assert.isAbove(all.length, 100)
  assert.deepStrictEqual(await wrongAmong(unproven(all)), [])
})
