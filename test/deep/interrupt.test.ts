import { afterAll, assert, describe, it } from "vitest"
import { once } from "node:events"
import { setTimeout as wait } from "node:timers/promises"
import { IndexReport } from "../../src/cli/indexing.ts"
import { Stats } from "../../src/model/Stats.ts"
import { ended, Sandbox } from "../cli/program/sandbox.ts"

const total = 1500

const corpus = Array.from({ length: total }, (_, id) =>
  JSON.stringify({ _id: String(id), text: `Ship ${id} sails at dawn. `.repeat(20) })
).join("\n")

const box = new Sandbox({ "corpus.jsonl": corpus })
afterAll(() => box.remove())

describe("Ctrl-C", () => {
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143]
  ] as const) {
    it(`keeps what was indexed, and a second run goes on from there: ${signal}`, async () => {
      const db = ["--db", `${signal}.db`]
      const child = box.start(["index", "corpus.jsonl", "--verbose", ...db])
      const end = ended(child)
      if (child.stdout) await once(child.stdout, "data")
      child.kill(signal)
      // A key that is held sends more of them.
      for (let n = 0; n < 10 && child.exitCode === null; n++) {
        await wait(5)
        child.kill(signal)
      }
      const first = await end
      assert.strictEqual(first.code, code)
      assert.match(first.stderr, /interrupted; [\d,]+ documents done; the same command resumes from there/)

      const kept = (await box.json(Stats, ["info", ...db])).documents
      assert.isAbove(kept, 0)
      assert.isBelow(kept, total)

      const second = await box.json(IndexReport, ["index", "corpus.jsonl", "--quiet", ...db])
      assert.strictEqual(second.unchanged, kept)
      assert.strictEqual(second.created, total - kept)
    })
  }
})
