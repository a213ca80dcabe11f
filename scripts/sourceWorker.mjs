// For development and tests. Node 20 does not apply tsx in worker threads, and tsx would take seconds for all of their
// modules, so the worker is bundled at its start, much as in production.
import { buildSync } from "esbuild"
import { createHash } from "node:crypto"
import { mkdirSync, renameSync, writeFileSync } from "node:fs"
import { fileURLToPath, pathToFileURL } from "node:url"
import { threadId, workerData } from "node:worker_threads"

const root = fileURLToPath(new URL("..", import.meta.url))
const {
  outputFiles: [{ text }]
} = buildSync({
  absWorkingDir: root,
  entryPoints: [fileURLToPath(workerData.entry)],
  bundle: true,
  write: false,
  format: "esm",
  platform: "node",
  target: "node20",
  external: ["better-sqlite3", "sqlite-vec"],
  banner: {
    js: 'import{createRequire as __createRequire}from"node:module";const require=__createRequire(import.meta.url);'
  },
  logLevel: "warning"
})
// A folder from which its imports resolve; under a temporary name until complete, since others start at the same time.
const folder = `${root}/node_modules/.cache/clew`
const file = `${folder}/worker-${createHash("sha256").update(text).digest("hex").slice(0, 16)}.mjs`
mkdirSync(folder, { recursive: true })
writeFileSync(`${file}.${process.pid}.${threadId}`, text)
renameSync(`${file}.${process.pid}.${threadId}`, file)
await import(pathToFileURL(file).href)
