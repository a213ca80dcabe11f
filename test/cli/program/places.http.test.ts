import type { ChildProcess } from "node:child_process"
import { basename } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, it } from "vitest"
import { SearchResponse } from "../../../src/model/SearchResult.ts"
import { Sandbox, listening } from "./sandbox.ts"

const documents = fileURLToPath(new URL("../../fixtures/documents", import.meta.url))

const box = new Sandbox()
let server: ChildProcess
let url = ""
beforeAll(async () => {
  await box.ends(0, ["index", documents, "--include", "*.*", "--exclude", "{golden,sources}"])
  server = box.start(["serve", "--port", "0"], { env: { CLEW_LOG_FORMAT: "json" } })
  url = await listening(server)
})
afterAll(() => {
  server.kill("SIGKILL")
  box.remove()
})

interface Listed {
  readonly doc_id: string
  readonly source: string
}

const get = async (path: string): Promise<any> => (await fetch(`${url}${path}`)).json()

/** The packaged model knows no word of Japanese or Arabic. */
const wordsFor = (source: string): string =>
  source.includes("guide-ja") ? "\u5de3\u7bb1" : source.includes("guide-ar") ? "\u0627\u0644\u0646\u062d\u0644" : "bees"

const passagesOf = async (source: string): Promise<ReadonlyArray<any>> => {
  const response = await fetch(`${url}/query`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: wordsFor(source), filter: { source }, top_k: 50, hybrid: true })
  })
  return ((await response.json()) as any).results
}

it("a passage of any format is exactly the text at its span, through HTTP", async () => {
  const { documents: listed } = (await get("/documents?limit=200")) as { documents: ReadonlyArray<Listed> }
  const formats = new Set(listed.map(({ source }) => /\.([a-z0-9]+)(?:#|$)/.exec(basename(source))?.[1]))
  for (const format of "pdf docx odt pptx odp xlsx ods csv epub fb2 ipynb srt html eml mbox 1 tex txt".split(" "))
    assert.isTrue(formats.has(format), format)
  for (const { doc_id, source } of listed) {
    const document = await get(`/documents/${encodeURIComponent(doc_id)}`)
    const passages = await passagesOf(source)
    assert.isNotEmpty(passages, source)
    for (const { metadata, text } of passages)
      assert.strictEqual(document.content.slice(metadata.start, metadata.end), text, source)
  }
})

it("a place names the passage that others are to be like", async () => {
  const { documents: listed } = (await get("/documents?limit=200")) as { documents: ReadonlyArray<Listed> }
  const { source } = listed.find((each) => basename(each.source) === "slides.pptx")!
  const like = (place: string) =>
    fetch(`${url}/similar`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ source: `${source}${place}` })
    })
  assert.strictEqual((await like("#slide=4")).status, 200)
  assert.strictEqual((await like("#page=4")).status, 404)
})

it("a passage's place is in its metadata, in the words of its format's readers", async () => {
  const { documents: listed } = (await get("/documents?limit=200")) as { documents: ReadonlyArray<Listed> }
  const placesOf = async (name: string): Promise<ReadonlyArray<unknown>> => {
    const source = listed.find((each) => basename(each.source) === name)!.source
    const found = await passagesOf(source)
    return found
      .map(({ metadata }) => metadata)
      .sort((a, b) => a.start - b.start)
      .map(({ locator, page, sheet, slide }) => [locator, page ?? slide ?? sheet])
  }
  assert.deepStrictEqual(await placesOf("slides.odp"), [
    ["#slide=1", 1],
    ["#slide=2", 2],
    ["#slide=3", 3],
    ["#slide=4", 4]
  ])
  assert.deepStrictEqual(await placesOf("report.pdf").then((places) => places[0]), ["#page=1", 1])
  assert.deepStrictEqual(await placesOf("accounts.ods"), [["#accounts!A1", "accounts"]])
})

/** What the MCP server on standard input and output finds for each search. */
const throughMcp = (searches: ReadonlyArray<object>): Promise<ReadonlyArray<any>> =>
  new Promise((resolve, reject) => {
    const child = box.start(["mcp"])
    const send = (message: object) => child.stdin!.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
    const found = new Map<number, any>()
    createInterface({ input: child.stdout! }).on("line", (line) => {
      const { id, result } = JSON.parse(line)
      if (typeof id === "number" && id > 0) found.set(id, result?.structuredContent)
      if (found.size === searches.length) child.stdin!.end()
    })
    child.on("error", reject)
    child.on("close", () => resolve(searches.map((_, i) => found.get(i + 1))))
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } }
    send({ id: 0, method: "initialize", params })
    send({ method: "notifications/initialized" })
    for (const [i, search] of searches.entries())
      send({ id: i + 1, method: "tools/call", params: { name: "search", arguments: search } })
  })

it("every door tells the same place of each kind", async () => {
  const { documents: listed } = (await get("/documents?limit=200")) as { documents: ReadonlyArray<Listed> }
  const kinds = {
    "report.pdf": /^#page=1$/,
    "slides.pptx": /^#slide=\d$/,
    "staff.xlsx": /^#[^!]+![A-Z]+\d+$/,
    "guide.ipynb": /^#cell=\d+$/,
    "talk.srt": /^#t=\d\d:\d\d:\d\d$/,
    "calibre.epub": /^#.+\.x?html$/
  }
  const sources = Object.keys(kinds).map((name) => listed.find(({ source }) => basename(source) === name)!.source)
  const asked = sources.map((source) => ({ query: "bees", filter: { source }, top_k: 50, max_tokens: 50_000 }))
  const byMcp = await throughMcp(asked)
  const places = (results: ReadonlyArray<any>) =>
    results
      .map(({ metadata: { end, locator, page, sheet, slide, start } }) => ({ start, end, locator, page, sheet, slide }))
      .sort((a, b) => a.start - b.start)
  for (const [i, [name, form]] of Object.entries(kinds).entries()) {
    const source = sources[i]!
    const byHttp = places(await passagesOf(source))
    assert.isNotEmpty(byHttp, name)
    for (const { locator } of byHttp) assert.match(locator, form, name)
    const { results } = await box.json(SearchResponse, ["query", "bees", "--filter", `source=${source}`, "-k", "50"])
    assert.deepStrictEqual(places(results), byHttp, `the command line on ${name}`)
    assert.deepStrictEqual(places(byMcp[i].results), byHttp, `MCP on ${name}`)
  }
})
