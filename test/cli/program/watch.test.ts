import * as Schema from "effect/Schema"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import type { ChildProcess } from "node:child_process"
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { DocumentLine } from "../../../src/cli/indexing.ts"
import { WatchLine } from "../../../src/cli/watch.ts"
import { Stats } from "../../../src/model/Stats.ts"
import { ended, Sandbox } from "./sandbox.ts"

const Line = Schema.Union(DocumentLine, WatchLine)
const decode = Schema.decodeUnknownSync(Schema.parseJson(Line), { onExcessProperty: "error" })

let box: Sandbox
let children: Array<ChildProcess> = []
beforeEach(() => {
  box = new Sandbox({ "docs/a.md": "# Tides\n\nHigh at noon.\n", "docs/b.md": "# Bread\n", "docs/c.md": "# Rye\n" })
})
afterEach(() => {
  for (const child of children) child.kill("SIGKILL")
  children = []
  box.remove()
})

const start = (...args: ReadonlyArray<string>) => startOn("docs", ...args)

const startOn = (...args: ReadonlyArray<string>) => {
  const child = box.start(["watch", "--json", ...args])
  children.push(child)
  const end = ended(child)
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  return {
    child,
    end,
    /** The next line that is so. */
    until: async (test: (line: typeof Line.Type) => boolean) => {
      for (;;) {
        const { done, value } = await lines.next()
        if (done === true) throw new Error(`ended: ${(await end).stderr}`)
        const line = decode(value)
        if (test(line)) return line
      }
    }
  }
}

const scanned = (line: typeof Line.Type) => line.type === "scan"
const at = (name: string) => box.path("docs", name)

describe("watch", () => {
  it("indexes what is there, then follows, and ends with 0 at Ctrl-C", async () => {
    const { child, end, until } = start()
    await until(scanned)
    writeFileSync(at("d.md"), "# Flood")
    await until((line) => line.type === "document" && line.source === at("d.md") && line.status === "created")
    writeFileSync(at(".d.md.swp"), "# Flood of 1953")
    renameSync(at(".d.md.swp"), at("d.md"))
    await until((line) => line.type === "document" && line.source === at("d.md") && line.status === "updated")
    rmSync(at("d.md"))
    await until((line) => line.type === "forgotten" && line.path === at("d.md"))
    writeFileSync(at("c.md"), "")
    await until((line) => line.type === "forgotten" && line.path === at("c.md") && line.reason === "empty")
    await until(scanned)
    child.kill("SIGINT")
    const { code, stderr } = await end
    assert.strictEqual(code, 0, stderr)
    assert.include(stderr, "what was indexed stays")
    assert.strictEqual((await box.json(Stats, ["info"])).documents, 2)
  })

  it("follows no link out of the folder whose clew.toml was merely found", async () => {
    const outside = new Sandbox({ "diary.md": "# Diary\n", "more/letter.md": "# Letter\n" })
    writeFileSync(box.path("clew.toml"), '[watch]\npaths = ["docs"]\n')
    symlinkSync(outside.path("diary.md"), at("diary.md"))
    symlinkSync("a.md", at("same.md"))
    const { child, end, until } = startOn()
    await until(scanned)
    symlinkSync(outside.path("more"), at("more"))
    symlinkSync(outside.path("diary.md"), at("later.md"))
    writeFileSync(at("d.md"), "# Flood")
    await until((line) => line.type === "document" && line.source === at("d.md"))
    await until(scanned)
    child.kill("SIGINT")
    assert.strictEqual((await end).code, 0)
    outside.remove()
    assert.strictEqual((await box.json(Stats, ["info"])).documents, 4)
  })

  it("has one process work, and lets the next take over when that is killed", async () => {
    // The index lies where the watcher looks: reading it must not cost its locks.
    const db = ["--db", "docs/index.db"]
    const first = start(...db)
    await first.until(scanned)
    const second = start(...db)
    const waiting = await second.until((line) => line.type === "waiting")
    assert.deepInclude(waiting, { pid: first.child.pid, paths: [box.path("docs")] })
    first.child.kill("SIGKILL")
    await second.until((line) => line.type === "following")
    await second.until(scanned)
  })

  it("forgets nothing of a folder that is emptied or gone, until it is told to", async () => {
    const { child, end, until } = start()
    await until(scanned)
    renameSync(box.path("docs"), box.path("away"))
    await until((line) => line.type === "missing" && line.path === box.path("docs"))
    mkdirSync(box.path("docs"))
    await until((line) => line.type === "held" && line.gone === 3 && line.files === 3)
    rmSync(box.path("docs"), { recursive: true })
    renameSync(box.path("away"), box.path("docs"))
    writeFileSync(at("d.md"), "# Back again")
    await until((line) => line.type === "document" && line.source === at("d.md"))
    child.kill("SIGINT")
    await end
    assert.strictEqual((await box.json(Stats, ["info"])).documents, 4)

    rmSync(box.path("docs"), { recursive: true })
    const forced = start("--prune-all")
    await forced.until((line) => line.type === "scan" && line.deleted_documents === 4)
    forced.child.kill("SIGINT")
    await forced.end
    assert.strictEqual((await box.json(Stats, ["info"])).documents, 0)
  })
})
