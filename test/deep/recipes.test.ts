import { type ChildProcess, spawn } from "node:child_process"
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs"
import * as Http from "node:http"
import { createRequire } from "node:module"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { runInNewContext } from "node:vm"
import { afterAll, assert, beforeAll, it, type TestContext } from "vitest"
import { parse } from "yaml"
import { ended, type Ended, listening, program, Sandbox } from "../cli/program/sandbox.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const examples = join(root, "examples")

/** Packages come from registries, which a machine may not reach; .ci/run wants them. */
const isRequired = process.env["CLEW_REQUIRE_RECIPES"] === "1"

const apiKey = "secret"
const question = "Where is the spare key?"
const answer = "The spare key lies under the third flowerpot."

const box = new Sandbox({
  "docs/keys.md": `# Keys\n\n${answer}\n`,
  "docs/bread.md": "# Bread\n\nKnead the dough, let it rest, bake it.\n",
  "docs/tides.md": "# Tides\n\nThe moon pulls the sea, twice a day.\n"
})
const folder = box.path("examples")

let url: string
let server: ChildProcess
beforeAll(async () => {
  cpSync(examples, folder, { recursive: true, filter: (name) => !name.includes("node_modules") })
  mkdirSync(box.path("bin"))
  box.write({ "bin/clew": `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n` })
  chmodSync(box.path("bin", "clew"), 0o755)
  await box.ends(0, ["index", "--db", "index.db", "docs"])
  const env = { SERVICE_API_KEY: apiKey, CLEW_SERVER_PORT: "0" }
  server = box.start(["serve", "--db", "index.db"], { env })
  url = await listening(server)
})
afterAll(() => {
  server.kill()
  box.remove()
})

/** Clew refuses variables of its own that it does not know, such as those of the tests. */
const others = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("CLEW_")))

const run = (
  command: string,
  args: ReadonlyArray<string>,
  { cwd = folder, env = {} }: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {}
): Promise<Ended> => {
  const path = [box.path("bin"), join(folder, "venv", "bin"), process.env["PATH"]].join(":")
  const child = spawn(command, args, {
    cwd,
    env: { ...others, PATH: path, HOME: box.path("home"), SERVICE_URL: url, SERVICE_API_KEY: apiKey, ...env }
  })
  child.stdin.end()
  return ended(child)
}

/** What it prints. */
const prints = async (...call: Parameters<typeof run>): Promise<string> => {
  const { code, stderr, stdout } = await run(...call)
  assert.strictEqual(code, 0, `${call[0]} ${call[1].join(" ")}\n${stdout}\n${stderr}`)
  return stdout
}

/** A model that calls the tool which it is offered, and then says what the tool gave. */
const startModel = async () => {
  const model = Http.createServer(async (request, response) => {
    let text = ""
    for await (const chunk of request) text += String(chunk)
    const { messages, model: name, tools } = JSON.parse(text)
    const { content, role } = messages.at(-1)
    const isTold = role === "tool"
    const call = { name: tools[0].function.name, arguments: JSON.stringify({ query: content }) }
    const message = isTold
      ? { role: "assistant", content: `It says: ${content}` }
      : { role: "assistant", content: null, tool_calls: [{ id: "1", type: "function", function: call }] }
    const choices = [{ index: 0, message, finish_reason: isTold ? "stop" : "tool_calls" }]
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify({ id: "1", object: "chat.completion", created: 0, model: name, choices }))
  })
  await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve))
  return { url: `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`, stop: () => model.close() }
}

/** Installs what recipes need; without it, they are skipped. */
const installed = async (
  skip: TestContext["skip"],
  ...steps: ReadonlyArray<readonly [string, ReadonlyArray<string>]>
) => {
  for (const [command, args] of steps) {
    const { code, stderr } = await run(command, args, { env: { HOME: process.env["HOME"] ?? box.path("home") } })
    if (code === 0) continue
    if (isRequired) assert.fail(stderr)
    skip(`not installed: ${stderr.slice(-300)}`)
  }
}

const patience = 300_000

it(
  "work in TypeScript, and have the types of the packages",
  async ({ skip }) => {
    await installed(skip, ["npm", ["ci", "--no-audit", "--no-fund", "--ignore-scripts"]])
    symlinkSync(root, join(folder, "node_modules", "clew"))
    box.write({
      "examples/tsconfig.json": JSON.stringify({
        extends: join(root, "tsconfig.json"),
        compilerOptions: {
          typeRoots: [join(root, "node_modules", "@types")],
          paths: { "clew/client": [join(root, "src", "client.ts")] }
        },
        include: ["*.ts"]
      })
    })
    const { stdout: complaints } = await run(join(root, "node_modules", ".bin", "tsc"), ["--project", "."])
    assert.notMatch(complaints, /^[\w-]+\.ts/m)

    const script = (name: string, env = {}) =>
      prints(
        process.execPath,
        ["--import", pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href, name, question],
        { env }
      )
    for (const name of ["langchain-retriever.ts", "llamaindex-retriever.ts"]) {
      const printed = await script(name)
      assert.match(printed, /^\S*docs\/keys\.md:\d/)
      assert.include(printed, answer)
    }
    const model = await startModel()
    const told = await script("vercel-ai-tool.ts", { MODEL_URL: model.url })
    model.stop()
    assert.match(told, /^It says: .*docs\/keys\.md:\d/)
    assert.include(told, answer)
    const chat = await script("openai-sdk.ts")
    assert.include(chat, answer)
    assert.match(chat, /^\[1\] \S*docs\/keys\.md:\d+$/m)
    assert.match(chat, /^The answer is like the question by 0\.\d+ \(\d+ tokens\)$/m)
  },
  patience
)

it(
  "work in Python, by OpenAI's SDK and by a generated client",
  async ({ skip }) => {
    // Python compiles what it imports.
    const pip = ["install", "--quiet", "--no-compile", "--requirement", "requirements.txt"]
    await installed(skip, ["python3", ["-m", "venv", "venv"]], [join(folder, "venv", "bin", "pip"), pip])
    const chat = await prints("python", ["openai_sdk.py", question])
    assert.include(chat, answer)
    assert.match(chat, /^\[1\] \S*docs\/keys\.md:\d+$/m)
    assert.match(chat, /^The best passage is like the question by 0\.\d+$/m)

    const [, generate] = /^(openapi-python-client .*)$/m.exec(
      readFileSync(join(folder, "generated_client.py"), "utf8")
    )!
    await prints("sh", ["-c", generate!.replace("http://127.0.0.1:8484", url)])
    const printed = await prints("python", ["generated_client.py", question])
    assert.match(printed, /^\S*docs\/keys\.md:\d/)
    assert.include(printed, answer)
    const refused = await run("python", ["generated_client.py", question], { env: { SERVICE_API_KEY: "wrong" } })
    assert.strictEqual(refused.code, 1)
    assert.include(refused.stderr, "Unauthorized")
  },
  patience
)

it("work with curl, and as n8n sends them", async () => {
  const [stored, found] = (await prints("sh", ["http.sh"])).trim().split("\n")
  assert.strictEqual(JSON.parse(stored!).indexed, 1)
  assert.strictEqual(JSON.parse(found!).results[0].metadata.source, "bus.md")

  const { connections, nodes } = JSON.parse(readFileSync(join(folder, "n8n-workflow.json"), "utf8"))
  const named = (name: string) => nodes.find((node: any) => node.name === name)
  const next = (name: string) => named(connections[name].main[0][0].node)
  const { parameters } = next(nodes[0].name)
  // What n8n does with an expression: it evaluates what is in the braces, with the item that came before as $json.
  const [, expression] = /^=\{\{ (.*) \}\}$/.exec(parameters.jsonBody)!
  const body: string = runInNewContext(expression!, { $json: { body: { question } } })
  const response = await fetch(parameters.url.replace("http://127.0.0.1:8484", url), {
    method: parameters.method,
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body
  })
  assert.strictEqual(response.status, 200)
  const passages = ((await response.json()) as any)[next("Search").parameters.fieldToSplitOut]
  assert.include(passages[0].text, "flowerpot")
})

it("gate a repository's docs in its CI", async () => {
  const { jobs, on } = parse(readFileSync(join(folder, "docs-search.yml"), "utf8"))
  assert.containsAllKeys(on, ["pull_request", "push"])
  const { env, steps } = jobs["docs-search"]
  // Clew is on the path here.
  const commands: ReadonlyArray<string> = steps
    .filter(({ name, run }: any) => run !== undefined && name !== "Install Clew")
    .map(({ run }: any) => run)
  assert.lengthOf(commands, 2)

  const repository = box.path("repository")
  cpSync(box.path("docs"), join(repository, "docs"), { recursive: true })
  const shell = (command: string) => run("bash", ["-e", "-c", command], { cwd: repository, env })
  // What the page says to do once.
  const [, once] = /## In a repository's CI[^]*?```sh\n([^]*?)```/.exec(
    readFileSync(join(root, "docs/recipes.md"), "utf8")
  )!
  const made = await shell(once!)
  assert.strictEqual(made.code, 0, made.stderr)
  const job = async () => {
    for (const command of commands) {
      const step = await shell(command)
      if (step.code !== 0) return step
    }
    return undefined
  }
  assert.isUndefined(await job())
  // The docs lose the answer, and other pages come before what is left.
  box.write({
    "repository/docs/tides.md": "# Boats\n\nNothing is said of them.\n",
    "repository/docs/sea.md": "# The sea\n\nWhat pulls the sea? Nobody knows what pulls the sea.\n"
  })
  const worse = await job()
  assert.strictEqual(worse?.code, 1)
  assert.match(`${worse?.stdout}${worse?.stderr}`, /pulls the sea/)
})

it("are all on the page, and all there", () => {
  const page = readFileSync(join(root, "docs/recipes.md"), "utf8")
  const named = new Set([...page.matchAll(/\(\.\.\/examples\/([^)]+)\)/g)].map(([, name]) => name))
  const kept = readdirSync(examples).filter((name) => !["package-lock.json", "node_modules"].includes(name))
  assert.sameMembers([...named], kept)
})
