import { transformSync } from "esbuild"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { createRequire } from "node:module"
import * as path from "node:path"
import { check } from "recheck"
import { parseAst } from "rollup/parseAst"

/** Where a regex sees at most so much, its square does no harm. */
const bounded: ReadonlyMap<string, string> = new Map([
  ["chunking/chunk.ts", "the first 1,000 characters of a block"],
  ["chunking/chunk/definitions.ts", "a line's first 800 characters"],
  ["chunking/chunk/headings.ts", "the first 300 characters of a heading, but for links and tags, which are linear"]
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

/** What is claimed of a regex of the program, its hash, and how to find out whether it is wrong. */
interface Claim {
  readonly hash: string
  readonly wrong: () => Promise<string | undefined>
}

const hashOf = (claim: string, { flags, pattern }: Found): string =>
  createHash("sha256").update(`${claim} /${pattern}/${flags}`).digest("hex").slice(0, 16)

/** Of one that sees texts of any length: it takes linear time. */
const linear = (regex: Found): Claim => ({
  hash: hashOf("linear", regex),
  wrong: async () => {
    const { file, flags, pattern } = regex
    const found = await check(pattern, flags, { timeout: 30_000 })
    if (found.status === "safe") return undefined
    return `${file}: /${pattern}/${flags} is ${found.status === "vulnerable" ? found.complexity.type : "unknown"}`
  }
})

/** Of one that sees little: only exponential time does harm. */
const polynomial = (regex: Found): Claim => ({
  hash: hashOf("polynomial", regex),
  wrong: async () => {
    const { file, flags, pattern } = regex
    const found = await check(pattern, flags, { timeout: 1_500 })
    return found.status === "vulnerable" && found.complexity.type === "exponential"
      ? `${file}: /${pattern}/${flags}`
      : undefined
  }
})

/** Of each regex of the program that repeats something. */
export const claims = (): ReadonlyArray<Claim> =>
  files
    .flatMap(literals)
    .filter(mayRepeat)
    .map((regex) => (bounded.has(regex.file) ? polynomial(regex) : linear(regex)))

/** The claims that were proven, below the checker's version; `npm run test:deep -- regexes --update` proves all anew. */
export const provenFile = path.join(import.meta.dirname, "fixtures/provenRegexes.txt")

const { version } = createRequire(import.meta.url)("recheck/package.json") as { readonly version: string }

/** The file as it is if all claims are proven. */
export const allProven = (of: ReadonlyArray<Claim>): string =>
  `recheck ${version}\n${[...new Set(of.map(({ hash }) => hash))].sort().join("\n")}\n`

/** Those that this version of the checker has not proven. */
export const unproven = (of: ReadonlyArray<Claim>): ReadonlyArray<Claim> => {
  const [checker, ...hashes] = fs.readFileSync(provenFile, "utf8").split("\n")
  const proven = new Set(checker === `recheck ${version}` ? hashes : [])
  return of.filter(({ hash }) => !proven.has(hash))
}

/** What is wrong with any of them, one after another: the checker takes a core. */
export const wrongAmong = async (of: ReadonlyArray<Claim>): Promise<ReadonlyArray<string>> => {
  const all: Array<string> = []
  // oxlint-disable-next-line no-await-in-loop -- as said above
  for (const { wrong } of of) all.push(...[await wrong()].filter((each) => each !== undefined))
  return all
}
