import { execFileSync, type ChildProcess } from "node:child_process"
import { existsSync, readFileSync, utimesSync } from "node:fs"
import * as Http from "node:http"
import * as Net from "node:net"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { WebSocket } from "ws"
import { refusal } from "../../../src/http/Listener.ts"
import { library } from "./files.ts"
import { ended, listening, type Running, Sandbox } from "./sandbox.ts"

let box: Sandbox
let running: Array<ChildProcess> = []
let here: Array<Running> = []
beforeEach(() => {
  box = new Sandbox(library)
})
afterEach(async () => {
  for (const child of running) child.kill("SIGKILL")
  for (const server of here) server.kill()
  await Promise.all(here.map((server) => server.ended))
  running = []
  here = []
  box.remove()
})

interface Server {
  readonly child: ChildProcess
  readonly port: number
  readonly url: string
  /** What it wrote to standard error so far. */
  readonly log: () => string
  readonly ended: ReturnType<typeof ended>
}

/** Started, and listening. */
const serve = async (args: ReadonlyArray<string> = [], env: Readonly<Record<string, string>> = {}): Promise<Server> => {
  const child = box.start(["serve", "--port", "0", ...args], { env: { CLEW_LOG_FORMAT: "json", ...env } })
  running.push(child)
  const end = ended(child)
  let log = ""
  child.stderr!.on("data", (chunk) => (log += String(chunk)))
  const url = await listening(child)
  return { child, url, port: Number(new URL(url).port), log: () => log, ended: end }
}

/** The address of a server in this process. */
const serveHere = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>>) => {
  const server = box.startHere(["serve", "--port", "0", ...args], env)
  here.push(server)
  return listening(server)
}

const post = (url: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body)
  })

/** With it, a server writes to whom it connects. */
const spied = () => {
  box.write({
    "spy.cjs": `const { Socket } = require("node:net")
      const { connect } = Socket.prototype
      Socket.prototype.connect = function (...args) {
        const [to] = args.flat()
        // A path is a socket of this user's on this machine, as that of an engine to share.
        if (to?.path == null) console.error("CONNECTS", JSON.stringify(to))
        return connect.apply(this, args)
      }`
  })
  return { NODE_OPTIONS: `--require ${box.path("spy.cjs")}` }
}

describe("serve", () => {
  it("follows files beside answering, and says how that goes", async () => {
    const { log, url } = await serve(["--watch", "docs", "--watch", "gone"])
    const stats = async () => ((await (await fetch(`${url}/stats`)).json()) as any).watch
    let watch = await stats()
    while (watch?.last_scan_at === undefined) watch = await stats()
    assert.deepInclude(watch, { paths: [box.path("docs"), box.path("gone")], failed: 0, held: [box.path("gone")] })
    assert.include(log(), `(clew delete ${box.path("gone")} removes them)`)
    const metrics = await (await fetch(`${url}/metrics`)).text()
    assert.include(metrics, `clew_watch_path_present{path="${box.path("docs")}"} 1`)
    assert.include(metrics, `clew_watch_path_present{path="${box.path("gone")}"} 0`)
    assert.include(metrics, "clew_watch_last_scan_timestamp_seconds ")
    const { results } = (await (await post(`${url}/query`, { query: "bread" })).json()) as any
    assert.strictEqual(results[0].metadata.source, box.path("docs/bread.md"))
  })

  it("says of every passage whether its file has changed since it was indexed", async () => {
    await box.ends(0, ["index", "docs"])
    const url = await serveHere([], { CLEW_LLM_BACKEND: "extractive" })
    utimesSync(box.path("docs/bread.md"), new Date(), new Date())
    const query = "knead the dough for bread"
    const search = { query, top_k: 1, hybrid: true }
    const { results } = (await (await post(`${url}/query`, search)).json()) as any
    const fresh = { indexed_at: results[0].indexed_at, changed: true }
    assert.match(fresh.indexed_at, /^20\d\d-\d\d-\d\dT/)
    assert.deepInclude(results[0], fresh)
    const document = (await (await fetch(`${url}/documents/${results[0].metadata.doc_id}`)).json()) as any
    assert.strictEqual(document.changed, true)
    assert.include(await (await post(`${url}/ask`, search)).text(), JSON.stringify(fresh).slice(1, -1))
    const chat = { messages: [{ role: "user", content: query }], top_k: 1 }
    const { choices } = (await (await post(`${url}/v1/chat/completions`, chat)).json()) as any
    assert.deepInclude(choices[0].message.annotations[0], fresh)
    const { prompt } = (await (await post(`${url}/prompt`, search)).json()) as any
    assert.include(prompt, "file changed since it was indexed")
    await post(`${url}/index`, { documents: [{ content: "Waxwings sing." }] })
    const given = (await (await post(`${url}/query`, { query: "waxwings", top_k: 1 })).json()) as any
    assert.containsAllKeys(given.results[0], ["indexed_at"])
    assert.doesNotHaveAnyKeys(given.results[0], ["changed", "gone"])
  })

  it("indexes, answers, and keeps what it was given", async () => {
    const first = await serve()
    const { documents, indexed } = (await (
      await post(`${first.url}/index`, { documents: [{ content: "Bees make honey.", metadata: { source: "bees" } }] })
    ).json()) as any
    assert.strictEqual(indexed, 1)
    first.child.kill("SIGTERM")
    const { code, stdout } = await first.ended
    assert.strictEqual(code, 0)
    assert.strictEqual(stdout, "")

    const second = await serve(["--read-only"])
    const found = (await (await post(`${second.url}/query`, { query: "honey", hybrid: true })).json()) as any
    assert.strictEqual(found.results[0].metadata.doc_id, documents[0].doc_id)
    const refused = await post(`${second.url}/index`, { documents: [{ content: "x" }] })
    assert.strictEqual(refused.status, 403)
    assert.deepInclude((await (await fetch(`${second.url}/stats`)).json()) as any, { documents: 1, read_only: true })
    await box.ends(0, ["query", "honey", "--json"])
  })

  it("logs a line for each request, in order, also the last before SIGTERM, and never the key", async () => {
    const { child, ended: end, log, url } = await serve([], { SERVICE_API_KEY: "very-secret" })
    const ids = Array.from({ length: 40 }, (_, n) => `request-${n}`)
    for (const [n, id] of ids.entries()) {
      const headers = { authorization: "Bearer very-secret", "x-request-id": id }
      const path = n === 0 ? "/documents/abc?collection=default" : "/stats"
      const answer = await fetch(`${url}${path}`, { headers })
      assert.strictEqual(answer.status, n === 0 ? 404 : 200)
      await answer.text()
    }
    child.kill("SIGTERM")
    assert.strictEqual((await end).code, 0)
    const told = log()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
      .filter(({ message }) => message === "request")
      .map(({ annotations }) => annotations)
    assert.deepStrictEqual(
      told.map(({ request_id }) => request_id),
      ids
    )
    assert.deepInclude(told[0], { method: "GET", route: "/documents/:doc_id", status: 404 })
    assert.deepInclude(told[1], { route: "/stats", status: 200 })
    assert.isNumber(told[1].ms)
    assert.notInclude(log(), "very-secret")
  })

  it("says in one line why it cannot serve", async () => {
    const taken = Net.createServer().listen(0, "127.0.0.1")
    await new Promise((resolve) => taken.on("listening", resolve))
    const { port } = taken.address() as Net.AddressInfo
    const cases: ReadonlyArray<readonly [ReadonlyArray<string>, Readonly<Record<string, string>>, number, RegExp]> = [
      [["--port", "0", "--read-only"], {}, 1, /^clew: There is no index at .*; create one with/],
      [["--port", String(port)], {}, 1, /^clew: Port \d+ on 127\.0\.0\.1 is in use; choose another with --port$/],
      [
        ["--port", "0", "--host", "203.0.113.7", "--allow-unauthenticated"],
        {},
        1,
        /^clew: 203\.0\.113\.7 is not an address of this machine/
      ],
      [
        ["--port", "0", "--host", "0.0.0.0"],
        {},
        1,
        /^clew: 0\.0\.0\.0 is reachable from other machines, .*--allow-unauthenticated$/
      ],
      [["--port", "0"], { SERVICE_API_KEY: "" }, 2, /^clew: environment variable SERVICE_API_KEY: is set, but empty/],
      [["--port", "0", "--db", "docs/tides.md"], {}, 1, /is not a Clew index and was left untouched/]
    ]
    for (const [args, env, expected, says] of cases) {
      const db = args.includes("--db") ? [] : ["--db", "never.db"]
      const { code, stderr, stdout } = await box.run(["serve", ...args, ...db], { env })
      assert.strictEqual(code, expected, stderr)
      assert.match(stderr.trim(), says)
      assert.notInclude(stderr.trim(), "\n")
      assert.strictEqual(stdout, "")
      assert.isFalse(existsSync(box.path("never.db")), stderr)
    }
    taken.close()
  })

  it("says that it may not have a port", async () => {
    const { message } = refusal(Object.assign(new Error("listen EACCES"), { code: "EACCES" }), "127.0.0.1", 80)
    assert.match(message, /^No permission to listen on port 80 of 127\.0\.0\.1; .* choose another with --port$/)
    const first = Number(readFileSync("/proc/sys/net/ipv4/ip_unprivileged_port_start", "utf8"))
    if (process.getuid?.() === 0 || first <= 80) return
    const { code, stderr } = await box.run(["serve", "--port", "80"])
    assert.deepStrictEqual([code, stderr.trim()], [1, `clew: ${message}`])
  })

  it("connects to nobody that is not configured", async () => {
    const server = await serve([], spied())
    await post(`${server.url}/index`, { documents: [{ content: "Bees make honey." }] })
    await post(`${server.url}/query`, { query: "honey", hybrid: true })
    await fetch(`${server.url}/ready`)
    server.child.kill("SIGINT")
    assert.strictEqual((await server.ended).code, 0)
    assert.notInclude(server.log(), "CONNECTS")
  })

  it("listens elsewhere with a key, and keeps its door shut", async () => {
    const at = await serveHere(["--host", "0.0.0.0"], { SERVICE_API_KEY: "k" })
    const url = `http://127.0.0.1:${new URL(at).port}`
    assert.strictEqual((await fetch(`${url}/health`)).status, 200)
    assert.strictEqual((await post(`${url}/query`, { query: "x" })).status, 401)
    assert.strictEqual((await post(`${url}/query`, { query: "x" }, { authorization: "Bearer k" })).status, 200)
  })

  it("lets what is running finish when it is told to stop", async () => {
    const server = await serve()
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/ws`)
    await new Promise((resolve) => socket.on("open", resolve))
    const closed = new Promise<number>((resolve) => socket.on("close", resolve))
    const idle = new Http.Agent({ keepAlive: true })
    await new Promise((resolve) =>
      Http.get(`${server.url}/health`, { agent: idle }, (it) => it.resume().on("end", resolve))
    )

    // Half of a request is there when the signal comes.
    const body = JSON.stringify({ query: "x" })
    const slow = Http.request(`${server.url}/query`, {
      method: "POST",
      headers: { "content-type": "application/json", "content-length": body.length, expect: "100-continue" }
    })
    const taken = new Promise((resolve) => slow.on("continue", resolve))
    const answer = new Promise<Http.IncomingMessage>((resolve, reject) =>
      slow.on("response", resolve).on("error", reject)
    )
    slow.flushHeaders()
    await taken
    slow.write(body.slice(0, 5))
    server.child.kill("SIGTERM")
    assert.strictEqual(await closed, 1001)
    // It listens until nothing arrives any more, at most a second.
    while (
      await fetch(`${server.url}/health`).then(
        () => true,
        () => false
      )
    );
    slow.end(body.slice(5))
    const { headers, statusCode } = await answer
    assert.strictEqual(statusCode, 200)
    assert.strictEqual(headers["connection"], "close")
    assert.strictEqual((await server.ended).code, 0)
    assert.isFalse(existsSync(box.path("home", "data", "clew", "index.db-wal")))
  })

  it("survives clients that go away in the middle", async () => {
    const server = await serve()
    const documents = Array.from({ length: 300 }, (_, n) => ({ content: `number ${n} `.repeat(50) }))
    for (let n = 0; n < 5; n++) {
      const controller = new AbortController()
      const request = fetch(`${server.url}/index`, {
        method: "POST",
        signal: controller.signal,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ documents: documents.map((it) => ({ content: `${n} ${it.content}` })) })
      })
      // After more and more answers to others.
      for (let others = 0; others < 8 * n; others++) await fetch(`${server.url}/health`)
      controller.abort()
      await request.catch(() => {})
    }
    const half = Net.connect(server.port, "127.0.0.1", () => {
      half.write(
        "POST /index HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{",
        () => half.destroy()
      )
    })
    await new Promise((resolve) => half.on("close", resolve))
    const { indexed, unchanged } = (await (await post(`${server.url}/index`, { documents })).json()) as any
    assert.strictEqual(indexed + unchanged, 300)
    assert.strictEqual((await fetch(`${server.url}/health`)).status, 200)
    assert.notInclude(server.log(), "defect")
  })

  it("sends traces to a collector where one is named, without any secret", async () => {
    const bodies: Array<string> = []
    const collector = Http.createServer((request, response) => {
      let text = ""
      request.on("data", (chunk) => (text += String(chunk)))
      request.on("end", () => {
        bodies.push(`${request.url} ${text}`)
        response.end("{}")
      })
    }).listen(0, "127.0.0.1")
    await new Promise((resolve) => collector.on("listening", resolve))
    const { port } = collector.address() as Net.AddressInfo
    const server = await serve([], {
      ...spied(),
      CLEW_TELEMETRY_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      SERVICE_API_KEY: "very-secret"
    })
    const secrets = { "api-key": "very-secret", "x-forwarded-access-token": "very-secret" }
    await post(`${server.url}/query`, { query: "x" }, { authorization: "Bearer very-secret", ...secrets })
    const protocol = `bearer.${Buffer.from("very-secret").toString("base64url")}`
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/ws`, [protocol])
    await new Promise((resolve) => socket.on("open", resolve))
    socket.close()
    server.child.kill("SIGTERM")
    assert.strictEqual((await server.ended).code, 0)
    collector.close()
    const all = bodies.join("\n")
    assert.include(all, "/v1/traces")
    assert.include(all, "Search.run")
    assert.include(all, "/query")
    assert.include(all, "http.request.header.content-type")
    assert.notInclude(all, "very-secret")
    assert.notInclude(all, protocol)
    // What would have seen any other connection of a server saw this one.
    assert.include(server.log(), "CONNECTS")
  })

  it("has metrics that promtool understands", async () => {
    const server = await serve()
    await post(`${server.url}/index`, { documents: [{ content: "Bees make honey." }] })
    await post(`${server.url}/query`, { query: "honey", hybrid: true })
    const response = await fetch(`${server.url}/metrics`)
    assert.strictEqual(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8")
    const text = await response.text()
    for (const series of [
      'clew_http_requests_total{route="/query",method="POST",status="200"} 1',
      'clew_http_request_duration_seconds_count{route="/query",method="POST",status="2xx"} 1',
      ...["embed", "rank", "vector", "keyword", "fuse"].map(
        (it) => `clew_query_stage_duration_seconds_count{stage="${it}"} 1`
      ),
      'clew_indexed_documents_total{status="created"} 1',
      "clew_passages 1",
      "clew_documents 1"
    ]) {
      assert.include(text.split("\n"), series)
    }
    assert.match(text, /^clew_database_bytes [1-9]\d+$/m)
    assert.match(text, /^process_resident_memory_bytes [1-9]\d+$/m)
    assert.match(text, /^nodejs_eventloop_lag_p99_seconds \d/m)
    let promtool = true
    try {
      execFileSync("promtool", ["--version"], { stdio: "ignore" })
    } catch {
      promtool = false
    }
    if (promtool)
      assert.strictEqual(execFileSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" }), "")
  })
})
