import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, assert, beforeEach, it } from "vitest"
import { failingDisk } from "../../bench/faults/disk.ts"
import { serveFailing } from "../../bench/faults/served.ts"
import { serveHttp } from "../../bench/storms.ts"

const bin = process.env["TEST_BIN"] ?? fileURLToPath(new URL("../../dist/bin.js", import.meta.url))

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "clew-faults-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

it("serves on beside a disk that fails one operation after the other, and loses nothing that it acknowledged", async (context) => {
  const index = join(folder, "index")
  mkdirSync(index)
  const disk = failingDisk(folder, index)
  // No C compiler, or no LD_PRELOAD.
  if (disk === undefined) return context.skip()
  const server = serveHttp([bin, "serve", "--db", join(index, "index.db")], {
    PATH: process.env["PATH"],
    HOME: folder,
    CLEW_EMBEDDING_BACKEND: "builtin",
    CLEW_RATE_LIMIT_PER_SECOND: "1000000",
    ...disk.env
  })
  const { failed, wrong } = await serveFailing(await server.url, disk, { step: 9 })
  disk.close()
  assert.deepStrictEqual(wrong, [])
  assert.isAbove(failed, 20)
  assert.strictEqual(await server.end(), 0)
}, 300_000)
