// For development and tests. Node 20 does not apply tsx in worker threads, and tsx would take seconds for all of their
// modules, so the worker is bundled at its start, much as in production; in a run of the tests by its first start only,
// which leaves the bytecode for the others, too: compiling takes half of the time of a start.
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { basename, dirname } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { constants, Script } from "node:vm"
import { threadId, workerData } from "node:worker_threads"

const root = fileURLToPath(new URL("..", import.meta.url))
const entry = fileURLToPath(workerData.entry)
const name = `${basename(dirname(entry))}-${basename(entry, ".ts")}`
const ofRun = process.env["TEST_RUN_ID"]
// A folder from which its imports resolve.
const folder = `${root}/node_modules/.cache/clew`

/** Under a temporary name until complete, since others start at the same time. */
const write = (file, content) => {
  writeFileSync(`${file}.${process.pid}.${threadId}`, content)
  renameSync(`${file}.${process.pid}.${threadId}`, file)
}

const bundle = async () => {
  const { buildSync } = await import("esbuild")
  const {
    outputFiles: [{ text }]
  } = buildSync({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: "cjs",
    platform: "node",
    target: "node20",
    external: ["sqlite-vec"],
    alias: { "better-sqlite3": "./src/Store/sqlite/driver.ts" },
    define: { "import.meta.url": "__url" },
    banner: { js: "(function(require,module,exports,__url){" },
    footer: { js: "})" },
    logLevel: "warning"
  })
  const version = ofRun ?? createHash("sha256").update(text).digest("hex").slice(0, 16)
  const file = `${folder}/${name}-${version}.cjs`
  mkdirSync(folder, { recursive: true })
  write(file, text)
  return file
}

const known = `${folder}/${name}-${ofRun}.cjs`

/** Whether another thread bundles it for this run, and has within half a minute. */
const isBundled = () => {
  if (ofRun === undefined) return false
  const asleep = new Int32Array(new SharedArrayBuffer(4))
  try {
    mkdirSync(folder, { recursive: true })
    mkdirSync(`${known}.begun`)
    return false
  } catch {
    for (let turn = 0; turn < 600 && !existsSync(known); turn++) Atomics.wait(asleep, 0, 0, 50)
    return existsSync(known)
  }
}
const filename = isBundled() ? known : await bundle()
const bytecode = `${filename}.bytecode`
const cachedData = existsSync(bytecode) ? readFileSync(bytecode) : undefined
const script = new Script(readFileSync(filename, "utf8"), {
  filename,
  cachedData,
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER
})
const module = { exports: {} }
script.runInThisContext()(createRequire(filename), module, module.exports, pathToFileURL(filename).href)
if (cachedData === undefined) write(bytecode, script.createCachedData())
