import { afterEach, assert, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { readdirSync, rmSync, writeFileSync } from "node:fs"
import { join as pathOf } from "node:path"
import {
  bin,
  bread,
  cleanEnv,
  endClients,
  folderWith,
  Program,
  secondEra,
  start,
  startWith,
  sea,
  temporaryFolder
} from "../mcp/client.ts"
import { found, hasEngine, party } from "../mcp/party.ts"

afterEach(endClients)

/** Begins to write, and returns what waits for the answer once that has begun. */
const writing = async (client: Program) => {
  const documents = Array.from({ length: 40 }, (_, n) => ({ content: `Number ${n}. `.repeat(200), doc_id: `d${n}` }))
  const progress = client.find(({ method }) => method === "notifications/progress")
  const write = client.result("tools/call", {
    name: "index_documents",
    arguments: { documents },
    _meta: { progressToken: "t" }
  })
  assert.strictEqual((await progress).params.progressToken, "t")
  return () => write
}

const killed = (client: Program) => {
  client.child.kill("SIGKILL")
  return client.exited
}

describe.skipIf(process.platform !== "linux")("processes of one index", () => {
  it("do not join one whose index was removed, so that they can begin another", async () => {
    const [first, second] = await party({})
    const { folder } = first
    for (const name of readdirSync(folder).filter((name) => name.startsWith("index.db"))) rmSync(pathOf(folder, name))
    assert.include((await second!.callError("search", { query: "tides" })).message, "was removed while it was open")
    const newcomer = await startWith([bread], { folder })
    assert.isTrue(hasEngine(newcomer))
    const later = await start({ folder })
    assert.deepStrictEqual(
      await Promise.all([first, second!, later].map((client) => found(client, "flour"))),
      Array.from({ length: 3 }, () => "notes/bread.txt")
    )
    assert.isFalse(hasEngine(later))
  })

  it("do not join one that may not write as they may", async () => {
    const folder = await folderWith([sea])
    const reader = await start({ folder, args: ["--read-only"] })
    await found(reader)
    const writer = await startWith([bread], { folder })
    assert.isTrue(hasEngine(writer))
    assert.strictEqual(await found(reader, "flour"), "notes/bread.txt")
  })

  it("join clew serve, which has the same index and configuration", async () => {
    const folder = await folderWith([sea])
    const server = spawn(process.execPath, [bin, "serve", "--port", "0", "--db", pathOf(folder, "index.db")], {
      cwd: folder,
      env: cleanEnv(folder, { CLEW_EMBEDDING_BACKEND: "builtin", SERVICE_API_KEY: "secret" })
    })
    const ended = new Promise((resolve) => server.once("close", resolve))
    await new Promise<void>((resolve) => {
      server.stderr.setEncoding("utf8").on("data", (text: string) => text.includes("Listening") && resolve())
    })
    const client = await start({ folder })
    assert.strictEqual(await found(client), "docs/sea.md")
    assert.isFalse(hasEngine(client))
    const write = await writing(client)
    server.kill("SIGTERM")
    assert.include(JSON.stringify(await write()), "Indexed 40 documents")
    await ended
    assert.strictEqual(await found(client), "docs/sea.md")
    assert.isTrue(hasEngine(client))
  })
})

describe.skipIf(process.platform !== "linux")("when the process with the engine ends", () => {
  it("another takes over, and the rest join that", async () => {
    const [first, ...rest] = await party({}, {}, {})
    await killed(first)
    assert.deepStrictEqual(
      await Promise.all(rest.map((client) => found(client))),
      Array.from(rest, () => "docs/sea.md")
    )
    assert.lengthOf(rest.filter(hasEngine), 1)
    const heir = rest.find(hasEngine)!
    await Promise.all(rest.map((client) => client.call("collection_info")))
    assert.strictEqual((await heir.end()).code, 0)
    const left = rest.filter((client) => client !== heir)
    assert.deepStrictEqual(
      await Promise.all(left.map((client) => found(client))),
      Array.from(left, () => "docs/sea.md")
    )
    // A newcomer joins too, and the socket of the killed process is in nobody's way.
    const newcomer = await start({ folder: first.folder })
    assert.strictEqual(await found(newcomer), "docs/sea.md")
    assert.isFalse(hasEngine(newcomer))
  })

  it("one that takes over with a configuration that was changed meanwhile serves those that have it too", async () => {
    const folder = temporaryFolder()
    const configure = (most: number) => writeFileSync(pathOf(folder, "clew.toml"), `[search]\ntop_k = ${most}\n`)
    const foundBy = async (client: Program) =>
      (await client.call("search", { query: "tides bread" })).structuredContent.results.length
    configure(1)
    const first = await startWith([sea, bread], { folder })
    const second = await start({ folder })
    assert.strictEqual(await foundBy(second), 1)
    configure(2)
    await killed(first)
    assert.strictEqual(await foundBy(second), 2)
    const third = await start({ folder })
    assert.strictEqual(await foundBy(third), 2)
    configure(1)
    const fourth = await start({ folder })
    assert.strictEqual(await foundBy(fourth), 1)
    assert.deepStrictEqual([second, third, fourth].map(hasEngine), [true, false, true])
  })

  it("reads that wait are answered too where none can take over", async () => {
    const folder = temporaryFolder()
    const first = await startWith([sea], { folder })
    const second = await start({ folder })
    await found(second)
    first.child.kill("SIGSTOP")
    const read = second.callError("search", { query: "tides" })
    writeFileSync(pathOf(folder, "clew.toml"), "[search\n")
    await killed(first)
    assert.include((await read).message, "has ended")
    assert.strictEqual((await second.exited).code, 2)
  })

  it("reads that wait are asked again, and writes are refused, since nobody knows of them", async () => {
    const [first, second] = await party({})
    const uri = "clew://documents/quagga"
    await second!.result("resources/subscribe", { uri })
    first.child.kill("SIGSTOP")
    const read = found(second!)
    const write = second!.callError("index_documents", { documents: [{ content: "Perhaps." }] })
    const search = { name: "search", arguments: { query: "wind" } }
    second!.send({ jsonrpc: "2.0", id: "cancelled", method: "tools/call", params: search })
    second!.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "cancelled" } })
    // Whole lines before, and a part of one.
    second!.write('{"jsonrpc":"2.0","id":"cut","meth')
    await killed(first)
    assert.include((await write).message, "whether it was done is unknown")
    assert.strictEqual(await read, "docs/sea.md")
    second!.write('od":"ping"}\n')
    assert.deepStrictEqual((await second!.find(({ id }) => id === "cut")).result, {})
    assert.isFalse(second!.lines.some((line) => JSON.parse(line).id === "cancelled"))
    // It still hears of what it watches: at the change of the engine, since nobody has looked then, and after.
    const isUpdate = ({ method, params }: { method?: string; params?: { uri: string } }) =>
      method === "notifications/resources/updated" && params!.uri === uri
    await second!.find(isUpdate)
    const from = second!.lines.length
    await second!.call("index_documents", { documents: [{ content: "Quaggas graze.", doc_id: "quagga" }] })
    await second!.find(isUpdate, from)
    assert.isFalse(second!.lines.some((line) => line.includes("clew-again")))
  })

  it("a client of the second era hears of what it watches, which nobody has looked at then", async () => {
    const folder = temporaryFolder()
    const first = await startWith([sea], { folder })
    const second = new Program({ folder })
    const uri = "clew://documents/quagga"
    second.send({
      jsonrpc: "2.0",
      id: "watch",
      method: "subscriptions/listen",
      params: { _meta: secondEra, notifications: { resourceSubscriptions: [uri] } }
    })
    await second.find(({ method }) => method === "notifications/subscriptions/acknowledged")
    await killed(first)
    const { params } = await second.find(({ method }) => method === "notifications/resources/updated")
    assert.deepStrictEqual(params, { _meta: { "io.modelcontextprotocol/subscriptionId": "watch" }, uri })
  })

  it("what others have asked is answered before it ends in order", async () => {
    const [first, second] = await party({})
    const write = await writing(second!)
    assert.strictEqual((await first.end()).code, 0)
    assert.include(JSON.stringify(await write()), "Indexed 40 documents")
    assert.strictEqual(await found(second!), "docs/sea.md")
  })

  it("what it and others have asked is answered before it ends by a signal", async () => {
    const [first, second] = await party({})
    const own = await writing(first)
    const write = second!.call("index_documents", { documents: [{ content: "Quaggas graze." }] })
    await second!.request("ping")
    first.child.kill("SIGTERM")
    assert.strictEqual((await first.exited).code, 143)
    assert.include(JSON.stringify(await own()), "Indexed 40 documents")
    assert.include(JSON.stringify(await write), "Indexed 1 document")
    assert.strictEqual(await found(second!), "docs/sea.md")
  })
})

describe.skipIf(process.platform !== "linux")("what the engine refuses as a whole", () => {
  const refused = [
    '{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    '{"jsonrpc":"2.0","id":true,"method":"ping"}',
    `{"jsonrpc":"2.0","method":"ping","id":7,"params":{"x":${"[".repeat(200)}${"]".repeat(200)}}}`,
    JSON.stringify(Array.from({ length: 1001 }, (_, id) => ({ jsonrpc: "2.0", id, method: "ping" })))
  ]
  const ask = async (client: Program) => {
    for (const line of refused) client.write(`${line}\n`)
    client.write('{"jsonrpc":"2.0","id":"twice","method":"ping"}\n{"jsonrpc":"2.0","id":"twice","method":"ping"}\n')
    await client.request("ping")
  }
  const errorsOf = ({ lines }: Program) => lines.filter((line) => JSON.parse(line).error !== undefined)

  it("does not keep a process that joined from its end", async () => {
    const [, second] = await party({})
    await ask(second!)
    const since = Date.now()
    assert.strictEqual((await second!.end()).code, 0)
    assert.isBelow(Date.now() - since, 15_000)
    assert.lengthOf(errorsOf(second!), refused.length)
  })

  it("is not asked again at another engine", async () => {
    const [first, second] = await party({})
    await ask(second!)
    await killed(first)
    assert.strictEqual(await found(second!), "docs/sea.md")
    await second!.request("ping")
    assert.lengthOf(errorsOf(second!), refused.length)
    assert.lengthOf(
      second!.lines.filter((line) => JSON.parse(line).id === "twice"),
      2
    )
  })
})

describe.skipIf(process.platform !== "linux")("a process that joined ends", () => {
  it("with its input, once all is answered, also what is not JSON", async () => {
    const [, second] = await party({})
    second!.ask("last", "search", { query: "tides" })
    second!.write("garbage\n")
    second!.write('{"jsonrpc":"2.0","id":"unended","method":"ping"}')
    assert.strictEqual((await second!.end()).code, 0)
    const answers = second!.lines.slice(-3).map((line) => JSON.parse(line))
    assert.sameMembers(
      answers.map(({ id }) => id),
      ["last", null, "unended"]
    )
  })

  it("with SIGTERM", async () => {
    const [, second] = await party({})
    second!.child.kill("SIGTERM")
    assert.strictEqual((await second!.exited).code, 143)
  })
})
