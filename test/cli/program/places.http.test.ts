import type { ChildProcess } from "node:child_process"
import { basename } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, it } from "vitest"
import { Sandbox } from "./sandbox.ts"

const documents = fileURLToPath(new URL("../../fixtures/documents", import.meta.url))

const box = new Sandbox()
let server: ChildProcess
let url = ""
beforeAll(async () => {
  const { code, stderr } = await box.run(["index", documents, "--include", "*.*", "--exclude", "{golden,sources}"])
  assert.strictEqual(code, 0, stderr)
  server = box.start(["serve", "--port", "0"], { env: { CLEW_LOG_FORMAT: "json" } })
  url = await new Promise<string>((resolve, reject) => {
    let log = ""
    server.stderr!.on("data", (chunk) => {
      log += String(chunk)
      const found = /Listening on (http:\/\/[^\s",]+)/.exec(log)
      if (found !== null) resolve(found[1]!)
    })
    server.on("exit", () => reject(new Error(`ended: ${log}`)))
  })
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

const passagesOf = async (source: string): Promise<ReadonlyArray<any>> => {
  const response = await fetch(`${url}/query`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: "bees", filter: { source }, top_k: 50, hybrid: true })
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
    // The packaged model knows no word of Japanese or Arabic.
    if (!/guide-(?:ja|ar)/.test(source)) assert.isNotEmpty(passages, source)
    for (const { metadata, text } of passages)
      assert.strictEqual(document.content.slice(metadata.start, metadata.end), text, source)
  }
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
