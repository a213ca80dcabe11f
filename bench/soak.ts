import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "./program.ts"
import { serveHttp } from "./storms.ts"

const minutes = Number(process.argv[2] ?? 60)
const perSecond = Number(process.argv[3] ?? 20)
const bin = fileURLToPath(new URL("../dist/bin.js", import.meta.url))
const folder = temporaryFolder()
const env = {
  PATH: process.env["PATH"],
  HOME: folder,
  CLEW_EMBEDDING_BACKEND: "builtin",
  CLEW_RATE_LIMIT_PER_SECOND: "1000000",
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => /^MALLOC_|^GLIBC_TUNABLES$/.test(name)))
}

/** The number of ids from which written and deleted documents are drawn. */
const ids = 5000
const words =
  "tide harbour ebb moon current pilot chart sound buoy channel wharf mooring anchor sail keel rope river bank".split(
    " "
  )

let state = 1
const random = (below: number): number => (state = (state * 48_271) % 2_147_483_647) % below
const word = () => `${words[random(words.length)]!}${random(5) === 0 ? random(3000) : ""}`
const text = (length: number) =>
  Array.from({ length }, (_, at) => word() + (at % 12 === 11 ? "." : "")).join(" ") + ".\n\n"

const server = serveHttp([bin, "serve", "--db", join(folder, "index.db")], env)
const url = await server.url

const send = async (method: string, path: string, body?: object): Promise<string> => {
  const init = body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }
  const answer = await fetch(`${url}${path}`, { method, ...init })
  return answer.text()
}

const put = () => {
  const source = random(ids)
  return { content: text(40 + random(400)), metadata: { source: `s${source}`, year: 2000 + random(20), own: word() } }
}
const unique = (documents: ReadonlyArray<ReturnType<typeof put>>) => [
  ...new Map(documents.map((document) => [document.metadata.source, document])).values()
]
const query = () => ({ query: `${word()} ${word()} ${word()}`, top_k: 5, hybrid: random(2) === 0 })

/** A client's actions, with their relative frequencies. */
const kinds: ReadonlyArray<readonly [times: number, run: () => Promise<string>]> = [
  [10, () => send("POST", "/query", query())],
  [3, () => send("POST", "/query", { ...query(), filter: { year: { gte: 2000 + random(20) } } })],
  [2, () => send("POST", "/query", { ...query(), filter: { source: `s${random(50)}*`, own: word() } })],
  [2, () => send("POST", "/ask", query())],
  [1, () => send("POST", "/prompt", query())],
  [1, () => send("GET", `/documents?limit=50`)],
  [1, () => send("GET", "/stats")],
  [3, () => send("POST", "/index", { documents: unique(Array.from({ length: 1 + random(8) }, put)) })],
  [2, () => send("DELETE", "/documents", { source: `s${random(ids)}` })]
]
const choices = kinds.flatMap(([times, run]) => Array.from({ length: times }, () => run))

const megabyte = 1024 * 1024

/** Anonymous memory by place: the main heap, glibc's arenas (at multiples of 64 MiB), and the rest. */
const mappings = () => {
  const sum = { heap: 0, arenas: 0, other: 0, arenaCount: 0 }
  let kind: "heap" | "arenas" | "other" = "other"
  for (const line of readFileSync(`/proc/${server.pid}/smaps`, "utf8").split("\n")) {
    const [, start, path = ""] = /^([0-9a-f]+)-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)$/.exec(line) ?? []
    if (start !== undefined) {
      const at = Number.parseInt(start, 16)
      kind = path === "[heap]" ? "heap" : path === "" && at % (64 * megabyte) === 0 ? "arenas" : "other"
    }
    const anonymous = Number(/^Anonymous: +(\d+) kB/.exec(line)?.[1] ?? 0) / 1024
    sum[kind] += anonymous
    if (kind === "arenas" && anonymous > 0) sum.arenaCount++
  }
  return sum
}

const status = (name: string): number =>
  Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1] ?? 0) / 1024

const metric = (metrics: string, name: string): number =>
  Number(new RegExp(`^${name} (\\S+)`, "m").exec(metrics)?.[1] ?? 0)

/** The slope of a least-squares line, in MB an hour. */
const slope = (points: ReadonlyArray<readonly [seconds: number, megabytes: number]>): number => {
  const mean = (at: 0 | 1) => points.reduce((sum, point) => sum + point[at], 0) / points.length
  const [x, y] = [mean(0), mean(1)]
  const over = points.reduce((sum, [a, b]) => sum + (a - x) * (b - y), 0)
  return (3600 * over) / points.reduce((sum, [a]) => sum + (a - x) ** 2, 0)
}

for (let from = 0; from < ids; from += 100) {
  const documents = Array.from({ length: 100 }, (_, at) => {
    const made = put()
    return { ...made, metadata: { ...made.metadata, source: `s${from + at}` } }
  })
  // oxlint-disable-next-line no-await-in-loop -- a batch after the other
  await send("POST", "/index", { documents })
}

console.log(
  "seconds  done  RssAnon  RssFile  JS heap  external  [heap]  arenas (number)  other   documents, MB on disk"
)
const points: Array<readonly [number, number]> = []
const began = performance.now()
const seconds = () => (performance.now() - began) / 1000
let done = 0
let failed = 0

const report = async () => {
  const metrics = await send("GET", "/metrics")
  const stats = JSON.parse(await send("GET", "/stats")) as {
    readonly documents: number
    readonly database_bytes: number
  }
  const rss = status("RssAnon")
  points.push([seconds(), rss])
  const { arenaCount, arenas, heap, other } = mappings()
  const figures = [
    seconds(),
    done,
    rss,
    status("RssFile"),
    metric(metrics, "nodejs_heap_size_used_bytes") / megabyte,
    metric(metrics, "nodejs_external_memory_bytes") / megabyte,
    heap,
    arenas,
    arenaCount,
    other,
    stats.documents,
    stats.database_bytes / megabyte
  ]
  console.log(figures.map((figure) => figure.toFixed(0).padStart(7)).join(" "))
}

let next = 10
while (seconds() < minutes * 60) {
  // oxlint-disable no-await-in-loop -- at a rate
  if (seconds() >= next) {
    await report()
    next += 10
  }
  void choices[random(choices.length)]!().then(
    () => done++,
    () => failed++
  )
  await new Promise((resolve) => setTimeout(resolve, 1000 / perSecond))
  // oxlint-enable no-await-in-loop
}
const last = points.slice(Math.floor(points.length / 2))
console.log(
  `${done} done, ${failed} failed; RssAnon ${slope(points).toFixed(1)} MB an hour over all, ${slope(last).toFixed(1)} over the second half`
)
await server.end()
