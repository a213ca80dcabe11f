#!/bin/sh
# Tests the HTTP server with other programs: redocly and spectral lint its OpenAPI document, openapi-typescript generates
# a client from it that is type-checked and used, promtool reads its metrics (if installed), and a browser tries /docs (if
# chromium is installed).
#   sh bench/http-peers.sh
# Needs `npm run build`; installs the peers into a separate folder.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
cd "$work"
SERVICE_API_KEY=bench CLEW_EMBEDDING_BACKEND=builtin CLEW_LOG_LEVEL=warning \
  node "$root/dist/bin.js" serve --port 8498 --db "$work/index.db" &
server=$!
trap 'kill $server; wait $server; rm -rf "$work"' EXIT
cat >package.json <<'JSON'
{ "type": "module" }
JSON
npm install --no-audit --no-fund --loglevel=error @redocly/cli @stoplight/spectral-cli openapi-typescript openapi-fetch \
  typescript@5 puppeteer-core
until curl -sf http://127.0.0.1:8498/ready >/dev/null; do sleep 0.2; done
curl -s http://127.0.0.1:8498/openapi.json >openapi.json

echo "== redocly"
npx redocly lint --format=summary openapi.json
echo "== spectral"
echo 'extends: ["spectral:oas"]' >.spectral.yaml
npx spectral lint --fail-severity=error openapi.json

echo "== openapi-typescript"
npx openapi-typescript openapi.json -o schema.d.ts
cat >use.ts <<'TS'
import createClient from "openapi-fetch"
import type { paths } from "./schema.d.ts"

const client = createClient<paths>({ baseUrl: "http://127.0.0.1:8498", headers: { authorization: "Bearer bench" } })
const must = <A>({ data, error }: { data?: A; error?: unknown }): A => {
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}
const metadata = { source: "bees.md", title: "Bees", year: 2020 }
const { documents } = must(
  await client.POST("/index", { body: { documents: [{ content: "Bees make honey in hives.", metadata }] } })
)
const filter = { year: { gte: 2000 } }
const { results } = must(await client.POST("/query", { body: { query: "honey", hybrid: true, top_k: 3, filter } }))
console.log(results.map((result) => [result.metadata.source, result.metadata.start, result.score]))
console.log(must(await client.POST("/prompt", { body: { query: "honey" } })).sources)
const path = { doc_id: documents[0]!.doc_id }
console.log(must(await client.GET("/documents/{doc_id}", { params: { path } })).passages)
const refused = await client.POST("/query", { body: { query: "" } })
console.log(refused.response.status, refused.error?._tag)
console.log(must(await client.GET("/stats")).documents, must(await client.GET("/collections")).collections.length)
console.log(must(await client.DELETE("/documents", { params: { query: { source: "bees.md" } } })).deleted_documents)
TS
npx tsc --strict --noEmit --module nodenext --target es2022 --allowImportingTsExtensions --skipLibCheck use.ts
"$root/node_modules/.bin/tsx" use.ts

if command -v promtool >/dev/null; then
  echo "== promtool"
  curl -s -H 'authorization: Bearer bench' http://127.0.0.1:8498/metrics | promtool check metrics
fi

if command -v chromium >/dev/null; then
  echo "== /docs in chromium"
  cat >docs.mjs <<'JS'
import puppeteer from "puppeteer-core"

const browser = await puppeteer.launch({ executablePath: process.argv[2], args: ["--no-sandbox"] })
const page = await browser.newPage()
const elsewhere = []
page.on("request", (request) => {
  const { host, protocol } = new URL(request.url())
  if (protocol !== "data:" && host !== "127.0.0.1:8498") elsewhere.push(request.url())
})
await page.goto("http://127.0.0.1:8498/docs", { waitUntil: "networkidle0" })
const tryOut = async (name) => {
  const box = await page.waitForSelector(`.opblock[id$="-${name}"]`)
  if ((await box.$(".execute")) === null) {
    await (await box.$(".opblock-summary-control")).click()
    await (await box.waitForSelector(".try-out__btn")).click()
  }
  const answered = page.waitForResponse((response) => new URL(response.url()).pathname === `/${name}`)
  await (await box.waitForSelector(".execute")).click()
  return (await answered).status()
}
console.log("stats without the key:", await tryOut("stats"))
await (await page.$(".authorize")).click()
await (await page.waitForSelector(".auth-container input")).type("bench")
await (await page.$(".auth-btn-wrapper .authorize")).click()
await (await page.$(".auth-btn-wrapper .btn-done")).click()
console.log("stats with the key:", await tryOut("stats"))
console.log("query with the key:", await tryOut("query"))
console.log("requests to elsewhere:", elsewhere.length)
await browser.close()
JS
  node docs.mjs "$(command -v chromium)"
fi
