import { spawn } from "node:child_process"
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { ended, program, Sandbox } from "./sandbox.ts"

const built = dirname(program)
const own = /^(?:bin|compiled|program|storeWorker)\./
let box: Sandbox

beforeEach(() => {
  box = new Sandbox()
  mkdirSync(box.path("dist"))
  for (const name of readdirSync(built)) {
    if (own.test(name)) cpSync(join(built, name), box.path("dist", name))
    else symlinkSync(join(built, name), box.path("dist", name))
  }
  symlinkSync(join(built, "../node_modules"), box.path("node_modules"))
})
afterEach(() => box.remove())

const run = async (args: ReadonlyArray<string>, ...flags: ReadonlyArray<string>) => {
  const child = spawn(process.execPath, [...flags, box.path("dist/bin.js"), ...args], { env: box.env() })
  child.stdin.end("Bees make honey.")
  const { code, stderr } = await ended(child)
  assert.strictEqual(code, 0, stderr)
}

/** Bytecode beside the build's, and which file it is. */
const left = () =>
  readdirSync(box.path("dist"))
    .filter((name) => /^program\..+\.bytecode/.test(name))
    .map((name) => `${name} ${statSync(box.path("dist", name)).ino}`)

describe("the program in another version of Node than the build's", () => {
  it("takes no bytecode of that one, which V8 may crash of, and leaves its own, which it takes the next time", async () => {
    const bytecode = readFileSync(box.path("dist/program.bytecode"))
    assert.isTrue(bytecode.subarray(0, 20).includes(process.version))
    // The same version of V8, by its own words.
    bytecode.write("v20.0.0", 2)
    bytecode.fill(7, bytecode.indexOf("\n") + 1000)
    writeFileSync(box.path("dist/program.bytecode"), bytecode)
    await run(["--version"])
    assert.deepStrictEqual(left(), [])
    await run(["index", "-"])
    const first = left()
    assert.lengthOf(first, 1)
    await run(["query", "honey"])
    assert.deepStrictEqual(left(), first)
    // V8's bytecode depends on its flags, too.
    await run(["query", "honey"], "--stack-size=960")
    assert.lengthOf(left(), 2)
  })
})
