import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { createRequire } from "node:module"
import { afterEach } from "vitest"
import { cleanEnv, secondEra, temporaryFolder } from "./client.ts"
import { listening, run, type Running, startHere } from "../cli/program/sandbox.ts"

const running: Array<Running> = []
afterEach(async () => {
  for (const server of running.splice(0)) {
    server.kill()
    await server.ended
  }
})

const placeOf = (folder: string) => ({
  cwd: folder,
  env: cleanEnv(folder, { CLEW_EMBEDDING_BACKEND: "builtin", CLEW_STORE_PATH: "index.db" })
})

/** `clew mcp --http`, listening. */
const serve = async (...args: ReadonlyArray<string>) => {
  const server = startHere({ argv: ["mcp", "--http", "--port", "0", ...args], ...placeOf(temporaryFolder()) })
  running.push(server)
  server.stdout.resume()
  return { ...server, url: await listening(server) }
}

const listed = async (url: string) => {
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/list"
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: secondEra } })
  })
  const { result } = (await response.json()) as any
  return result.tools.map(({ name }: { readonly name: string }) => name).join()
}

describe("clew mcp --http", () => {
  it("has the tools that write files only if the user names folders", async () => {
    assert.notInclude(await listed((await serve()).url), "index_paths")
    assert.include(await listed((await serve("--allow-write", ".")).url), "index_paths,sync,delete_document")
  })

  it("serves MCP alone, with its flags", async () => {
    const { url } = await serve("--filter", "search,get_document", "--name", "Notes")
    assert.strictEqual(await listed(url), "search,get_document")
    assert.strictEqual((await fetch(`${url}/health`)).status, 200)
    for (const path of ["/stats", "/openapi.json", "/query", "/ws"]) {
      const answer = await fetch(url + path)
      assert.strictEqual(answer.status, 404, path)
      assert.include(await answer.text(), "here are only /mcp, /health, /ready, /metrics")
    }
  })

  it("opens a client's stream at once, and again after a lost connection", async () => {
    const { url } = await serve()
    const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" }
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } }
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })
    const opened = await fetch(`${url}/mcp`, { method: "POST", headers, body })
    const session = { ...headers, "mcp-session-id": opened.headers.get("mcp-session-id")! }
    await opened.text()
    const first = await fetch(`${url}/mcp`, { headers: session })
    const second = await fetch(`${url}/mcp`, { headers: session })
    assert.deepStrictEqual([first.status, second.status], [200, 200])
    assert.strictEqual(await first.text(), ": open\n\n")
    assert.strictEqual((await fetch(`${url}/mcp`, { method: "DELETE", headers: session })).status, 200)
    assert.strictEqual(await second.text(), ": open\n\n")
  })

  it("has flags that standard input has not, and refuses a wrong one", async () => {
    for (const [args, words] of [
      [["--port", "0"], "--http"],
      [["--allow-unauthenticated"], "--http"],
      [["--http", "--filter", "serch"], "search"]
    ] as const) {
      const { code, stderr } = await run({ argv: ["mcp", ...args], ...placeOf(temporaryFolder()) })
      assert.strictEqual(code, 2, args.join(" "))
      assert.include(stderr, words)
    }
  })
})

/** The scenarios of the official package that need a server made for them, and why Clew is none. */
const others: Readonly<Record<string, string>> = {
  "completion-complete": "asks for a prompt test_prompt_with_arguments",
  "tools-call-simple-text": "calls a tool test_simple_text",
  "tools-call-image": "calls a tool test_image_content; no tool of Clew shows images",
  "tools-call-audio": "calls a tool test_audio_content; no tool of Clew plays audio",
  "tools-call-embedded-resource": "calls a tool test_embedded_resource",
  "tools-call-mixed-content": "calls a tool test_multiple_content_types",
  "tools-call-with-logging": "calls a tool test_tool_with_logging",
  "tools-call-error": "calls a tool test_error_handling",
  "tools-call-with-progress": "calls a tool test_tool_with_progress",
  "tools-call-sampling": "calls a tool test_sampling; Clew asks clients for no samples",
  "tools-call-elicitation": "calls a tool test_elicitation; Clew asks users nothing",
  "elicitation-sep1034-defaults": "calls a tool test_elicitation_sep1034_defaults; Clew asks users nothing",
  "elicitation-sep1330-enums": "calls a tool test_elicitation_sep1330_enums; Clew asks users nothing",
  "resources-read-text": "reads test://static-text",
  "resources-read-binary": "reads test://static-binary; documents are text",
  "resources-templates-read": "reads test://template/123/data",
  "resources-subscribe":
    "subscribes to test://watched-resource, which is none of Clew's; test/mcp/resources.test.ts watches documents",
  "resources-unsubscribe": "subscribes to test://watched-resource first",
  "prompts-get-simple": "gets a prompt test_simple_prompt",
  "prompts-get-with-args": "gets a prompt test_prompt_with_arguments",
  "prompts-get-embedded-resource": "gets a prompt test_prompt_with_embedded_resource",
  "prompts-get-with-image": "gets a prompt test_prompt_with_image"
}

const passing = [
  "dns-rebinding-protection",
  "logging-set-level",
  "ping",
  "prompts-list",
  "resources-list",
  "server-initialize",
  "server-sse-multiple-streams",
  "tools-list"
]

describe("the official conformance tests", () => {
  it("pass, but for those that need a server made for them", async () => {
    const { url } = await serve()
    const hook = new URL("./conformance.mjs", import.meta.url).href
    const program = createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/dist/index.js")
    const args = ["--import", hook, program, "server", "--url", `${url}/mcp`]
    const { stdout } = await new Promise<{ readonly stdout: string }>((resolve) =>
      execFile(process.execPath, args, { cwd: temporaryFolder() }, (_, stdout) => resolve({ stdout }))
    )
    // oxlint-disable-next-line no-control-regex
    const lines = stdout.replace(/\u001b\[[0-9;]*m/g, "").matchAll(/^([✓✗]) ([\w-]+): \d+ passed, \d+ failed/gm)
    const found = [...lines].map(([, mark, name]) => [mark, name] as const)
    const named = (mark: string) => found.flatMap(([its, name]) => (its === mark ? [name!] : [])).sort()
    assert.deepStrictEqual(named("✓"), passing, stdout)
    assert.deepStrictEqual(named("✗"), Object.keys(others).sort())
  })
})
