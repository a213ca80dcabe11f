import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { createServer, request as ask } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import type { Browser, Route } from "playwright-core"
import { afterAll, assert, beforeAll, describe, expect, it } from "vitest"
import { library } from "../cli/program/files.ts"
import { ended, listening, program } from "../cli/program/sandbox.ts"
import { launch, open, seen, Server, texts, until } from "./browser.ts"

const built = join(program, "../console")

describe("what the build makes of the console", () => {
  it("is at most 70 KB of script and style, and has nothing inline", () => {
    const files = readdirSync(built)
    const size = files
      .filter((name) => /\.(?:js|css)$/.test(name))
      .reduce((sum, name) => sum + gzipSync(readFileSync(join(built, name)), { level: 9 }).length, 0)
    assert.isAtMost(size, 70_000)
    assert.isAbove(size, 10_000)
    const page = readFileSync(join(built, "page.html"), "utf8")
    assert.notMatch(page, /<script(?![^>]* src=)|<style| on\w+=| style=/)
    const script = files.find((name) => name.endsWith(".js"))!
    assert.notMatch(readFileSync(join(built, script), "utf8"), /https?:\/\/(?!www\.w3\.org)/)
  })
})

seen("around the console", () => {
  let server: Server
  let browser: Browser

  beforeAll(async () => {
    server = new Server(library)
    const { code, stderr } = await server.box.run(["index", "docs"])
    assert.strictEqual(code, 0, stderr)
    ;[browser] = await Promise.all([launch(), server.start()])
  })
  afterAll(async () => {
    await browser?.close()
    await server?.remove()
  })

  it("is served to browsers alone, with its policy, and its files for good", async () => {
    const get = (path: string, accept: string) => fetch(`${server.url}${path}`, { headers: { accept } })
    const page = await get("/", "text/html,application/xhtml+xml")
    assert.strictEqual(page.status, 200)
    assert.match(page.headers.get("content-type")!, /^text\/html/)
    const policy = page.headers.get("content-security-policy")!
    for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"])
      assert.include(policy, part)
    assert.notMatch(policy, /unsafe|\*/)
    assert.strictEqual(page.headers.get("x-content-type-options"), "nosniff")
    assert.strictEqual(page.headers.get("referrer-policy"), "no-referrer")
    const html = await page.text()
    for (const [, address] of html.matchAll(/(?:src|href)="([^"]+)"/g)) {
      const asset = await get(`/${address}`, "*/*")
      assert.strictEqual(asset.status, 200, address)
      assert.include(asset.headers.get("cache-control"), "immutable")
    }
    assert.strictEqual((await get("/", "application/json")).status, 404)
    for (const path of ["/console/assets/none.js", "/console/assets/..%2fprogram.cjs", "/console/assets/page.html"])
      assert.strictEqual((await get(path, "*/*")).status, 404, path)
    for (const view of ["search", "ask", "compare", "documents", "graph", "health"])
      assert.strictEqual((await get(`/console/${view}`, "text/html")).status, 200)
  })

  it("never shows the answer of an older question, however slow the server is, and does not flicker", async () => {
    const { end, page } = await open(browser, `${server.url}/console/search?q=tide`)
    await page.locator(".hit").first().waitFor()
    const held = new Map<string, Route>()
    let isOpen = false
    await page.route("**/query", async (route) => {
      if (isOpen) await route.continue()
      else held.set((route.request().postDataJSON() as { readonly query: string }).query, route)
    })
    const field = page.getByRole("searchbox", { name: "Search" })
    await field.fill("bread")
    await until(() => held.has("bread"))
    await field.fill("volcano")
    await until(() => held.has("volcano"))
    // The old list stays where it is, and says whose it is.
    await page.getByText("Searching; below is still what “tide” found").waitFor()
    expect(await page.locator(".hit").count()).toBeGreaterThan(0)
    isOpen = true
    // The older question is answered last; nobody waits for it any more.
    await held.get("volcano")!.continue()
    await page.locator(".hit").first().getByText("Volcano").first().waitFor()
    await held
      .get("bread")!
      .continue()
      .catch(() => {})
    await page.locator(".hit").first().getByText("Volcano").first().waitFor()
    expect((await texts(page, ".hit h2"))[0]).toContain("Volcano")
    await end(/ERR_ABORTED|net::/)
  })

  it("says that the server is gone, and goes on when it is back", async () => {
    const { end, page } = await open(browser, `${server.url}/console/search?q=tide`)
    await page.locator(".hit").first().waitFor()
    await server.stop()
    await page.getByRole("searchbox", { name: "Search" }).fill("volcano")
    await page.getByText("The server does not answer.").waitFor()
    await server.start()
    await page.locator(".hit").first().getByText("Volcano").first().waitFor()
    await page.locator(".banner").waitFor({ state: "detached" })
    expect(await page.getByRole("searchbox", { name: "Search" }).inputValue()).toBe("volcano")
    await end(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/)
  })

  it("asks for the key once, keeps it in the tab, and shows nothing that may not be done", async () => {
    const own = new Server(library)
    try {
      await own.box.run(["index", "docs"])
      await own.start(["--read-only"], { SERVICE_API_KEY: "open-sesame" })
      const { context, end, page } = await open(browser, `${own.url}/console/search?q=tide`)
      const dialog = page.getByRole("dialog", { name: "This server needs a key" })
      await dialog.getByLabel("Key").fill("wrong")
      await dialog.getByRole("button", { name: "Continue" }).click()
      await dialog.getByRole("alert").waitFor()
      await dialog.getByLabel("Key").fill("open-sesame")
      await dialog.getByRole("button", { name: "Continue" }).click()
      await page.locator(".hit").first().waitFor()
      await page.reload()
      await page.locator(".hit").first().waitFor()
      expect(await dialog.count()).toBe(0)
      await page.getByText("read-only server").waitFor()
      await page.getByRole("link", { name: "Documents" }).click()
      await page.locator(".rows a").first().waitFor()
      expect(await page.getByRole("button", { name: "Add files" }).count()).toBe(0)
      expect(await page.getByRole("checkbox").count()).toBe(0)
      const { cookies, origins } = await context.storageState()
      expect(JSON.stringify([cookies, origins])).not.toContain("open-sesame")
      expect(page.url()).not.toContain("open-sesame")
      await page.getByRole("button", { name: "Forget key" }).click()
      await dialog.waitFor()
      await end(/status of 401/)
    } finally {
      await own.remove()
    }
  })

  it("shows a limited key its own collection, without a refusal, and tells a key that may not read so", async () => {
    const own = new Server(library)
    try {
      const keys = { limited: `rights = ["read", "write"]\ncollections = ["notes"]`, writer: `rights = ["write"]` }
      own.box.write({
        "keys.toml": Object.entries(keys)
          .map(([name, rest]) => {
            const hash = createHash("sha256").update(`key-${name}`).digest("hex")
            return `[[server.keys]]\nname = "${name}"\nhash = "sha256:${hash}"\n${rest}\n`
          })
          .join("\n")
      })
      await own.box.run(["index", "docs"])
      await own.box.run(["index", "--collection", "notes", "docs/tides.md", "docs/bread.md"])
      await own.start(["--config", "keys.toml"])
      const opened = async (name: string) => {
        const watched = await open(browser, `${own.url}/console/search?q=tide`)
        const dialog = watched.page.getByRole("dialog", { name: "This server needs a key" })
        // Esc does not get around it.
        await watched.page.keyboard.press("Escape")
        await watched.page.keyboard.press("Escape")
        await dialog.getByLabel("Key").fill(`key-${name}`)
        await dialog.getByRole("button", { name: "Continue" }).click()
        await dialog.waitFor({ state: "detached" })
        return watched
      }
      const { end, page } = await opened("limited")
      await page.getByText("limited · may read, write").waitFor()
      await page.locator(".hit").first().waitFor()
      await page.getByRole("link", { name: "Documents", exact: true }).first().click()
      await page.getByText("2 documents").waitFor()
      await page.getByRole("button", { name: "Add files" }).waitFor()
      await page.getByRole("link", { name: "Collections" }).click()
      await page.getByRole("row", { name: /^notes/ }).waitFor()
      expect(await page.getByRole("row").count()).toBe(2)
      expect(await page.getByRole("button", { name: /Create|Drop|Change/ }).count()).toBe(0)
      await page.getByRole("link", { name: "Graph" }).click()
      await page.getByText("No names join documents here.").waitFor()
      await page.goto(`${own.url}/console/graph?name=Tides`)
      await page.locator(".evidence h2").waitFor()
      await page.goto(`${own.url}/console/compare?q=tide&judge=1`)
      await page.locator(".side .hit").first().waitFor()
      expect(await page.getByRole("button", { name: "Judge" }).count()).toBe(0)
      await page.getByRole("link", { name: "Health" }).click()
      await page.locator(".fact").first().waitFor()
      // Nothing was asked for that it may not have.
      await end()
      const writer = await opened("writer")
      await writer.page.getByText("This key may not read").waitFor()
      await writer.end()
    } finally {
      await own.remove()
    }
  })

  it("works below a proxy's path, and goes on when the proxy has its server back", async () => {
    let isUp = true
    const proxy = createServer((request, response) => {
      // As nginx reads a path, which decodes it and then resolves it.
      const path = request.url!.replace(/^(?:\/{1,2}other\.example\/\.\.%2f|\/)clew\//, "/")
      if (path === request.url || (!isUp && !path.startsWith("/console/")))
        return response.writeHead(path === request.url ? 404 : 502, { "content-type": "text/html" }).end("<h1>No</h1>")
      const onward = ask(new URL(path, server.url), { method: request.method, headers: request.headers }, (answer) =>
        answer.pipe(response.writeHead(answer.statusCode!, answer.headers))
      )
      return request.pipe(onward.on("error", () => response.destroy()))
    })
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve))
    try {
      const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/clew`
      const { end, page } = await open(browser, `${url}/`)
      await page.getByRole("searchbox", { name: "Search" }).fill("tide")
      await page.locator(".hit a").first().click()
      await page.locator(".panel .in-span").first().waitFor()
      await page.getByRole("button", { name: "Copy as…" }).click()
      expect(await page.locator(".snippet").innerText()).toContain(`${url}/query`)
      await page.keyboard.press("Escape")
      await page.reload()
      await page.getByRole("link", { name: "Ask" }).click()
      await page.getByLabel("Your question").fill("what pulls the sea?")
      isUp = false
      await page.keyboard.press("Enter")
      await page.getByText("The server does not answer.").waitFor()
      isUp = true
      await page.locator(".turn .cite").first().waitFor()
      expect(await page.getByRole("alert").count()).toBe(0)
      await page.getByRole("link", { name: "Documents" }).click()
      await page.getByRole("link", { name: "Collections" }).click()
      await page.locator("form input").first().fill("letters")
      isUp = false
      await page.keyboard.press("Enter")
      // It is not done later by itself.
      await page.getByRole("alert").getByText("The server does not answer").waitFor()
      isUp = true
      assert.include(await (await fetch(`${url}/docs`)).text(), '"servers":[{"url":"./"}]')
      await end(/status of 502/)
      // Its addresses never lead to another host, as one that begins with two slashes would.
      const odd = await open(browser, `${new URL(url).origin}//other.example/..%2fclew/console/search`)
      await odd.page.getByRole("link", { name: "Ask" }).waitFor()
      assert.isTrue(await odd.page.evaluate("[...document.links].every(({ host }) => host === location.host)"))
      await odd.end()
    } finally {
      proxy.closeAllConnections()
      proxy.close()
    }
  })

  it("says why it shows nothing, if the server does not say who one is", async () => {
    const { end, page } = await open(browser, "about:blank")
    const detail = "Too many requests; wait 1 s"
    await page.route("**/whoami", (route) =>
      route.fulfill({ status: 429, contentType: "application/problem+json", body: JSON.stringify({ detail }) })
    )
    await page.goto(server.url)
    expect(await page.getByRole("alert").innerText()).toBe(detail)
    await end(/status of 429/)
  })

  it("lets the keyboard skip to the content, keeps fields with the address, and copies over plain HTTP", async () => {
    const { context, end, page } = await open(browser, `${server.url}/console/documents?source=tides`)
    await page.getByText("1 document").waitFor()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await page.locator("main:focus").waitFor()
    await page.locator(".tabs").getByRole("link", { name: "Documents" }).click()
    await until(async () => (await page.locator("#search-field").inputValue()) === "")
    await page.getByRole("link", { name: "Compare" }).click()
    await page.locator("[aria-live=polite]").getByText("Compare").waitFor({ state: "attached" })
    await page.goto(`${server.url}/console/compare?q=tide`)
    await page.locator("#search-field").fill("bread")
    await page.keyboard.press("Enter")
    await until(() => page.url().endsWith("q=bread"))
    await page.goBack()
    await until(async () => (await page.locator("#search-field").inputValue()) === "tide")

    await page.goto(`${server.url}/console/search?q=tide`)
    // Pages of plain HTTP have none.
    await page.evaluate("Object.defineProperty(navigator, `clipboard`, { value: undefined })")
    await page.locator(".hit a").first().click()
    await page.getByRole("button", { name: "Copy citation" }).click()
    await page.getByRole("button", { name: "Copied" }).waitFor()
    // A busy machine's clipboard may have the text later than the page says so.
    const pasted = async () => {
      await page.locator("#search-field").fill("")
      await page.keyboard.press("Control+V")
      return page.locator("#search-field").inputValue()
    }
    await expect.poll(pasted, { timeout: 10_000 }).toMatch(/tides\.md:\d/)
    // Of one that lets nothing be copied, that is seen.
    await page.evaluate("document.execCommand = () => false")
    await page.locator("#search-field").fill("tide")
    await page.locator(".hit a").first().click()
    await page.getByRole("button", { name: "Copy citation" }).click()
    await page.getByRole("button", { name: "The browser does not let the page copy" }).waitFor()
    await context.close()
    await end()
  })

  it("leads on from an empty index", async () => {
    const own = new Server({})
    try {
      await own.start()
      const { end, page } = await open(browser, `${own.url}/`)
      await page.getByText("Nothing is indexed yet").waitFor()
      await page.locator("#search-field:focus").waitFor()
      await page.keyboard.type("tide")
      await page.locator(".results").getByText("Nothing is indexed yet").waitFor()
      await page.locator(".results").getByRole("link", { name: "Documents" }).click()
      await page.getByText("Nothing is indexed here yet").waitFor()
      await page.goto(`${own.url}/console/compare?q=tide`)
      await page.getByText("Nothing found").first().waitFor()
      expect(await page.getByRole("button", { name: "Judge" }).count()).toBe(0)
      await end()
    } finally {
      await own.remove()
    }
  })

  it("is switched off by --no-console, and opened by clew console, which finds a server that runs", async () => {
    const own = new Server(library)
    try {
      await own.box.run(["index", "docs"])
      const bare = own.box.startHere(["serve", "--port", "0", "--no-console"])
      const html = { headers: { accept: "text/html" } }
      assert.strictEqual((await fetch(await listening(bare), html)).status, 404)
      await own.box.ends(2, ["console", "--no-open"], "has its console switched off")
      bare.kill()
      await bare.ended
      await own.start()
      const found = await own.box.run(["console", "--no-open"])
      assert.deepInclude(found, { code: 0, stdout: `${own.url}/\n` })
      await own.stop()
      const child = own.box.start(["console", "--no-open", "--port", "0"])
      const [address] = await new Promise<ReadonlyArray<string>>((resolve) => {
        child.stdout!.on("data", (chunk) => resolve(String(chunk).split("\n")))
      })
      assert.strictEqual((await fetch(address!, html)).status, 200)
      const end = ended(child)
      child.kill("SIGTERM")
      assert.strictEqual((await end).code, 0)
    } finally {
      await own.remove()
    }
  })

  it("shows the part around a passage of a line as long as a book, on a phone, in a collection of any name", async () => {
    const collection = "9".repeat(64)
    const content = `${"the lamp shines ".repeat(3000)}\n\n| Wick |\n| --- |\n${"| lamp |\n".repeat(1500)}`
    const documents = [{ content, metadata: { source: "book.ts" } }]
    const answer = await fetch(`${server.url}/index`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ collection, documents })
    })
    assert.isTrue(answer.ok)
    const {
      chunks,
      documents: [{ doc_id }]
    } = (await answer.json()) as any
    const { end, page } = await open(browser, `${server.url}/console/search?q=lamp&c=${collection}`, {
      viewport: { width: 320, height: 640 }
    })
    const fits = () => page.evaluate("document.documentElement.scrollWidth <= window.innerWidth") as Promise<boolean>
    await page.locator(".stages summary").click()
    assert.isTrue(await fits(), "the stages of a search")
    await page.locator(".stages summary").click()
    await page.locator(".hit a").first().click()
    for (const form of [".panel .lines", ".panel .prose"]) {
      await page.locator(`${form} mark`).first().waitFor()
      const count = await page.locator(`${form} mark`).count()
      assert.isAbove(count, 300)
      assert.isBelow(count, 1500)
      await page.getByRole("button", { name: /^As (?:lines|text)$/ }).click()
    }
    await page.emulateMedia({ media: "print" })
    const isWhole = `(({ clientHeight, scrollHeight }, { position }) => scrollHeight <= clientHeight && position === "static")(
      document.querySelector(".document"), getComputedStyle(document.querySelector(".panel")))`
    assert.isTrue(await page.evaluate(isWhole), "the passage in print")
    await page.emulateMedia({ media: "screen" })
    await page.goto(`${server.url}/console/search?q=lamp&in=${collection}&open=${doc_id}&n=${chunks - 1}`)
    await page.getByRole("button", { name: "As text" }).click()
    await page.locator(".panel .prose tr.head").getByText("Wick").waitFor()
    for (const view of ["ask", "compare", "documents", "graph"]) {
      await page.goto(`${server.url}/console/${view}?c=${collection}`)
      await page.locator(".pick select").waitFor()
      assert.isTrue(await fits(), view)
    }
    await end()
  })
})
