import { assert, describe, it } from "@effect/vitest"
import { Client, connect, connectWith, sea } from "./client.ts"

describe("initialize", () => {
  it("answers the version that the client asks for, where it knows it, else the newest", async () => {
    for (const [asked, answered] of [
      ["2024-11-05", "2024-11-05"],
      ["2025-03-26", "2025-03-26"],
      ["2025-06-18", "2025-06-18"],
      ["2025-11-25", "2025-11-25"],
      ["1999-01-01", "2025-11-25"]
    ] as const) {
      const result = await new Client().initialize(asked)
      assert.strictEqual(result.protocolVersion, answered)
      assert.strictEqual(result.serverInfo.name, "clew")
      assert.hasAllKeys(result.capabilities, ["tools", "resources", "prompts", "completions", "logging"])
    }
  })

  it("names what is wrong with its parameters", async () => {
    const error = await new Client().error("initialize", { capabilities: {}, clientInfo: { name: "t", version: "1" } })
    assert.strictEqual(error.code, -32602)
    assert.include(error.message, "protocolVersion")
  })
})

describe("what is no request", () => {
  const cases: ReadonlyArray<readonly [string, string | Buffer, number, unknown]> = [
    ["not JSON", "not json\n", -32700, null],
    ["half of a message", '{"jsonrpc":"2.0","id":1,"method":\n', -32700, null],
    ["not UTF-8", Buffer.from([0x7b, 0xff, 0xfe, 0x7d, 0x0a]), -32700, null],
    ["a header of another framing", "Content-Length: 12\r\n", -32700, null],
    ["a number", "42\n", -32600, null],
    ["an empty batch", "[]\n", -32600, null],
    ["no version", '{"id":7,"method":"ping"}\n', -32600, 7],
    ["another version", '{"jsonrpc":"1.0","id":7,"method":"ping"}\n', -32600, 7],
    ["no method", '{"jsonrpc":"2.0","id":"x"}\n', -32600, "x"],
    ["an id that is none", '{"jsonrpc":"2.0","id":{},"method":"ping"}\n', -32600, null],
    ["an id of null", '{"jsonrpc":"2.0","id":null,"method":"ping"}\n', -32600, null],
    ["parameters by position", '{"jsonrpc":"2.0","id":8,"method":"ping","params":[1]}\n', -32602, 8],
    ["an unknown method", '{"jsonrpc":"2.0","id":9,"method":"tools/lst"}\n', -32601, 9],
    ["a tool's name that is none", '{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":5}}\n', -32602, 10],
    ...[5, { progressToken: {} }, { progressToken: 1.5 }].map((_meta) => {
      const line = `{"jsonrpc":"2.0","id":13,"method":"tools/list","params":{"_meta":${JSON.stringify(_meta)}}}\n`
      return [`a wrong _meta, ${JSON.stringify(_meta)}`, line, -32602, 13] as const
    }),
    ["a uri that is none", '{"jsonrpc":"2.0","id":11,"method":"resources/read","params":{}}\n', -32602, 11],
    [
      "a level that is none",
      '{"jsonrpc":"2.0","id":12,"method":"logging/setLevel","params":{"level":"loud"}}\n',
      -32602,
      12
    ]
  ]

  it("is answered with its code, and the server goes on", async () => {
    const client = await connect()
    for (const [what, line, code, id] of cases) {
      const from = client.lines.length
      client.write(line)
      const { error, id: answeredId } = await client.find(() => true, from)
      assert.strictEqual(error.code, code, what)
      assert.strictEqual(answeredId, id, what)
    }
    assert.deepStrictEqual(await client.result("ping"), {})
    const { content } = await client.result("tools/call", { name: "list_sources", task: { ttl: 1000 } })
    assert.lengthOf(content, 1)
    assert.deepStrictEqual(await client.result("ping", { _meta: { progressToken: null } }), {})
  })

  it("is left alone where nobody waits for an answer", async () => {
    const client = await connect()
    client.send({ jsonrpc: "2.0", method: "notifications/unheard_of" })
    client.send({ jsonrpc: "2.0", id: 5, result: {} })
    client.write("\n  \n\r\n")
    const from = client.lines.length
    await client.result("ping")
    assert.strictEqual(client.lines.length, from + 1)
  })

  it("may come in pieces, with a byte order mark, CRLF, and without a line feed at the end", async () => {
    const client = await connect()
    const message = Buffer.from('\ufeff{"jsonrpc":"2.0","id":"é…🧵","method":"ping"}\r\n')
    for (const byte of message) client.write(Buffer.from([byte]))
    assert.deepStrictEqual((await client.find(({ id }) => id === "é…🧵")).result, {})
    client.write('{"jsonrpc":"2.0","id":"last","method":"ping"}')
    assert.strictEqual((await client.end()).code, 0)
    assert.deepStrictEqual(JSON.parse(client.lines.at(-1) as string), { jsonrpc: "2.0", id: "last", result: {} })
  })
})

describe("a line of 100 MB", () => {
  const megabyte = "x".repeat(1024 * 1024)
  const write = async (client: Client, start: string, end: string) => {
    client.write(start)
    for (let i = 0; i < 100; i++) {
      if (!client.write(megabyte)) await client.drained()
    }
    client.write(`${end}\n`)
  }

  it("is answered under its own id, whether that comes first or last", async () => {
    const client = await connect()
    await write(
      client,
      '{"jsonrpc":"2.0","id":41,"method":"tools/call","params":{"name":"search","arguments":{"query":"',
      '"}}}'
    )
    const first = await client.find(({ id }) => id === 41)
    assert.strictEqual(first.error.code, -32600)
    assert.include(first.error.message, "32 MiB")
    await write(client, '{"method":"ping","params":{"x":"', '"},"jsonrpc":"2.0","id":"z"}')
    assert.strictEqual((await client.find(({ id }) => id === "z")).error.code, -32600)
    await write(client, '"', '"')
    assert.strictEqual((await client.find(({ error, id }) => id === null && error !== undefined)).error.code, -32600)
    assert.deepStrictEqual(await client.result("ping"), {})
  })
})

describe("batches", () => {
  it("are answered in one array, faults among them, notifications not", async () => {
    const client = await connect()
    const from = client.lines.length
    client.send([
      { jsonrpc: "2.0", id: 1, method: "ping" },
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 2, method: "nope" },
      "rubbish",
      { jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "collection_info" } }
    ])
    const answers = await client.find(Array.isArray, from)
    const byId = new Map(answers.map((answer: { id: unknown }) => [answer.id, answer]))
    assert.strictEqual(answers.length, 4)
    assert.deepStrictEqual([...byId.keys()].map(String).sort(), ["1", "2", "3", "null"])
    assert.strictEqual(answers.find(({ id }: { id: unknown }) => id === 2).error.code, -32601)
    assert.strictEqual(answers.find(({ id }: { id: unknown }) => id === 3).result.structuredContent.documents, 0)
  })

  it("of notifications alone are not answered", async () => {
    const client = await connect()
    client.send([{ jsonrpc: "2.0", method: "notifications/initialized" }])
    const from = client.lines.length
    await client.result("ping")
    assert.strictEqual(client.lines.length, from + 1)
  })

  it("hold at most 1000 messages", async () => {
    const client = await connect()
    const from = client.lines.length
    client.send(Array.from({ length: 1001 }, (_, id) => ({ jsonrpc: "2.0", id, method: "ping" })))
    assert.strictEqual((await client.find(() => true, from)).error.code, -32600)
  })
})

describe("ids", () => {
  it("that come twice are each answered", async () => {
    const client = await connectWith([sea])
    const from = client.lines.length
    client.ask(7, "search", { query: "tides" })
    client.send({ jsonrpc: "2.0", id: 7, method: "ping" })
    client.send({ jsonrpc: "2.0", id: "7", method: "ping" })
    await client.find(({ id, result }) => id === 7 && result.structuredContent !== undefined, from)
    await client.find(({ id, result }) => id === 7 && result.structuredContent === undefined, from)
    await client.find(({ id }) => id === "7", from)
    assert.strictEqual(client.lines.length, from + 3)
  })
})

describe("cancelling", () => {
  const documents = Array.from({ length: 100 }, (_, index) => ({
    content: `Document ${index}. ${"The moon pulls the sea, and the tides rise and fall. ".repeat(1500)}`,
    metadata: { source: `long/${index}` }
  }))

  it("interrupts, is not answered, and leaves whole documents; with the id 0 too", async () => {
    const client = await connect()
    client.ask(0, "index_documents", { documents }, { _meta: { progressToken: "p" } })
    await client.find(({ method, params }) => method === "notifications/progress" && params.progress > 0)
    client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 0, reason: "enough" } })
    const info = await client.call("collection_info")
    const { documents: stored } = info.structuredContent
    assert.isAbove(stored, 0)
    assert.isBelow(stored, 100)
    await client.result("ping")
    assert.isFalse(client.lines.some((line) => JSON.parse(line).id === 0))
    // The document under way when the word came may still be put in; no other is begun.
    assert.isAtMost((await client.call("collection_info")).structuredContent.documents, stored + 1)
  })
})

describe("logging", () => {
  it("has the configured looks on every line", async () => {
    const client = await connect({ env: { CLEW_LOG_FORMAT: "json", CLEW_LOG_LEVEL: "debug" } })
    await client.call("search", { query: "tides" })
    await client.callError("search", { query: "tides", collection: "nowhere" })
    await client.end()
    const lines = client.stderr.trim().split("\n")
    assert.isAbove(lines.length, 1)
    for (const line of lines) assert.hasAnyKeys(JSON.parse(line), ["logLevel", "level"], line)
  })

  it("sends the client what it asks for", async () => {
    const client = await connect()
    await client.call("collection_info")
    assert.isFalse(client.lines.some((line) => line.includes("notifications/message")))
    await client.result("logging/setLevel", { level: "debug" })
    await client.call("collection_info")
    const { params } = await client.find(({ method }) => method === "notifications/message")
    assert.strictEqual(params.level, "debug")
    assert.include(params.data, "collection_info")
  })
})
