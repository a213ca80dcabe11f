import { findNodeAtLocation, type Node, parseTree } from "jsonc-parser"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { isMap, isPair, isScalar, parseDocument, visit } from "yaml"

interface Leaf {
  readonly file: string
  readonly path: ReadonlyArray<string>
  readonly line: number
}

const lineAt = (text: string, offset: number): number => text.slice(0, offset).split("\n").length

const inJson = (file: string, text: string): ReadonlyArray<Leaf> => {
  const root = parseTree(text)
  const leaves: Array<Leaf> = []
  const walk = (node: Node, path: ReadonlyArray<string | number>): void => {
    if (node.type === "object" || node.type === "array") {
      node.children?.forEach((child, i) => {
        if (node.type === "array") walk(child, [...path, i])
        else walk(child.children![1]!, [...path, String(child.children![0]!.value)])
      })
    } else if (path.every((part) => typeof part === "string"))
      leaves.push({
        file,
        path: path as ReadonlyArray<string>,
        line: lineAt(text, findNodeAtLocation(root!, [...path])!.offset)
      })
  }
  if (root !== undefined) walk(root, [])
  return leaves
}

const inYaml = (file: string, text: string): ReadonlyArray<Leaf> => {
  const leaves: Array<Leaf> = []
  visit(parseDocument(text, { logLevel: "silent" }), {
    Pair: (_, { key, value }, above) => {
      if (!isScalar(key) || isMap(value)) return
      const keys = above.flatMap((node) => (isPair(node) && isScalar(node.key) ? [String(node.key.value)] : []))
      leaves.push({ file, path: [...keys, String(key.value)], line: lineAt(text, key.range?.[0] ?? 0) })
    }
  })
  return leaves
}

/** Random-looking numbers, the same in each run. */
const random = (seed: number) => () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return seed / 2 ** 32
}

/**
 * Searches settings by their keys: `npm run bench -- paths FOLDER [PROGRAM]`. Takes 200 values from the folder's JSON and
 * YAML files, at least three keys deep, whose last three keys occur nowhere else. A hit is a passage of the file that
 * contains the value's line. PROGRAM is another build's `dist/bin.js`.
 */
const run = (args: ReadonlyArray<string>): void => {
  const folder = resolve(args[0] ?? ".")
  const program = resolve(args[1] ?? new URL("../dist/bin.js", import.meta.url).pathname)
  const leaves = readdirSync(folder, { recursive: true, encoding: "utf8" }).flatMap((name) => {
    const read = name.endsWith(".json") ? inJson : /\.ya?ml$/.test(name) ? inYaml : undefined
    return read === undefined ? [] : read(join(folder, name), readFileSync(join(folder, name), "utf8"))
  })
  const key = ({ path }: Leaf) => path.slice(-3).join(" ")
  const times = new Map<string, number>()
  for (const leaf of leaves) times.set(key(leaf), (times.get(key(leaf)) ?? 0) + 1)
  const next = random(17)
  const asked = leaves
    .filter((leaf) => leaf.path.length >= 3 && times.get(key(leaf)) === 1 && key(leaf).length < 200)
    .map((leaf) => ({ leaf, order: next() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, 200)
    .map(({ leaf }) => leaf)
  const scratch = mkdtempSync(join(tmpdir(), "clew-paths-"))
  const clew = (...rest: ReadonlyArray<string>): string =>
    execFileSync(process.execPath, [program, "--db", join(scratch, "index.db"), ...rest], {
      encoding: "utf8",
      env: { ...process.env, CLEW_EMBEDDING_BACKEND: "builtin" },
      maxBuffer: 1 << 28,
      stdio: ["ignore", "pipe", "ignore"]
    })
  try {
    clew("index", folder)
    let first = 0
    let five = 0
    for (const leaf of asked) {
      const { results } = JSON.parse(clew("--json", "query", key(leaf), "-k", "5")) as {
        results: ReadonlyArray<{ metadata: { source: string; start_line: number; end_line: number } }>
      }
      const rank = results.findIndex(
        ({ metadata }) =>
          metadata.source === leaf.file && metadata.start_line <= leaf.line && leaf.line <= metadata.end_line
      )
      if (rank === 0) first++
      if (rank >= 0) five++
    }
    console.log(`${asked.length} values: hit@1 ${first}, hit@5 ${five}`)
  } finally {
    rmSync(scratch, { recursive: true })
  }
}

run(process.argv.slice(2))
