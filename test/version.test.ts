import { assert, it } from "vitest"
import { readFileSync } from "node:fs"
import { version } from "../src/version.ts"

it("is the package's version", () => {
  assert.strictEqual(version, JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version)
})
