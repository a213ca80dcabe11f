// Regenerates the example in README.md: runs its commands and writes their output below them.
//   node scripts/readme.mjs [--check]   after `npm run build`; --check only reports whether the page is up to date
import { spawnSync } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const page = join(root, "README.md")

/** Masks what differs between machines and runs, or changes with the docs: times, counts, places, scores. */
const steady = (text) =>
  text
    .replace(/^Indexed .*$/gm, (line) => line.replace(/[\d.,]+ ?[KM]?B?/g, "…"))
    .replace(/^Skipped: .*\n/gm, "")
    .replace(/:\d+ {2}[01]\.\d{3}(?: {2}relevance [01]\.\d\d)?$/gm, ":…")

/** The page's example with the current output of its commands. */
const made = () => {
  const home = mkdtempSync(join(tmpdir(), "clew-readme-"))
  try {
    cpSync(join(root, "docs"), join(home, "docs"), { recursive: true })
    const run = (line) => {
      const args = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain).slice(1)
      const { status, stderr, stdout } = spawnSync(process.execPath, [join(root, "dist/bin.js"), ...args], {
        cwd: home,
        encoding: "utf8",
        env: { PATH: process.env.PATH, HOME: home, CLEW_EMBEDDING_BACKEND: "builtin" }
      })
      if (status !== 0) throw new Error(`${line} ended with ${status}: ${stderr}`)
      return stdout.replaceAll(home, "~").trimEnd()
    }
    const text = readFileSync(page, "utf8")
    const [whole, example] = /```\n(\$ clew [^]*?)```/.exec(text)
    const commands = example.split("\n").flatMap((line) => (line.startsWith("$ ") ? [line.slice(2)] : []))
    const next = commands.map((line) => `$ ${line}\n${run(line)}\n`).join("\n")
    return { text, example, next, replaced: text.replace(whole, () => `\`\`\`\n${next}\`\`\``) }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

const { example, next, replaced } = made()
if (process.argv.includes("--check")) {
  if (steady(example) !== steady(next)) {
    console.error(`README.md shows\n\n${example}\nbut the commands print\n\n${next}\nRun node scripts/readme.mjs`)
    process.exitCode = 1
  }
} else writeFileSync(page, replaced)
