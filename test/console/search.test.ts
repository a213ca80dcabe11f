import type { Browser } from "playwright-core"
import { afterAll, assert, beforeAll, expect, it } from "vitest"
import { launch, open, seen, Server, texts, until, type Watched } from "./browser.ts"

/** What would run, or leave the page, if any of it were taken for markup. */
const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`

const birds = Array.from(
  { length: 14 },
  (_, n) => `## Bird ${n}\n\nThe heron number ${n} stands in the shallow water and waits for fish.\n`
)

/** One section of several passages that overlap. */
const lamps = Array.from(
  { length: 24 },
  (_, n) => `Keeper ${n} lights the great lamp of the lighthouse at dusk, and puts out the lamp when the day comes.`
).join("\n")

const files = {
  "docs/tides.md": `---
lang: en
year: 2021
constructor: the sea
---
# Tides

The moon pulls the sea. Twice a day the water rises and falls.

## Spring tides

When sun and moon stand in a line, the spring tide is highest.

## Neap tides

When sun and moon stand at a right angle, the neap tide is **lowest**. See [the moon](moon.md).
`,
  "docs/moon.md": `---
lang: en
year: 2015
constructor: the sky
---
# The moon

The moon goes around the earth in 27 days.

| phase | day |
| --- | --- |
| new | 0 |
| full | 14 |
`,
  "docs/brot.md":
    "---\nlang: de\nyear: 2019\n---\n# Brot\n\nDen Teig kneten, ruhen lassen und im heißen Ofen backen.\n",
  "docs/birds.md": `# Birds\n\n${birds.join("\n")}`,
  "docs/lighthouse.md": `# Lighthouse\n\n${lamps}\n`,
  "code/tide.ts": "/** How high the tide is. */\nexport const tideAt = (hour: number): number => Math.sin(hour / 12)\n",
  [`docs/evil <b onmouseover=alert(1)>.md`]: `---
title: '${hostile.replaceAll("'", "''")}'
note: '<svg onload=alert(1)>'
---
# ${hostile}

A kraken lives here. ${hostile}

[click the kraken](javascript:alert(1)) ![kraken](https://example.invalid/kraken.png)

\`\`\`html
<script>alert("kraken")</script>
\`\`\`

<iframe src="https://example.invalid"></iframe> kraken <a href="javascript:alert(1)">here</a>
`
}

seen("search in the console", () => {
  let server: Server
  let browser: Browser
  let watched: Watched

  beforeAll(async () => {
    server = new Server(files)
    const { code, stderr } = await server.box.run(["index", "docs", "code"])
    assert.strictEqual(code, 0, stderr)
    ;[browser] = await Promise.all([launch(), server.start()])
    watched = await open(browser, `${server.url}/`)
  })
  afterAll(async () => {
    await watched?.end()
    await browser?.close()
    await server?.remove()
  })
  const to = (path: string) => watched.page.goto(`${server.url}${path}`)
  const waitFor = (selector: string) => watched.page.locator(selector).first().waitFor()
  const field = () => watched.page.getByRole("searchbox", { name: "Search" })

  it("finds while one types, marks what matched, and says where it is", async () => {
    const { page } = watched
    assert.strictEqual(await page.title(), "Search · Clew")
    await page.locator("#search-field:focus").waitFor()
    await page.keyboard.type("spring tide")
    await waitFor(".hit")
    await page.waitForURL(/\/console\/search\?q=spring\+tide$/)
    const first = page.locator(".hit").first()
    expect(await first.innerText()).toContain("Spring tides")
    expect(await first.locator(".where").innerText()).toMatch(/docs\/tides\.md\s+lines \d+–\d+/)
    const marks = (await texts(page, ".hit:first-child .text mark")).map((text) => text.toLowerCase())
    assert.includeMembers([...marks], ["spring", "tide"])
    const bar = first.getByRole("meter", { name: "Likely to answer" })
    expect(Number(await bar.getAttribute("aria-valuenow"))).toBeGreaterThan(0.1)
    expect(await bar.innerText()).toMatch(/^\d+ % likely$/)
    // Below the line is what is unlikely to answer.
    expect(await page.getByRole("heading", { name: "Unlikely to answer" }).count()).toBe(1)
    await page.locator(".stages summary").click()
    expect(await page.locator(".stages dl").innerText()).toMatch(/by meaning\s+[\d.]+ ms/)
    assert.strictEqual(await page.title(), "spring tide · Search · Clew")
  })

  it("narrows by facets with counts, and says how to widen again", async () => {
    const { page } = watched
    await to("/console/search?q=moon")
    const facets = page.getByRole("group", { name: "Filters" })
    await until(async () => /lang\s+en\s+2/.test(await facets.innerText()))
    assert.match(await facets.innerText(), /constructor\s+the s/)
    await facets.getByRole("checkbox", { name: /^2015/ }).check()
    await page.waitForURL(/f=/)
    await until(async () => (await texts(page, ".hit .path")).every((text) => text.includes("moon.md")))
    await page.reload()
    await waitFor(".hit")
    expect(await facets.getByRole("checkbox", { name: /^2015/ }).isChecked()).toBe(true)
    await page.getByRole("button", { name: "Clear filters" }).click()
    await until(async () => (await page.locator(".hit").count()) > 1)
    await to("/console/search?q=" + encodeURIComponent('"no such phrase"'))
    await page.getByText("No passage matches").waitFor()
    expect(await page.locator(".empty").innerText()).toContain("leave out quotes, dashes and fields")
  })

  it("takes settings in a drawer, and keeps them in the address", async () => {
    const { page } = watched
    await to("/console/search?q=moon")
    await waitFor(".hit")
    await page.getByRole("button", { name: /^Settings/ }).click()
    const drawer = page.getByRole("dialog", { name: "Settings" })
    await drawer.getByText("Words", { exact: true }).click()
    await drawer.getByText("20", { exact: true }).click()
    await page.keyboard.press("Escape")
    await page.waitForURL(/mode=words/)
    expect(page.url()).toContain("k=20")
    await page.getByRole("button", { name: "Settings: Words" }).waitFor()
  })

  it("explains each hit, and why a document is none", async () => {
    const { page } = watched
    await to("/console/search?q=spring+tide")
    await waitFor(".hit")
    await page.locator(".hit").first().getByRole("button", { name: "Why" }).click()
    const why = page.getByRole("group", { name: "Why it ranks here" })
    expect(await why.innerText()).toMatch(/Meaning\s+rank 1/)
    expect(await why.getByRole("list", { name: "Terms that matched" }).innerText()).toMatch(/tide\s+[\d.]+,.*text/s)
    await page.getByText("Why is a document not here?").click()
    await page.getByLabel("Its source").fill(server.box.path("docs/brot.md"))
    await page.getByRole("button", { name: "Explain" }).click()
    const not = page.getByRole("group", { name: "Why it is not here" })
    await not.waitFor()
    expect(await not.innerText()).toContain("does not occur in it")
    await page.getByLabel("Its source").fill("nowhere.md")
    await page.getByRole("button", { name: "Explain" }).click()
    await page.getByText("is not indexed").waitFor()
  })

  it("opens a passage in its document, with the span marked and the next hit a key away", async () => {
    const { page } = watched
    await to("/console/search?q=heron+waits+for+fish")
    await waitFor(".hit")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    const panel = page.getByRole("complementary", { name: "Passage in its document" })
    await panel.locator(".in-span").first().waitFor()
    expect(await panel.locator(".cited").first().innerText()).not.toBe("")
    // The whole document is there, beyond the passage.
    expect(await panel.locator(".document").innerText()).toContain("Birds")
    await panel.getByText(/hit \d+ of \d+/).waitFor()
    const before = page.url()
    const isLast = await panel.getByRole("button", { name: "Next hit in this document" }).isDisabled()
    await page.keyboard.press(isLast ? "p" : "n")
    await until(() => page.url() !== before)
    await panel.getByRole("button", { name: "As lines" }).click()
    await panel.locator(".lines .in-span").first().waitFor()
    await page.keyboard.press("Escape")
    await panel.waitFor({ state: "detached" })
    await page.waitForFunction(`document.activeElement.matches("[data-hit]")`)
  })

  it("goes back and forward through questions and passages", async () => {
    const { page } = watched
    await to("/console/search")
    await field().fill("neap tide")
    await page.waitForURL(/q=neap\+tide/)
    await field().press("Enter")
    await field().fill("brot backen")
    await page.waitForURL(/q=brot\+backen/)
    await page.locator(".hit").first().getByText("Brot").first().waitFor()
    await page.locator("[data-hit]").first().click()
    await waitFor(".panel")
    await page.goBack()
    await page.locator(".panel").waitFor({ state: "detached" })
    await page.goBack()
    await page.locator(".hit").first().getByText("Neap").first().waitFor()
    expect(await field().inputValue()).toBe("neap tide")
    await page.goForward()
    await page.locator(".hit").first().getByText("Brot").first().waitFor()
    expect(await field().inputValue()).toBe("brot backen")
  })

  it("opens a file of this machine in an editor, and of no other", async () => {
    const sources = ["/srv/gannets.md", "//host/share/gannets.md", "/\\host/share/gannets.md", "gannets.md"]
    const documents = sources.map((source) => ({ content: "Gannets plunge.", metadata: { source } }))
    const headers = { "content-type": "application/json" }
    await fetch(`${server.url}/index`, { method: "POST", headers, body: JSON.stringify({ documents }) })
    await to("/console/search?q=gannets")
    await waitFor(".hit")
    const links = watched.page.getByRole("link", { name: "Open in" })
    const addresses = await links.evaluateAll((all) => all.map((each) => each.getAttribute("href")))
    const opened = addresses.filter((address) => address?.includes("gannets"))
    assert.deepStrictEqual(opened, ["vscode://file/srv/gannets.md:1"])
  })

  it("runs nothing of a document, its title, its metadata or its name", async () => {
    const { page } = watched
    await to("/console/search?q=kraken")
    await waitFor(".hit")
    expect(await page.locator(".hit h2").first().innerText()).toContain("<script>")
    expect(await page.locator(".hit .where").first().innerText()).toContain("<b onmouseover=alert(1)>.md")
    await page.locator("[data-hit]").first().click()
    await waitFor(".panel .in-span")
    const foreign = `document.querySelectorAll("img, iframe, svg, main script, [onerror], [onload], [onmouseover]").length`
    assert.strictEqual(await page.evaluate(foreign), 0)
    const panel = page.locator(".panel")
    expect(await panel.innerText()).toContain(`alert("kraken")`)
    await panel.getByText("click the kraken").click()
    expect(await page.locator(`a[href^="javascript"]`).count()).toBe(0)
    expect(await page.title()).toBe("kraken · Search · Clew")
    await to(`/console/search?q=${encodeURIComponent(hostile)}`)
    await waitFor(".results")
    assert.strictEqual(await page.evaluate(foreign), 0)
    // Whatever an address says, it is data.
    await to(
      `/console/search?q=kraken&f=${encodeURIComponent('[["x",1,{"source":5}]]')}&k=x&alpha=9&open=${encodeURIComponent("<x>")}`
    )
    await page.locator(".trouble").first().waitFor()
    await to("/console/search?q=kraken&f=%7Bbroken")
    await waitFor(".hit")
    watched.complaints.splice(0, Infinity, ...watched.complaints.filter((text) => !/status of 40[04]/.test(text)))
  })

  it("copies the search for a shell, an agent and programs", async () => {
    const { page } = watched
    await to("/console/search?q=" + encodeURIComponent("it's the moon") + "&mode=words")
    await waitFor(".hit")
    await page.getByRole("button", { name: "Copy as…" }).click()
    const dialog = page.getByRole("dialog", { name: "Copy as" })
    const form = async (name: string) => {
      await dialog.getByText(name, { exact: true }).click()
      return dialog.locator("pre").innerText()
    }
    const curl = await form("curl")
    expect(curl).toContain(`${server.url}/query`)
    expect(curl).toContain(`it'\\''s the moon`)
    expect(await form("CLI")).toBe(`clew query 'it'\\''s the moon' -k 10 --alpha 0`)
    expect(JSON.parse(await form("MCP")).params).toMatchObject({
      name: "search",
      arguments: { query: "it's the moon", alpha: 0 }
    })
    expect(await form("TypeScript")).toContain(`import { connect } from "clew/client"`)
    expect(await form("Python")).toContain(`"hybrid": True`)
    await page.keyboard.press("Escape")
  })

  it("marks all of a hit that joins passages", async () => {
    const { page } = watched
    await to("/console/search?q=who+lights+the+great+lamp+of+the+lighthouse")
    const hit = page.locator(".hit", { hasText: "lighthouse.md" }).first()
    const [, lines] = /(lines \d+–\d+)/.exec(await hit.innerText()) ?? []
    await hit.locator("a").first().click()
    const panel = page.locator(".panel")
    await panel.locator(".in-span").first().waitFor()
    assert.include(await panel.locator(".where").innerText(), lines!)
  })

  it("lists its keys, and `/` leads back to the question", async () => {
    const { page } = watched
    await to("/console/search?q=moon")
    await waitFor(".hit")
    await page.locator(".hit a").first().focus()
    await page.keyboard.press("?")
    expect(await page.getByRole("dialog", { name: "Keys" }).innerText()).toContain("Next and previous result")
    await page.keyboard.press("Escape")
    await page.keyboard.press("/")
    expect(await field().evaluate((each) => each.ownerDocument.activeElement === each)).toBe(true)
    await page.locator("h2 a").first().focus()
    await page.keyboard.press("6")
    await page.waitForURL(/\/console\/health$/)
  })
})
