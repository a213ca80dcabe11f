import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { ended, program, Sandbox } from "../cli/program/sandbox.ts"

let box: Sandbox
beforeEach(() => {
  box = new Sandbox({ "notes/a.md": "# Rivers\n\nThe Rhine is one." })
})
afterEach(() => box.remove())

describe.skipIf(!existsSync("/proc/self/limits"))("where a program may have few files open", () => {
  const limited = (most: number, ...args: ReadonlyArray<string>) =>
    ended(
      spawn("sh", ["-c", `ulimit -n ${most} && exec "$@"`, "sh", process.execPath, program, ...args], {
        cwd: box.folder,
        env: { PATH: process.env["PATH"], HOME: box.path("home"), CLEW_EMBEDDING_BACKEND: "builtin" }
      })
    )

  it("says that they are too few, and how to have more", async () => {
    for (const most of [20, 40, 63]) {
      const { code, stderr, stdout } = await limited(most, "--db", "x.db", "index", "notes")
      assert.strictEqual(code, 1, stderr)
      assert.match(
        stderr,
        /^clew: a program may have \d+ files open here, and Clew needs 64; raise that with `ulimit -n 256`\n$/
      )
      assert.strictEqual(stdout, "")
    }
    assert.isFalse(existsSync(box.path("x.db")))
  })

  it("works with as many as it says that it needs", async () => {
    const indexed = await limited(64, "--db", "x.db", "index", "notes")
    assert.strictEqual(indexed.code, 0, indexed.stderr)
    const found = await limited(64, "--db", "x.db", "query", "rivers")
    assert.match(found.stdout, /a\.md/)
  })
})
