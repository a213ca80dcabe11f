import type { Browser, Page } from "playwright-core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { readFileSync } from "node:fs"
import { afterAll, afterEach, assert, beforeAll, beforeEach, expect, it } from "vitest"
import { library } from "../cli/program/files.ts"
import { startOllama } from "../ollama.ts"
import { launch, linked, open, seen, Server, texts, until, type Watched } from "./browser.ts"

const notes = Object.fromEntries(
  Array.from({ length: 60 }, (_, n) => [
    `notes/n${String(n).padStart(2, "0")}.md`,
    `# Note ${n}\n\nThe lighthouse keeper writes entry ${n}.\n`
  ])
)

seen("work in the console", () => {
  let server: Server
  let browser: Browser
  let watched: Watched
  let page: Page
  const scope = Effect.runSync(Scope.make())
  let ollama: Effect.Effect.Success<ReturnType<typeof startOllama>>

  beforeAll(async () => {
    ollama = await Effect.runPromise(
      Scope.extend(startOllama(["Knead", " the", " dough", " [1].", " The moon", " bakes", " it [1]."]), scope)
    )
    server = new Server({ ...library, ...linked, ...notes })
    const { code, stderr } = await server.box.run(["index", "docs", "notes"])
    assert.strictEqual(code, 0, stderr)
    const env = { CLEW_LLM_BACKEND: "ollama", CLEW_LLM_URL: ollama.url, CLEW_LLM_MODEL: "small" }
    ;[browser] = await Promise.all([launch(), server.start([], env)])
  })
  afterAll(async () => {
    await browser?.close()
    await server?.remove()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })
  beforeEach(async () => {
    watched = await open(browser, `${server.url}/console/documents`)
    ;({ page } = watched)
  })
  afterEach(async () => {
    await watched.end(/ERR_FAILED/)
  })
  const to = (path: string) => page.goto(`${server.url}${path}`)

  it("answers with citations that lead to their passages, each with its verdict", async () => {
    await to("/console/ask")
    await page.getByLabel("Your question").fill("how do I bake bread")
    await page.keyboard.press("Enter")
    await page.waitForURL(/\/console\/ask\?q=how\+do\+I\+bake\+bread/)
    const turn = page.locator(".turn").first()
    await turn.locator(".cite.mentioned, .cite.not_found, .cite.unclear").first().waitFor()
    expect(await turn.locator(".answer").innerText()).toMatch(/Knead the dough\s*1/)
    expect(await turn.innerText()).toContain("Written by small")
    await turn.locator(".cite").first().click()
    const picked = turn.locator(".sources .is-picked")
    expect(await picked.innerText()).toContain("docs/bread.md")
    expect((await picked.locator("mark").allInnerTexts()).join(" ").toLowerCase()).toContain("knead")
    await page.getByLabel("A follow-up question").fill("and how hot")
    await page.getByRole("button", { name: "Ask", exact: true }).click()
    await page.locator(".turn").nth(1).locator(".cite").first().waitFor()
    const { messages } = ollama.asked.findLast(({ path }) => path === "/api/chat")!.body
    assert.deepStrictEqual(
      messages.slice(1, -1).map(({ role }: { readonly role: string }) => role),
      ["user", "assistant"]
    )
    expect(messages.at(-1).content).toContain("Question: and how hot")
    await picked.getByRole("link", { name: "Open in its document" }).click()
    await page.locator(".panel .in-span").first().waitFor()
  })

  it("stops an answer, and keeps what has come", async () => {
    ollama.faults.slowMs = 100
    await to("/console/ask?q=bread")
    await until(async () => (await page.locator(".answer").innerText()).includes("Knead"))
    await page.getByRole("button", { name: "Stop" }).click()
    await page.getByText("Stopped.").waitFor()
    delete ollama.faults.slowMs
    expect(await page.locator(".answer").innerText()).toContain("Knead")
    await page.getByRole("button", { name: "Ask", exact: true }).waitFor()
  })

  it("compares two settings, takes grades by keys, and measures", async () => {
    await to("/console/compare?q=how+to+bake+bread")
    const b = page.getByRole("region", { name: /^B: Meaning/ })
    await b.locator(".hit").first().waitFor()
    expect(await texts(page, ".move")).not.toHaveLength(0)
    await page.getByText(/% of the passages are in both lists/).waitFor()
    await page.getByRole("button", { name: "Settings of B: Meaning" }).click()
    await page.getByRole("dialog").getByText("Words", { exact: true }).click()
    await page.keyboard.press("Escape")
    await page.waitForURL(/b\.mode=words/)
    await page.getByRole("region", { name: /^B: Words/ }).waitFor()
    await page.getByRole("button", { name: "Judge" }).click()
    await page.getByRole("article", { name: /^Passage 1 of/ }).waitFor()
    await page.keyboard.press("3")
    await page.getByRole("article", { name: /^Passage 2 of/ }).waitFor()
    await page.keyboard.press("0")
    await page.getByRole("article", { name: /^Passage 3 of/ }).waitFor()
    // The passage turns before the server has answered.
    const score = page.getByRole("row", { name: /^This question\s+1\.000\s+1\.000\s+0\.000/ })
    await score.waitFor()
    // A passage that is judged again counts once.
    await page.keyboard.press("ArrowLeft")
    await page.keyboard.press("ArrowLeft")
    await page.getByRole("article", { name: /^Passage 1 of/ }).waitFor()
    await page.keyboard.press("3")
    await page.getByRole("article", { name: /^Passage 2 of/ }).waitFor()
    await score.waitFor()
    await page.getByRole("button", { name: "Measure over all judged questions" }).click()
    await page.getByRole("row", { name: /^1 question/ }).waitFor()
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download judgements" }).click()
    ])
    // Grades given one after the other may be written in any order.
    const judged = readFileSync(await download.path(), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { query: string; grade: number })
    assert.sameDeepMembers(
      judged.map(({ grade, query }) => ({ query, grade })),
      [3, 0].map((grade) => ({ query: "how to bake bread", grade }))
    )
    expect(await page.locator(".scores pre").innerText()).toContain("clew benchmark --judgements judgements.jsonl")
  })

  it("lists documents, of which only those in sight are elements, and shows how one was cut", async () => {
    await page.getByText("68 documents").waitFor()
    const rows = page.locator(".rows .row")
    expect(await rows.count()).toBeLessThan(45)
    await page.locator(".rows").evaluate((element) => (element.scrollTop = element.scrollHeight))
    await page.getByRole("link", { name: /n59\.md/ }).waitFor()
    await page.getByLabel("Search by source").fill("notes/n1")
    await page.getByText("10 documents").waitFor()
    await page.waitForURL(/source=notes%2Fn1/)
    await page.getByRole("link", { name: /n10\.md/ }).click()
    const panel = page.getByRole("complementary", { name: "Passages of the document" })
    await panel.getByText("The lighthouse keeper writes entry 10.").waitFor()
    await page.keyboard.press("Escape")
    await panel.waitFor({ state: "detached" })
  })

  it("indexes files that are chosen or dropped, and says which it did not", async () => {
    await page.getByLabel("Files to index").setInputFiles([
      { name: "owl.md", mimeType: "text/markdown", buffer: Buffer.from("# Owl\n\nThe owl hunts at night.\n") },
      { name: "noise.bin", mimeType: "application/octet-stream", buffer: Buffer.from([0, 1, 2, 3, 0, 255, 254]) }
    ])
    const dialog = page.getByRole("dialog", { name: "Indexed" })
    await dialog.waitFor()
    expect(await dialog.innerText()).toContain("1 document indexed, 1 passage")
    expect(await dialog.innerText()).toContain("noise.bin")
    await dialog.getByRole("button", { name: "Close" }).last().click()
    await page.locator("main").evaluate((main) => {
      const { DataTransfer, DragEvent, File } = main.ownerDocument.defaultView!
      const drop = (...files: ReadonlyArray<File>) => {
        const dropped = new DataTransfer()
        for (const file of files) dropped.items.add(file)
        main.dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }))
      }
      drop(new File(["# Fox\n\nThe fox digs a den.\n"], "fox.md", { type: "text/markdown" }))
      // While the first is sent.
      drop(new File(["# Badger\n\nThe badger digs a sett.\n"], "badger.md", { type: "text/markdown" }))
    })
    await dialog.getByText("2 documents indexed").waitFor()
    await dialog.getByRole("button", { name: "Close" }).last().click()
    let sent = 0
    await page.route(/\/files/, (route) => (++sent === 1 ? route.continue() : route.abort()))
    await page.getByLabel("Files to index").setInputFiles(
      Array.from({ length: 150 }, (_, n) => ({
        name: `vole${n}.md`,
        mimeType: "text/markdown",
        buffer: Buffer.from(`Vole ${n} digs.`)
      }))
    )
    const part = page.getByRole("dialog", { name: "Not all indexed" })
    await part.getByText("50 files not sent").waitFor()
    expect(await part.innerText()).toContain("100 documents indexed")
    await part.getByRole("button", { name: "Close" }).last().click()
    await page.unroute(/\/files/)
    await to("/console/search?q=where+does+the+fox+dig")
    await page.locator(".hit").first().getByText("fox.md").first().waitFor()
  })

  it("deletes what was chosen, once its count was entered", async () => {
    await page.getByLabel("Search by source").fill("notes/n0")
    await page.getByText("10 documents").waitFor()
    await page.getByLabel("Choose all that are loaded").check()
    await page.getByRole("button", { name: "Delete 10 documents…" }).click()
    const dialog = page.getByRole("dialog", { name: "Delete 10 documents?" })
    expect(await dialog.getByRole("button", { name: "Delete" }).isDisabled()).toBe(true)
    await dialog.getByLabel("Enter 10 to confirm").fill("10")
    await dialog.getByRole("button", { name: "Delete" }).click()
    await page.getByText("No source contains that").waitFor()
    expect(await page.locator(".rows .row").count()).toBe(0)
  })

  it("creates, fills, reindexes and drops collections", async () => {
    await page.getByRole("link", { name: "Collections" }).click()
    await page.getByLabel("Name of a new collection").fill("papers")
    await page.getByRole("button", { name: "Create" }).click()
    const row = page.getByRole("row", { name: /^papers/ })
    await row.waitFor()
    await page.getByLabel("Name of a new collection").fill("no/slash")
    await page.getByRole("button", { name: "Create" }).click()
    await page.locator(".trouble").waitFor()
    await row.getByRole("button", { name: "Change embedder" }).click()
    await until(async () => !(await row.getByRole("button", { name: "Change embedder" }).isDisabled()))
    await row.getByRole("button", { name: "Drop…" }).click()
    await page.getByLabel("Enter 0 to confirm").fill("0")
    await page.getByRole("dialog").getByRole("button", { name: "Drop" }).click()
    await row.waitFor({ state: "detached" })
    expect(await page.getByRole("row").count()).toBe(2)
    watched.complaints.splice(0, Infinity, ...watched.complaints.filter((text) => !/status of 400/.test(text)))
  })

  it("shows a name among its neighbours, the passages behind it, and the path between two", async () => {
    await to("/console/graph?name=Ada+Lovelace")
    const canvas = page.getByRole("img", { name: /names and \d+ relations/ })
    await canvas.waitFor()
    const evidence = page.getByRole("region", { name: "Evidence" })
    await evidence.getByRole("heading", { name: "Ada Lovelace" }).waitFor()
    expect(await evidence.innerText()).toContain("Analytical Engine")
    const painted = await canvas.evaluate((element) => {
      const { data } = (element as any)
        .getContext("2d")
        .getImageData(0, 0, (element as any).width, (element as any).height)
      return data.some((value: number) => value > 0)
    })
    expect(painted).toBe(true)
    await canvas.focus()
    await page.keyboard.press("+")
    await page.keyboard.press("ArrowLeft")
    await page.getByLabel("Path from").fill("Ada Lovelace")
    await page.getByLabel("Path to").fill("Charles Babbage")
    await page.getByRole("button", { name: "Find path" }).click()
    await evidence.getByText("Ada Lovelace").first().waitFor()
    expect(await evidence.innerText()).toContain("Charles Babbage")
    await evidence
      .getByText(/docs\/(?:engine|babbage)\.md/)
      .first()
      .waitFor()
  })

  it("tells how the index and its server are", async () => {
    await to("/console/search?q=bread")
    await page.locator(".hit").first().waitFor()
    await to("/console/health")
    await page.getByRole("region", { name: "The index" }).getByText("builtin clew-static-en-v1").waitFor()
    expect(await page.getByRole("region", { name: "The index" }).innerText()).toMatch(
      /Model\s+ollama small\s+Reranker\s+none/
    )
    expect(await page.getByRole("region", { name: "Checks" }).innerText()).toContain("embedder")
    expect(await page.getByRole("region", { name: "Slowest stages" }).innerText()).toMatch(/ms/)
    expect(await page.getByRole("region", { name: "Jobs" }).innerText()).toContain("files")
  })
})
