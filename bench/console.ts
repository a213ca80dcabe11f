import { spawn } from "node:child_process"
import { chromium, type Page } from "playwright-core"
import { program } from "./program.ts"

const index = process.argv[2]
if (index === undefined) throw new Error("npm run bench -- console INDEX")

const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium"
const size = { questions: 60, rounds: 4, warm: 10 }
const facets = ["folder", "format", "collection", "indexed", "lang", "year", "tags"]

const quantile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))]!
const told = (values: ReadonlyArray<number>): string =>
  `p50 ${quantile(values, 0.5).toFixed(1)} ms, p95 ${quantile(values, 0.95).toFixed(1)} ms`

const server = spawn(process.execPath, [program(), "--db", index, "serve", "--port", "0"], {
  env: { ...process.env, CLEW_RATE_LIMIT_PER_SECOND: "100000" },
  stdio: ["ignore", "ignore", "pipe"]
})
const url = await new Promise<string>((resolve, reject) => {
  server.stderr.setEncoding("utf8").on("data", (text: string) => {
    const found = /Listening on (\S+)/.exec(text)
    if (found !== null) resolve(found[1]!)
  })
  server.once("exit", () => reject(new Error("the server ended")))
})

const get = async <A>(path: string): Promise<A> => (await fetch(`${url}${path}`)).json() as Promise<A>
const ask = async (body: object): Promise<number> => {
  const began = performance.now()
  const response = await fetch(`${url}/query`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ top_k: 10, hybrid: true, explain: true, ...body })
  })
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`status ${response.status}`)
  return performance.now() - began
}

/** From the key to the frame after the one in which its results are painted. */
const typed = (page: Page, key: string): Promise<number> =>
  page
    .evaluate<unknown>(
      `window.painted = new Promise((resolve) => {
        let began
        let isAsked = false
        addEventListener("keydown", (event) => { began = event.timeStamp }, { once: true, capture: true })
        const results = document.querySelector(".results")
        const watch = new MutationObserver(() => {
          const isBusy = results.getAttribute("aria-busy") === "true"
          isAsked ||= isBusy
          if (!isAsked || isBusy) return
          watch.disconnect()
          requestAnimationFrame(() => {
            const { port1, port2 } = new MessageChannel()
            port1.onmessage = () => resolve(performance.now() - began)
            port2.postMessage(0)
          })
        })
        watch.observe(results, { attributes: true, childList: true, subtree: true })
      }); 0`
    )
    .then(() => page.keyboard.press(key))
    .then(() => page.evaluate<number>("window.painted"))

try {
  const { chunks } = await get<{ readonly chunks: number }>("/stats")
  const { documents } = await get<{ readonly documents: ReadonlyArray<{ readonly doc_id: string }> }>(
    "/documents?limit=1000"
  )
  const step = Math.max(1, Math.floor(documents.length / size.questions))
  const questions: Array<string> = []
  for (const { doc_id: id } of documents.filter((_, at) => at % step === 0).slice(0, size.questions)) {
    const { passages } = await get<{ readonly passages: ReadonlyArray<{ readonly text: string }> }>(
      `/documents/${encodeURIComponent(id)}/passages?limit=1`
    )
    const words = passages[0]!.text.match(/\p{L}{3,}/gu) ?? []
    if (words.length >= 5) questions.push(words.slice(0, 5).join(" ").toLowerCase())
  }
  console.log(`${chunks} passages, ${questions.length} questions`)

  for (const query of questions.slice(0, size.warm)) await ask({ query, facets })
  const times: Record<"plain" | "counted", Array<number>> = { plain: [], counted: [] }
  for (let round = 0; round < size.rounds; round++) {
    for (const query of questions) {
      // What comes second finds the question's terms in caches.
      const ways = ["plain", "counted"] as const
      for (const way of round % 2 === 0 ? ways : ways.toReversed()) {
        times[way].push(await ask(way === "plain" ? { query } : { query, facets }))
      }
    }
  }
  const more = quantile(times.counted, 0.5) / quantile(times.plain, 0.5) - 1
  console.log(
    `a query ${told(times.plain)}; with ${facets.length} facets ${told(times.counted)}: ${(100 * more).toFixed(0)} % more`
  )

  const suggesting: Array<number> = []
  for (const query of questions.flatMap((each) => [each.slice(0, 2), each.slice(0, 4), each.slice(0, 7)])) {
    const began = performance.now()
    await get(`/suggest?limit=6&prefix=${encodeURIComponent(query.trim())}`)
    suggesting.push(performance.now() - began)
  }
  console.log(`a suggestion ${told(suggesting)}`)

  const browser = await chromium.launch({ executablePath, args: ["--headless", "--no-sandbox", "--disable-gpu"] })
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    await page.goto(`${url}/console/search?q=warm`)
    await page.locator(".results").waitFor()
    const painting: Array<number> = []
    for (const question of questions) {
      await page.locator("#search-field").fill(question.slice(0, -1))
      await page.waitForTimeout(400)
      painting.push(await typed(page, question.slice(-1)))
    }
    console.log(`from a key to its results, painted: ${told(painting)}`)
  } finally {
    await browser.close()
  }
} finally {
  server.kill()
}
