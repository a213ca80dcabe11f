import { execFile, spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { promisify } from "node:util"
import type { Browser } from "playwright-core"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { WebSocket } from "ws"
import { library } from "../cli/program/files.ts"
import { program } from "../cli/program/sandbox.ts"
import { launch, linked, open, seen, Server, until } from "../console/browser.ts"

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

seen("every view of the console", () => {
  let server: Server
  let browser: Browser

  beforeAll(async () => {
    server = new Server({ ...library, ...linked })
    const { code, stderr } = await server.box.run(["index", "docs"])
    assert.strictEqual(code, 0, stderr)
    ;[browser] = await Promise.all([launch(), server.start()])
  })
  afterAll(async () => {
    await browser?.close()
    await server?.remove()
  })

  for (const colorScheme of ["light", "dark"] as const) {
    it(`has nothing that a screen reader stumbles over, in ${colorScheme}${colorScheme === "light" ? " on a narrow screen" : ""}`, async () => {
      const { end, page } = await open(browser, `${server.url}/`, { colorScheme, reducedMotion: "reduce" })
      await page.evaluate(axe)
      const complaints = async (name: string) => {
        const found = (await page.evaluate(`axe.run(document, { resultTypes: ["violations"] })`)) as {
          readonly violations: ReadonlyArray<{
            readonly id: string
            readonly nodes: ReadonlyArray<{ readonly html: string }>
          }>
        }
        assert.deepStrictEqual(
          found.violations.map(({ id, nodes }) => `${name}: ${id} ${nodes.map(({ html }) => html).join(" ")}`),
          []
        )
        // Nothing is wider than the page.
        assert.isAtMost((await page.evaluate("document.documentElement.scrollWidth - innerWidth")) as number, 0, name)
      }
      const go = async (path: string, selector: string) => {
        await page.goto(`${server.url}${path}`)
        await page.locator(selector).first().waitFor()
        await page.evaluate(axe)
      }
      await page.setViewportSize({ width: colorScheme === "light" ? 360 : 1280, height: 800 })
      await go("/", ".empty")
      await complaints("start")
      await go("/console/search?q=spring+tide", ".hit")
      await page.getByRole("button", { name: "Why" }).first().click()
      // Results are pale while others are on their way.
      await page.locator(".results:not(.is-old) .term").first().waitFor()
      await complaints("search")
      await page.getByRole("button", { name: /^Settings/ }).click()
      await complaints("settings")
      await page.keyboard.press("Escape")
      await page.locator("[data-hit]").first().click()
      await page.locator(".panel .in-span").first().waitFor()
      await complaints("passage")
      await go("/console/ask?q=when+is+the+tide+highest", ".cite i")
      await complaints("ask")
      await go("/console/compare?q=tide", ".side .hit")
      await complaints("compare")
      await page.getByRole("button", { name: "Judge" }).click()
      await page.getByRole("article", { name: /^Passage/ }).waitFor()
      await complaints("judge")
      await go("/console/documents", ".rows a")
      await complaints("documents")
      await go("/console/documents?tab=collections", "tbody tr")
      await complaints("collections")
      await go("/console/graph?name=Tides", ".evidence h3")
      await complaints("graph")
      await go("/console/health", ".fact")
      await complaints("health")
      await end()
    })
  }

  it("copies what each view asks in forms that work", async () => {
    const { end, page } = await open(browser, `${server.url}/`)
    const client = (await import(pathToFileURL(join(program, "../client.js")).href)).connect({ url: server.url })
    const run = promisify(execFile)
    for (const [path, shown] of [
      ["/console/search?q=bread&mode=words&k=5&min=0.05", ".result-head"],
      ["/console/ask?q=when+is+the+tide+highest", ".cite i"],
      ["/console/compare?q=bread", ".side .hit"],
      ["/console/documents?source=docs&sort=-passages", ".rows a"],
      ["/console/documents?tab=collections", "tbody tr"],
      ["/console/graph?name=Ada+Lovelace", ".evidence h3"],
      ["/console/graph?from=Ada+Lovelace&to=Charles+Babbage", ".steps li"],
      ["/console/health", ".fact"]
    ] as const) {
      await page.goto(`${server.url}${path}`)
      await page.locator(shown).first().waitFor()
      await page.getByRole("button", { name: "Copy as…" }).click()
      const dialog = page.getByRole("dialog", { name: "Copy as" })
      const form = async (name: string) => {
        await dialog.getByText(name, { exact: true }).click()
        return dialog.locator("pre").innerText()
      }
      const words = `clew() { "${process.execPath}" "${program}" "$@"; }\n`
      const scripts = [(await form("curl")).replace("curl", "curl -sSf"), `${words}${await form("CLI")}`]
      const options = { cwd: server.box.folder, env: server.box.env() }
      for (const { stdout } of await Promise.all(scripts.map((script) => run("sh", ["-c", script], options)))) {
        assert.isNotEmpty(stdout, path)
      }
      const typescript = await form("TypeScript")
      assert.isFunction(client[/ clew\.(\w+)\(/.exec(typescript)![1]!], typescript)
      assert.isString(JSON.parse(await form("MCP")).params.name)
      await page.keyboard.press("Escape")
    }
    await end()
  })
})

const firefox = "/usr/bin/firefox-esr"

/** Firefox speaks WebDriver BiDi itself: a command and its answer have one number. */
const bidi = async (address: string) => {
  const socket = new WebSocket(`${address}/session`)
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject))
  const waiting = new Map<number, (answer: any) => void>()
  socket.on("message", (data) => {
    const answer = JSON.parse(String(data)) as { readonly id?: number }
    if (answer.id !== undefined) waiting.get(answer.id)?.(answer)
  })
  let last = 0
  const call = (method: string, params: object): Promise<any> =>
    new Promise((resolve, reject) => {
      const id = ++last
      waiting.set(id, (answer) =>
        answer.type === "error" ? reject(new Error(answer.message)) : resolve(answer.result)
      )
      socket.send(JSON.stringify({ id, method, params }))
    })
  return { call, close: () => socket.close() }
}

const withFirefox = process.env["CLEW_REQUIRE_BROWSER"] === "1" || existsSync(firefox) ? it : it.skip

describe("in Firefox", () => {
  withFirefox("the console finds while one types", async () => {
    const server = new Server(library)
    const profile = mkdtempSync(join(tmpdir(), "clew-firefox-"))
    await server.box.run(["index", "docs"])
    await server.start()
    const child = spawn(firefox, ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"], {
      env: { ...process.env, HOME: profile, MOZ_CRASHREPORTER_DISABLE: "1" }
    })
    try {
      const address = await new Promise<string>((resolve, reject) => {
        let log = ""
        child.stderr.on("data", (chunk) => {
          log += String(chunk)
          const found = /WebDriver BiDi listening on (ws:\/\/\S+)/.exec(log)
          if (found !== null) resolve(found[1]!)
        })
        child.once("exit", () => reject(new Error(`Firefox ended: ${log}`)))
      })
      const { call, close } = await bidi(address)
      await call("session.new", { capabilities: {} })
      const { contexts } = await call("browsingContext.getTree", {})
      const context = contexts[0].context as string
      await call("browsingContext.navigate", { context, url: `${server.url}/`, wait: "complete" })
      const value = async (expression: string): Promise<unknown> =>
        (await call("script.evaluate", { expression, target: { context }, awaitPromise: false })).result.value
      await until(async () => (await value(`document.activeElement?.id`)) === "search-field")
      const keys = [..."volcano lava"].flatMap((key) => [
        { type: "keyDown", value: key },
        { type: "keyUp", value: key }
      ])
      await call("input.performActions", { context, actions: [{ type: "key", id: "keyboard", actions: keys }] })
      await until(async () => String(await value(`document.querySelector(".hit")?.innerText`)).includes("Volcano"))
      assert.match(String(await value("location.href")), /\/console\/search\?q=volcano\+lava$/)
      close()
    } finally {
      child.kill("SIGKILL")
      await new Promise((resolve) => child.once("close", resolve))
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
      await server.remove()
    }
  })
})
