import { assert, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import * as net from "node:net"
import { tmpdir } from "node:os"
import { join as pathOf } from "node:path"
import { claim, join, socketOf } from "../../src/mcp/meeting.ts"
import { Client, Program, start, startWith, sea, temporaryFolder } from "./client.ts"
import { found, hasEngine, party } from "./party.ts"

describe.skipIf(process.platform !== "linux")("processes of one index", () => {
  it("share the engine of the first, and keep what their own flags say of tools and names", async () => {
    const [first, second, filtered, reader] = await party(
      {},
      { args: ["--filter", "search,get_document", "--name", "Shore"] },
      { args: ["--read-only"] }
    )
    assert.deepStrictEqual([first, second!, filtered!, reader!].map(hasEngine), [true, false, false, false])
    await second!.call("index_documents", { documents: [{ content: "Quaggas graze.", metadata: { source: "q" } }] })
    assert.strictEqual(await found(first, "quaggas"), "q")
    await second!.end()
    assert.strictEqual(await found(reader!), "docs/sea.md")
    const names = async (client: Program) =>
      (await client.result("tools/list")).tools.map(({ name }: Program["child"] & { name: string }) => name)
    assert.deepStrictEqual(await names(filtered!), ["search", "get_document"])
    assert.notInclude(await names(reader!), "index_documents")
    assert.include((await reader!.callError("index_documents", { documents: [sea] })).message, "no tool")
  })

  it("have one engine however many start at once", async () => {
    const folder = temporaryFolder()
    const clients = Array.from({ length: 6 }, () => new Program({ folder }))
    await Promise.all(clients.map((client) => client.initialize()))
    await Promise.all(clients.map((client) => client.call("index_documents", { documents: [sea] })))
    assert.lengthOf(clients.filter(hasEngine), 1)
  })

  it("answer what they were asked before they end by a signal", async () => {
    const [, second] = await party({})
    const asked = Array.from({ length: 20 }, (_, n) => `q${n}`)
    const documents = Array.from({ length: 100 }, (_, n) => ({ ...sea, metadata: { source: `${n}.md` } }))
    second!.ask("write", "index_documents", { documents })
    for (const id of asked) second!.ask(id, "search", { query: "tides" })
    await second!.find(({ id }) => asked.includes(id))
    second!.child.kill("SIGTERM")
    assert.deepStrictEqual(await second!.exited, { code: 143, signal: null })
    for (const id of [...asked, "write"]) assert.isUndefined((await second!.find((it) => it.id === id)).error)
  })

  it("open an engine of their own where another would do something else", async () => {
    const folder = temporaryFolder()
    const first = await startWith([sea], { folder, args: ["--no-join"] })
    const alone = await start({ folder })
    await found(alone)
    assert.isTrue(hasEngine(first) && hasEngine(alone))
    writeFileSync(pathOf(folder, "other.toml"), "[mcp]\njoin = false\n")
    for (const args of [
      // The first does not join that of another configuration, the second not that of the first.
      ["--config", "other.toml"],
      ["--config", "other.toml"],
      ["--log-level", "error"],
      ["--watch", folder]
    ]) {
      const client = await start({ folder, args })
      await found(client)
      assert.isTrue(hasEngine(client), args[0])
    }
    const wrong = new Client({ folder, args: ["--filter", "serach"] })
    assert.strictEqual((await wrong.exited).code, 2)
    assert.include(wrong.stderr, "did you mean search")
    const needless = new Client({ folder, args: ["--port", "1"] })
    assert.strictEqual((await needless.exited).code, 2)
    assert.include(needless.stderr, "--port is for --http")
  })
})

describe("the socket", () => {
  it("is that of the same index with the same configuration", () => {
    const cwd = temporaryFolder()
    writeFileSync(pathOf(cwd, "other.toml"), "[search]\ntop_k = 3\n")
    const env = { HOME: cwd, CLEW_EMBEDDING_BACKEND: "builtin" }
    const wanted = { db: "index.db", config: undefined, cwd, env }
    const address = socketOf(wanted)
    assert.isString(address)
    for (const same of [{ db: pathOf(cwd, "index.db") }, { env: { ...env, OTHER: "1" } }]) {
      assert.strictEqual(socketOf({ ...wanted, ...same }), address, JSON.stringify(same))
    }
    const others = [
      { db: "other.db" },
      { config: "other.toml" },
      { env: { ...env, CLEW_SEARCH_TOP_K: "2" } },
      { env: { ...env, CLEW_MCP_JOIN: "false" } }
    ]
    const addresses = others.map((other) => socketOf({ ...wanted, ...other }))
    assert.lengthOf(new Set([address, ...addresses]), others.length + 1)
  })

  const folder = () => mkdtempSync(pathOf(tmpdir(), "clew-meeting-"))
  const hello = { args: ["mcp"], cwd: "/" }
  /** Leaves the socket of a process that was killed. */
  const leave = (file: string) => {
    const child = spawn(process.execPath, [
      "-e",
      `require("net").createServer().listen(${JSON.stringify(file)}, () => process.kill(process.pid, "SIGKILL"))`
    ])
    return new Promise((resolve) => child.once("close", resolve))
  }

  it("is claimed by one process, and by the next where it was left behind", async () => {
    const place = folder()
    const file = pathOf(place, "a.sock")
    const claims = await Promise.all(Array.from({ length: 8 }, () => claim(file)))
    const [meeting, ...others] = claims.filter((claimed) => claimed !== undefined)
    assert.lengthOf(others, 0)
    assert.isUndefined(await claim(file))
    meeting!.close()
    assert.isFalse(existsSync(file))
    await leave(file)
    assert.isTrue(existsSync(file))
    assert.strictEqual(await join(file, hello), "absent")
    const next = await claim(file)
    assert.isDefined(next)
    next!.close()
    rmSync(place, { recursive: true })
  })

  it("is removed by the next that listens beside it, if its process was killed", async () => {
    const place = folder()
    const living = await claim(pathOf(place, "living.sock"))
    await Promise.all(["killed.sock", "heir.sock.123"].map((name) => leave(pathOf(place, name))))
    mkdirSync(pathOf(place, "cut.sock.lock"))
    utimesSync(pathOf(place, "cut.sock.lock"), 0, 0)
    const next = await claim(pathOf(place, "next.sock"))
    assert.sameMembers(readdirSync(place), ["living.sock", "next.sock"])
    living!.close()
    next!.close()
    rmSync(place, { recursive: true })
  })

  it("is not trusted where it is none, closes without a word or says something else", async () => {
    const place = folder()
    const file = pathOf(place, "b.sock")
    assert.strictEqual(await join(file, hello), "absent")
    writeFileSync(file, "")
    assert.strictEqual(await join(file, hello), "refused")
    const answer = async (serve: (socket: net.Socket) => void) => {
      const other = pathOf(place, "c.sock")
      const server = net.createServer(serve)
      await new Promise<void>((resolve) => server.listen(other, resolve))
      const found = await join(other, hello)
      await new Promise((resolve) => server.close(resolve))
      return found
    }
    assert.strictEqual(await answer((socket) => socket.destroy()), "gone")
    assert.strictEqual(await answer((socket) => socket.resume().end("SSH-2.0\n")), "refused")
    rmSync(place, { recursive: true })
  })
})
