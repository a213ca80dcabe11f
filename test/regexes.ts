import { transformSync } from "esbuild"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { check } from "recheck"
import { parseAst } from "rollup/parseAst"

/** Where a regex sees at most so much, its square does no harm. */
const bounded: ReadonlyMap<string, string> = new Map([
  ["chunking/chunk.ts", "the first 1,000 characters of a block"],
  ["chunking/chunk/definitions.ts", "a line's first 800 characters"],
  ["chunking/chunk/headings.ts", "the first 300 characters of a heading"]
])

interface Found {
  readonly file: string
  readonly pattern: string
  readonly flags: string
}

const src = path.resolve(import.meta.dirname, "../src")

/** The regexes written in the program, each once a file. */
const literals = (file: string): ReadonlyArray<Found> => {
  const { code } = transformSync(fs.readFileSync(path.join(src, file), "utf8"), {
    loader: file.endsWith("x") ? "tsx" : "ts",
    target: "esnext"
  })
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
  .filter((file) => /\.tsx?$/.test(file) && !file.includes("kernels"))
  .map((file) => file.replaceAll(path.sep, "/"))

/** The regexes of the program that repeat something: those that see texts of any length, and those that see little. */
export const regexes = () => {
  const all = files.flatMap(literals).filter(mayRepeat)
  return {
    unbounded: all.filter(({ file }) => !bounded.has(file)),
    bounded: all.filter(({ file }) => bounded.has(file))
  }
}

/** What identifies a regex among the proven ones. */
export const hashOf = ({ flags, pattern }: Found): string =>
  createHash("sha256").update(`/${pattern}/${flags}`).digest("hex").slice(0, 16)

/** Hashes of the regexes that were proven to take linear time; `npm run test:deep -- regexes --update` proves all anew. */
export const provenFile = path.join(import.meta.dirname, "fixtures/linearRegexes.txt")

/** What is wrong with a regex that sees texts of any length; undefined if it takes linear time. */
export const slowness = async ({ file, flags, pattern }: Found): Promise<string | undefined> => {
  const found = await check(pattern, flags, { timeout: 30_000 })
  if (found.status === "safe") return undefined
  return `${file}: /${pattern}/${flags} is ${found.status === "vulnerable" ? found.complexity.type : "unknown"}`
}

/** The same for one that sees little: only exponential time does harm. */
export const explosion = async ({ file, flags, pattern }: Found): Promise<string | undefined> => {
  const found = await check(pattern, flags, { timeout: 1_500 })
  return found.status === "vulnerable" && found.complexity.type === "exponential"
    ? `${file}: /${pattern}/${flags}`
    : undefined
}

/** What is wrong with any of them, one after another: the checker takes a core. */
export const wrongAmong = async (
  found: ReadonlyArray<Found>,
  wrong: (regex: Found) => Promise<string | undefined>
): Promise<ReadonlyArray<string>> => {
  const all: Array<string> = []
  // oxlint-disable-next-line no-await-in-loop -- as said above
  for (const regex of found) all.push(...[await wrong(regex)].filter((each) => each !== undefined))
  return all
}
