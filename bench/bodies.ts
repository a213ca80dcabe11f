import { readFileSync } from "node:fs"
import { request } from "node:http"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Worker } from "node:worker_threads"
import { temporaryFolder } from "./program.ts"
import { serveHttp } from "./storms.ts"

const bin = fileURLToPath(new URL("../dist/bin.js", import.meta.url))
const only = process.argv.slice(2).join(" ")
const folder = temporaryFolder()
const env = {
  PATH: process.env["PATH"],
  HOME: folder,
  CLEW_EMBEDDING_BACKEND: "builtin",
  CLEW_RATE_LIMIT_PER_SECOND: "1000000"
}

const repeated = (unit: string, times: number) => Array.from({ length: times }, () => unit).join(",")
const keys = (count: number) => Array.from({ length: count }, (_, at) => `"k${at}":1`).join(",")
const prose = (bytes: number, seed: number) => {
  const words =
    "tide harbour ebb moon current pilot chart sound buoy channel wharf mooring anchor sail keel rope".split(" ")
  const parts: Array<string> = []
  let state = seed + 1
  for (let size = 0; size < bytes;) {
    state = (state * 48_271) % 2_147_483_647
    const word = words[state % words.length]! + (state % 400)
    const part = parts.length % 80 === 79 ? `${word}.\\n\\n` : parts.length % 11 === 10 ? `${word}. ` : `${word} `
    parts.push(part)
    size += part.length
  }
  return parts.join("")
}

const million = 1_000_000
const wrongDocument = '{"content":1,"metadata":1,"doc_id":1}'

/** Bodies that once froze or ended the server, and the largest that it accepts. */
const bodies: ReadonlyArray<readonly [name: string, path: string, make: () => string]> = [
  ["1,000,000 documents", "/index", () => `{"documents":[${repeated('{"c":1}', million)}]}`],
  ["4,000,000 documents", "/index", () => `{"documents":[${repeated('{"c":1}', 4 * million)}]}`],
  ["1,000 wrong documents", "/index", () => `{"documents":[${repeated(wrongDocument, 1000)}]}`],
  ["2,200,000 unknown keys", "/index", () => `{${keys(2.2 * million)}}`],
  ["1,000,000 metadata keys", "/index", () => `{"documents":[{"content":"x","metadata":{${keys(million)}}}]}`],
  ["15,000,000 nested lists", "/index", () => "[".repeat(15 * million)],
  ["a query of 31 MB", "/query", () => `{"query":"${"x".repeat(31 * million)}"}`],
  ["a key of 31 MB", "/query", () => `{"${"x".repeat(31 * million)}":1}`],
  ["a number of 31 MB", "/query", () => `{"top_k":${"1".repeat(31 * million)}}`],
  [
    "a batch of 31 MB",
    "/index",
    () =>
      `{"documents":[${Array.from({ length: 1000 }, (_, at) => `{"doc_id":"d${at}","content":"${prose(30_900, at)}"}`).join(",")}]}`
  ],
  ["the same batch again", "/index", () => bodies[9]![2]()],
  ["a document of 31 MB", "/index", () => `{"documents":[{"doc_id":"long","content":"${prose(31 * million, 7)}"}]}`],
  ["the same document again", "/index", () => bodies[11]![2]()]
]

const server = serveHttp([bin, "serve", "--db", join(folder, "index.db")], env)
const url = new URL(await server.url)

const memory = (what: "VmRSS" | "VmHWM"): number => {
  const line = readFileSync(`/proc/${server.pid}/status`, "utf8").match(new RegExp(`${what}:\\s+(\\d+)`))
  return Number(line?.[1] ?? 0) / 1024
}

const send = (path: string, body: Buffer) =>
  new Promise<string>((resolve) => {
    const headers = { "content-type": "application/json", "content-length": body.length }
    const sent = request(new URL(path, url), { method: "POST", headers, agent: false }, (answer) => {
      const parts: Array<Buffer> = []
      answer.on("data", (part: Buffer) => parts.push(part))
      answer.on("end", () => resolve(`${answer.statusCode} (${Buffer.concat(parts).length} bytes)`))
      answer.on("error", (error) => resolve(error.message))
    })
    sent.on("error", (error) => resolve(error.message))
    sent.end(body)
  })

/** Polls /health from a separate thread, since this one is busy sending. Returns the slowest time when it ends. */
const polling = () => {
  const asks = new Worker(
    `const { parentPort, workerData } = require("node:worker_threads")
     let ended = false
     parentPort.on("message", () => { ended = true })
     const loop = async () => {
       let worst = 0
       while (!ended) {
         const asked = performance.now()
         await (await fetch(workerData)).text()
         worst = Math.max(worst, performance.now() - asked)
         await new Promise((resolve) => setTimeout(resolve, 5))
       }
       parentPort.postMessage(worst)
       parentPort.close()
     }
     loop()`,
    { eval: true, workerData: new URL("/health", url).href }
  )
  return () =>
    new Promise<number>((resolve) => {
      asks.on("message", resolve)
      asks.postMessage("end")
    })
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

console.log("body                       answer               took    worst /health   RSS before, most, after 2 s")
for (const [name, path, make] of bodies) {
  if (!name.includes(only)) continue
  const body = Buffer.from(make())
  const before = memory("VmRSS")
  let most = before
  const looking = setInterval(() => {
    most = Math.max(most, memory("VmRSS"))
  }, 5)
  const slowest = polling()
  const began = performance.now()
  const answer = await send(path, body)
  const took = performance.now() - began
  const worst = await slowest()
  clearInterval(looking)
  await pause(2000)
  const mb = (value: number) => `${Math.round(value)} MB`
  console.log(
    `${name.padEnd(26)} ${answer.padEnd(20)} ${(took / 1000).toFixed(2).padStart(6)} s ${worst.toFixed(0).padStart(9)} ms      ${mb(before)}, ${mb(most)}, ${mb(memory("VmRSS"))}`
  )
}
await server.end()
