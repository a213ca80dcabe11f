import { existsSync } from "node:fs"
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core"
import { assert, describe, expect } from "vitest"
import { ended, listening, Sandbox } from "../cli/program/sandbox.ts"

const executablePath = "/usr/bin/chromium"

/** `.ci/run` has a browser, and says so. */
const isRequired = process.env["CLEW_REQUIRE_BROWSER"] === "1"

/** Tests of what people see, where there is a browser. */
export const seen: typeof describe = (isRequired || existsSync(executablePath) ? describe : describe.skip) as never

const flags =
  "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"

/** Pages whose names the graph joins. */
export const linked = {
  "docs/ada.md": "# Ada Lovelace\n\nShe wrote a program for the [Analytical Engine](engine.md).\n",
  "docs/engine.md": "# Analytical Engine\n\nA machine by Charles Babbage, described by Ada Lovelace.\n",
  "docs/babbage.md": "# Charles Babbage\n\nHe designed the Analytical Engine and knew Ada Lovelace.\n"
}

/** A server of the built program, which can be stopped and started again at the same address. */
export class Server {
  readonly box: Sandbox
  url = ""
  private child: ReturnType<Sandbox["start"]> | undefined

  constructor(files: Readonly<Record<string, string>>) {
    this.box = new Sandbox(files)
  }

  async start(args: ReadonlyArray<string> = [], env: Readonly<Record<string, string>> = {}): Promise<void> {
    const port = this.url === "" ? "0" : new URL(this.url).port
    this.child = this.box.start(["serve", "--port", port, ...args], { env: { CLEW_LLM_BACKEND: "extractive", ...env } })
    this.url = await listening(this.child)
  }

  async stop(): Promise<void> {
    const { child } = this
    this.child = undefined
    if (child === undefined) return
    const end = ended(child)
    child.kill("SIGKILL")
    await end
  }

  async remove(): Promise<void> {
    await this.stop()
    this.box.remove()
  }
}

export const launch = (): Promise<Browser> => chromium.launch({ executablePath, args: flags.split(" ") })

/** A page, and what it complained about: errors, and violations of its policy. */
export interface Watched {
  readonly page: Page
  readonly context: BrowserContext
  readonly complaints: Array<string>
  /** Closes it, and wants that it complained of nothing but of this. */
  readonly end: (allowed?: RegExp) => Promise<void>
}

export const open = async (browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Watched> => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  context.setDefaultTimeout(15_000)
  const complaints: Array<string> = []
  const page = await context.newPage()
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text())
  })
  page.on("pageerror", (error) => complaints.push(String(error)))
  page.on("dialog", (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  await page.goto(url)
  return {
    page,
    context,
    complaints,
    end: async (allowed) => {
      await context.close()
      assert.deepStrictEqual(
        complaints.filter((text) => allowed?.test(text) !== true),
        []
      )
    }
  }
}

/** The texts of all that match, as they are shown. */
export const texts = (page: Page, selector: string): Promise<ReadonlyArray<string>> =>
  page.locator(selector).allInnerTexts()

/** Waits until it is so. */
export const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
  await expect.poll(async () => isSo(), { timeout: 15_000 }).toBe(true)
}
