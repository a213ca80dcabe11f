import { assert, expect, it } from "vitest"
import { allProven, claims, provenFile, wrongAmong } from "../regexes.ts"

it("what is claimed of every regex is proven, and of none that is gone", { timeout: 600_000 }, async () => {
  const all = claims()
  // With --update; a proof depends on the regex and the checker alone.
  if (process.env["TEST_PROVE"] === "all") assert.deepStrictEqual(await wrongAmong(all), [])
  await expect(allProven(all)).toMatchFileSnapshot(provenFile)
})
