import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))

const newest = (folder: string): number =>
  Math.max(
    ...readdirSync(folder, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs)
  )

/** Builds the program that tests run, unless it is newer than its source: once for all of them. */
export default function setup() {
  const built = join(root, "dist", "bin.js")
  const sources = Math.max(newest(join(root, "src")), newest(join(root, "scripts")))
  if (existsSync(built) && statSync(built).mtimeMs > sources) return
  execFileSync(process.execPath, [join(root, "scripts", "build.mjs"), "--no-types"], { stdio: "inherit" })
}
