import { spawnSync } from "node:child_process"
import { existsSync, rmSync } from "node:fs"
import { fileURLToPath } from "node:url"

process.chdir(fileURLToPath(new URL("..", import.meta.url)))

const folder = ".clew"
const db = `${folder}/quickstart.db`
rmSync(folder, { recursive: true, force: true })

/** Prints a command as a user would type it, runs it, and exits if it fails. */
const clew = (...args) => {
  const shown = args.map((arg) => (/[^\w./-]/.test(arg) ? `"${arg}"` : arg)).join(" ")
  console.log(`\n$ clew ${shown}`)
  const { status } = spawnSync(process.execPath, ["dist/bin.js", ...args, "--db", db], {
    stdio: "inherit",
    // The package contains everything needed: do not look for a server.
    env: { ...process.env, CLEW_EMBEDDING_BACKEND: "builtin" }
  })
  if (status !== 0) process.exit(status ?? 1)
}

const own = ["README.md", "ARCHITECTURE.md", "config.toml", "docs"].filter((path) => existsSync(path))

clew("index", ...own)
clew("query", "-k", "2", "what happens to the index if the process is killed?")
clew("info")

console.log(`
The index is ${db}. Try: node dist/bin.js query --db ${db} "your question"`)
