// Packs what npm would publish, installs it in an empty prefix like a user, and runs the quickstart from it. Prints the
// size of the installation and its heaviest packages; fails over 160 MB (190 where both releases of SQLite's driver come),
// and if a question takes a tenth more CPU time than with the build of the last release.
//
//   npm run release -- [--keep] --gate CORPUS QUERIES.jsonl LAST/dist/bin.js
import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

// Where Node-API 10 is, release 13 comes beside release 12.
const mostMegabytes = Number(process.versions.napi) < 10 ? 160 : 190
const at = process.argv.indexOf("--gate")
const gate = at === -1 ? [] : process.argv.slice(at + 1, at + 4)
if (gate.length !== 3) {
  console.error("usage: npm run release -- [--keep] --gate CORPUS QUERIES.jsonl LAST/dist/bin.js")
  process.exit(2)
}

process.chdir(fileURLToPath(new URL("..", import.meta.url)))
const folder = mkdtempSync(join(tmpdir(), "clew-release-"))
const prefix = join(folder, "prefix")
const run = (command, args, options = {}) =>
  execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], ...options })

const bytesOf = (path) => {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return 0
  if (!stat.isDirectory()) return stat.blocks * 512
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => !entry.isSymbolicLink())
    .reduce((sum, entry) => sum + bytesOf(join(path, entry.name)), 0)
}
const megabytes = (bytes) => Number((bytes / 1024 / 1024).toFixed(1))

/** The packages of a node_modules; those in a scope count separately. */
const packagesOf = (modules) =>
  readdirSync(modules)
    .filter((name) => !name.startsWith("."))
    .flatMap((name) =>
      name.startsWith("@") ? readdirSync(join(modules, name)).map((inner) => `${name}/${inner}`) : [name]
    )

try {
  run("npm", ["run", "build"])
  run("npm", ["run", "bench", "--", "gate", ...gate, "dist/bin.js"], { stdio: "inherit" })
  const [{ filename, unpackedSize, files }] = JSON.parse(
    run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder])
  )
  console.log(`Packed ${filename}: ${files.length} files, ${megabytes(unpackedSize)} MB unpacked`)

  run("npm", [
    "install",
    "--global",
    "--omit=dev",
    "--no-audit",
    "--no-fund",
    "--prefix",
    prefix,
    join(folder, filename)
  ])
  const installed = join(prefix, "lib/node_modules/clew")
  const modules = join(installed, "node_modules")
  const heaviest = packagesOf(modules)
    .map((name) => ({ package: name, MB: megabytes(bytesOf(join(modules, name))) }))
    .sort((a, b) => b.MB - a.MB)
  const total = megabytes(bytesOf(prefix))
  console.log(`Installed: ${total} MB, of it ${megabytes(bytesOf(installed) - bytesOf(modules))} MB Clew's own`)
  console.table(heaviest.slice(0, 12))

  const env = { ...process.env, CLEW_EMBEDDING_BACKEND: "builtin", CLEW_STORE_PATH: join(folder, "index.db") }
  const clew = (...args) => run(join(prefix, "bin/clew"), args, { env })
  console.log(clew("index", join(installed, "docs")))
  const found = clew("query", "-k", "1", "what is the exit code when nothing is found?")
  console.log(found)
  if (!found.includes("cli.md")) throw new Error("the installed program does not find its own documents")
  console.log(clew("info"))
  if (total > mostMegabytes) throw new Error(`the installation takes ${total} MB, more than ${mostMegabytes}`)
} finally {
  if (!process.argv.includes("--keep")) rmSync(folder, { recursive: true, force: true })
}
