// For development and tests. Node 20 does not apply tsx in worker threads, and tsx would take seconds for all of their
// modules, so the worker is bundled at its start, much as in production; in a run of the tests by its first start only.
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs"
import { basename, dirname } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { threadId, workerData } from "node:worker_threads"

const root = fileURLToPath(new URL("..", import.meta.url))
const entry = fileURLToPath(workerData.entry)
const name = `${basename(dirname(entry))}-${basename(entry, ".ts")}`
const ofRun = process.env["TEST_RUN_ID"]
// A folder from which its imports resolve.
const folder = `${root}/node_modules/.cache/clew`

const bundle = async () => {
  const { buildSync } = await import("esbuild")
  const {
    outputFiles: [{ text }]
  } = buildSync({
    absWorkingDir: root,
    entryPoints: [entry],
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
  const version = ofRun ?? createHash("sha256").update(text).digest("hex").slice(0, 16)
  const file = `${folder}/${name}-${version}.mjs`
  mkdirSync(folder, { recursive: true })
  // Under a temporary name until complete, since others start at the same time.
  writeFileSync(`${file}.${process.pid}.${threadId}`, text)
  renameSync(`${file}.${process.pid}.${threadId}`, file)
  return file
}

const known = `${folder}/${name}-${ofRun}.mjs`
await import(pathToFileURL(ofRun !== undefined && existsSync(known) ? known : await bundle()).href)
