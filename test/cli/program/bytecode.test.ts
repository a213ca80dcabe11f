import { spawn } from "node:child_process"
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { endClients, Program } from "../../mcp/client.ts"
import { ended, listening, program, Sandbox } from "./sandbox.ts"

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

describe("the program whose files are removed while it runs", () => {
  const gone = "Clew was updated or removed while this process ran; start it again"
  const remove = () => ["dist", "node_modules"].forEach((name) => rmSync(box.path(name), { recursive: true }))
  const moon = [{ content: "The moon pulls the sea.", metadata: { source: "moon.md" } }]
  const bin = () => box.path("dist/bin.js")

  it("says so over MCP, before its first use and after", async () => {
    const [used, unused] = [new Program({ program: bin() }), new Program({ program: bin() })]
    for (const client of [used, unused]) await client.initialize()
    await used.call("collection_info")
    remove()
    for (const client of [used, unused]) {
      const { message } = await client.callError("index_documents", { documents: moon })
      assert.strictEqual(message, gone)
    }
    await endClients()
  })

  it("says so over HTTP, and is not ready", async () => {
    const child = spawn(process.execPath, [bin(), "serve", "--port", "0"], { env: box.env() })
    const url = await listening(child)
    remove()
    const ready = await fetch(`${url}/ready`)
    assert.strictEqual(ready.status, 503)
    const { checks } = (await ready.json()) as Record<string, any>
    assert.strictEqual(checks["store"].reason, gone)
    const body = JSON.stringify({ documents: moon })
    const headers = { "content-type": "application/json" }
    const refused = await fetch(`${url}/index`, { method: "POST", headers, body })
    assert.strictEqual(refused.status, 503)
    assert.strictEqual(((await refused.json()) as Record<string, any>)["detail"], gone)
    child.kill()
    await ended(child)
  })
})

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
