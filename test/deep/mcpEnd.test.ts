import { afterEach, assert, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import {
  bin,
  cleanEnv,
  connectWith,
  endClients,
  Program,
  sea,
  start,
  startWith,
  temporaryFolder
} from "../mcp/client.ts"
import { eventually } from "../ollama.ts"

afterEach(endClients)

const isRpc = (line: string) => JSON.parse(line).jsonrpc === "2.0"

/** Node's arguments to run this before the program. */
const preload = (text: string) => {
  const file = join(temporaryFolder(), "preload.cjs")
  writeFileSync(file, text)
  return ["--require", file]
}

/** From `event` on, the program's time passes four times as fast; it says on standard error when 3 s of it are over. */
const hastened = (event: (later: string) => string) =>
  preload(`
    const { isMainThread } = require("node:worker_threads")
    const wait = globalThis.setTimeout
    const later = () => {
      globalThis.setTimeout = Object.assign((run, ms, ...rest) => wait(run, ms / 4, ...rest), wait)
      setTimeout(() => process.stderr.write("3 s later"), 3000)
    }
    if (isMainThread) { ${event("later")} }
  `)

/** From `event` on, the program's timers stand still: what waits for one never ends. */
const timeless = (event: (later: string) => string) =>
  preload(`
    const later = () => (globalThis.setTimeout = Object.assign(() => ({ ref() {}, unref() {} }), setTimeout))
    if (require("node:worker_threads").isMainThread) { ${event("later")} }
  `)
const atEnd = (later: string) => `process.stdin.once("end", ${later})`
const atSigterm = (later: string) => `process.once("SIGTERM", ${later})`

const later = ({ child }: Program) =>
  new Promise<void>((resolve) => {
    let said = ""
    child.stderr.on("data", (text: string) => {
      said += text
      if (said.includes("3 s later")) resolve()
    })
  })

describe("the end", () => {
  it("comes at the end of input, with an idle engine or none", async () => {
    const nodeArgs = timeless(atEnd)
    for (const client of [await start({ nodeArgs }), await startWith([sea], { nodeArgs })]) {
      assert.strictEqual((await client.end()).code, 0)
    }
  })

  it("comes after what was asked is answered", async () => {
    const client = await connectWith([sea])
    client.ask("last", "search", { query: "tides" })
    const { code } = await client.end()
    assert.strictEqual(code, 0)
    assert.strictEqual(JSON.parse(client.lines.at(-1) as string).id, "last")
  })

  it("comes at SIGTERM", async () => {
    const client = await startWith([sea], { nodeArgs: timeless(atSigterm) })
    client.child.kill("SIGTERM")
    assert.strictEqual((await client.exited).code, 143)
  })

  it("comes at SIGTERM while a long document is cut, and others are answered meanwhile", async () => {
    const content = "Some words of a long document stand here, one after the other. ".repeat(160_000)
    const client = await startWith([sea], { nodeArgs: timeless(atSigterm) })
    client.ask("long", "index_documents", { documents: [{ content }] })
    for (let n = 0; n < 100; n++) await client.result("ping")
    client.child.kill("SIGTERM")
    assert.strictEqual((await client.exited).code, 143)
  })

  it("comes after all that was piped in is answered, however slowly that is read", async () => {
    const folder = temporaryFolder()
    // All different: of passages that repeat each other, one is answered.
    const words = (n: number) => Array.from({ length: 1500 }, (_, at) => `word${n * 1500 + at}`).join(" ")
    await startWith(
      Array.from({ length: 20 }, (_, n) => ({ content: `The tides. ${words(n)}` })),
      { folder }
    )
    const nodeArgs = hastened(
      (later) => `
        const { write } = process.stdout
        let answers = 0
        process.stdout.write = function (...args) {
          const written = write.apply(this, args)
          if (++answers === 16 && process.stdout.writableLength > 0) ${later}()
          return written
        }`
    )
    const client = new Program({ folder, nodeArgs, args: ["--no-join"] })
    const waitsForReader = later(client)
    client.child.stdout.pause()
    const request = (id: number, method: string, params: object) =>
      `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`
    const initialize = request(0, "initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "printf", version: "1" }
    })
    const searches = Array.from({ length: 15 }, (_, n) =>
      request(n + 1, "tools/call", { name: "search", arguments: { query: "tides", top_k: 100 } })
    )
    client.child.stdin.end(initialize + searches.join(""))
    await waitsForReader
    assert.strictEqual(client.child.exitCode, null)
    client.child.stdout.resume()
    const { code } = await client.exited
    assert.strictEqual(code, 0)
    assert.lengthOf(client.lines, 16)
    assert.isTrue(client.lines.every((line) => "result" in JSON.parse(line)))
  })

  it("comes in order while another process holds the index's lock", async () => {
    const nodeArgs = hastened((later) => `process.stdin.once("end", ${later})`)
    const client = await startWith([sea], { nodeArgs })
    const waited = later(client)
    const holder = new Database(join(client.folder, "index.db"))
    holder.exec("BEGIN IMMEDIATE")
    client.ask("locked", "index_documents", { documents: [{ content: "Neap tides are low." }] })
    const ended = client.end()
    await waited
    holder.exec("COMMIT")
    holder.close()
    const { code } = await ended
    assert.strictEqual(code, 0)
    assert.include(client.lines.at(-1)!.slice(0, 400), "Indexed 1 document", client.lines.at(-1))
  })

  it("comes when the client has gone without closing anything", async () => {
    // The parent hands its own input on, so that the pipe stays open when it is killed.
    const folder = temporaryFolder()
    const parent = spawn(
      process.execPath,
      [
        "-e",
        `const child = require("node:child_process").spawn(process.execPath, ${JSON.stringify([bin, "mcp", "--db", join(folder, "index.db")])}, { stdio: ["inherit", "pipe", "inherit"] })
         child.stdout.once("data", () => process.stdout.write(String(child.pid) + "\\n")); setInterval(() => {}, 1000)`
      ],
      { stdio: ["pipe", "pipe", "ignore"], env: cleanEnv(folder) }
    )
    parent.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    const pid = Number(
      await new Promise<string>((resolve) => parent.stdout.once("data", (data) => resolve(String(data))))
    )
    const alive = () => {
      try {
        process.kill(pid, 0)
        return true
      } catch {
        return false
      }
    }
    assert.isTrue(alive())
    parent.kill("SIGKILL")
    await Effect.runPromise(eventually("it has ended", () => !alive()))
    parent.stdin.destroy()
  })

  it("comes when nobody reads any more", async () => {
    const client = await startWith([sea])
    client.child.stdout.destroy()
    client.send({ jsonrpc: "2.0", id: 1, method: "tools/list" })
    // By itself: nobody has sent it a signal.
    assert.isNull(await new Promise<string | null>((resolve) => client.child.once("exit", (_, by) => resolve(by))))
  })
})

describe("standard output", () => {
  it("carries JSON-RPC alone while everything in the process prints and warns", async () => {
    const nodeArgs = preload(`
      const { isMainThread, Worker } = require("node:worker_threads")
      if (isMainThread) process.on("SIGUSR2", () => {
        setInterval(() => {
          console.log("log"); console.info("info"); console.table([1]); console.dir({}); console.error("error")
          process.stdout.write("written\\n"); process.emitWarning("a warning")
        }, 1)
        new Worker('setInterval(() => console.log("from a worker"), 1)', { eval: true }).unref()
      })
    `)
    const client = await start({ nodeArgs })
    client.child.kill("SIGUSR2")
    for (let i = 0; i < 5; i++)
      await client.call("index_documents", { documents: [{ ...sea, content: `${sea.content}${i}` }] })
    await client.call("search", { query: "tides" })
    assert.isTrue(client.lines.every(isRpc))
    for (const said of ["log", "written", "from a worker", "a warning"]) assert.include(client.stderr, said)
  })

  it("carries JSON-RPC alone when the process dies", async () => {
    for (const death of ["process.abort()", "const a = []; for (;;) a.push(new Array(1e5).fill({}))"]) {
      const client = new Program({
        nodeArgs: ["--max-old-space-size=64", ...preload(`process.on("SIGUSR2", () => { ${death} })`)]
      })
      await client.initialize()
      client.child.kill("SIGUSR2")
      const { code, signal } = await client.exited
      assert.isFalse(code === 0 && signal === null, death)
      assert.isTrue(client.lines.every(isRpc), death)
      assert.notStrictEqual(client.stderr, "", death)
    }
  })
})
