import { afterEach, assert, describe, it } from "@effect/vitest"
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { endClients, startWith, sea, temporaryFolder } from "../mcp/client.ts"

afterEach(endClients)

/** Runs in every thread that reads: ends it as the query says. */
const deadly = `
  const { isMainThread, parentPort } = require("node:worker_threads")
  const { existsSync, writeFileSync } = require("node:fs")
  if (!isMainThread) parentPort.on("message", ({ method, args }) => {
    const query = method === "find" ? args[0].keyword : ""
    if (query.includes("sink") || (query.includes("founder") && !existsSync("foundered"))) {
      writeFileSync("foundered", "")
      process.exit(7)
    }
    if (query.includes("swell")) for (const sea = []; ; ) sea.push(new Array(1e5).fill({}))
  })
`

const server = async () => {
  const folder = temporaryFolder()
  const preload = join(folder, "preload.cjs")
  writeFileSync(preload, deadly)
  return startWith([sea], { folder, nodeArgs: ["--max-old-space-size=64", "--require", preload] })
}

/** A search of a small index that is explained always runs in a thread. */
const inThread = { explain: true }

const found = (answer: { readonly structuredContent: { readonly results: ReadonlyArray<unknown> } }) =>
  answer.structuredContent.results.length

describe("a thread that dies", () => {
  it("is replaced, and what was asked of it is answered", async () => {
    const client = await server()
    assert.strictEqual(found(await client.call("search", { query: "tides founder", ...inThread })), 1)
    assert.isTrue(existsSync(join(client.folder, "foundered")))
  })

  it("takes along only what kills every thread", async () => {
    const client = await server()
    for (const query of ["tides sink", "tides swell"]) {
      const [lost, ...others] = await Promise.all([
        client.callError("search", { query, ...inThread }),
        ...Array.from({ length: 5 }, () => client.call("search", { query: "tides", ...inThread }))
      ])
      assert.match(lost.message, /was interrupted/)
      assert.deepStrictEqual(others.map(found), [1, 1, 1, 1, 1])
    }
    assert.strictEqual((await client.end()).code, 0)
  })
})
