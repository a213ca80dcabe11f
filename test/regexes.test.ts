import { assert, it } from "@effect/vitest"
import { transformSync } from "esbuild"
import * as fs from "node:fs"
import * as path from "node:path"
import { check } from "recheck"
import { parseAst } from "rollup/parseAst"

/** Where a regex sees at most so much, its square does no harm. */
const bounded: ReadonlyMap<string, string> = new Map([
  ["text/chunk.ts", "the first 1,000 characters of a block"],
  ["text/chunk/codeItems.ts", "a line's first 800 characters"],
  ["text/chunk/definitions.ts", "the first 800 characters of a definition"],
  ["text/chunk/headings.ts", "the first 300 characters of a heading"]
])

interface Found {
  readonly file: string
  readonly pattern: string
  readonly flags: string
}

const src = path.resolve(import.meta.dirname, "../src")

/** The regexes written in the program, each once a file. */
const literals = (file: string): ReadonlyArray<Found> => {
  const { code } = transformSync(fs.readFileSync(path.join(src, file), "utf8"), { loader: "ts", target: "esnext" })
  const found = new Map<string, Found>()
  const walk = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return
    const { regex } = node as { readonly regex?: { readonly pattern: string; readonly flags: string } }
    if (regex !== undefined) found.set(`/${regex.pattern}/${regex.flags}`, { file, ...regex })
    for (const child of Object.values(node)) walk(child)
  }
  walk(parseAst(code))
  return [...found.values()]
}

/** Without a quantifier that has no end, the time has a bound. */
const mayRepeat = ({ pattern }: Found): boolean => /[*+]|\{\d+,\}/.test(pattern.replace(/\\./g, ""))

const files = fs
  .readdirSync(src, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && !file.includes("kernels"))
  .map((file) => file.replaceAll(path.sep, "/"))

it("no regex takes more than linear time, wherever what it sees has no bound", { timeout: 300_000 }, async () => {
  const all = files.flatMap(literals).filter(mayRepeat)
  assert.isAbove(all.length, 100)
  const slow: Array<string> = []
  for (const { file, flags, pattern } of all) {
    if (bounded.has(file)) continue
    // oxlint-disable-next-line no-await-in-loop -- the checker takes a core
    const found = await check(pattern, flags, { timeout: 30_000 })
    if (found.status !== "safe") {
      slow.push(`${file}: /${pattern}/${flags} is ${found.status === "vulnerable" ? found.complexity.type : "unknown"}`)
    }
  }
  assert.deepStrictEqual(slow, [])
})

it("no regex is exponential, however little it sees", { timeout: 300_000 }, async () => {
  const all = [...bounded.keys()].flatMap(literals).filter(mayRepeat)
  const slow: Array<string> = []
  for (const { file, flags, pattern } of all) {
    // oxlint-disable-next-line no-await-in-loop -- the checker takes a core
    const found = await check(pattern, flags, { timeout: 1_500 })
    if (found.status === "vulnerable" && found.complexity.type === "exponential") {
      slow.push(`${file}: /${pattern}/${flags}`)
    }
  }
  assert.deepStrictEqual(slow, [])
})
