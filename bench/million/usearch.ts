import { createRequire } from "node:module"
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { type Data, type Task, topK } from "./data.ts"
import type { Result, Truth } from "./result.ts"
import { measure } from "./timing.ts"

interface Index {
  readonly add: (keys: BigUint64Array, vectors: Float32Array, threads: number) => void
  readonly search: (query: Float32Array, k: number, threads: number) => { readonly keys: BigUint64Array }
  readonly save: (path: string) => void
  readonly load: (path: string) => void
}

interface Usearch {
  readonly Index: new (options: object) => Index
}

/** Not a dependency: to compare it, run `npm install --no-save usearch`. */
const load = async (): Promise<Usearch | undefined> => {
  const require = createRequire(join(process.cwd(), "package.json"))
  try {
    const module = (await import(pathToFileURL(require.resolve("usearch")).href)) as {
      readonly default?: Usearch
    } & Usearch
    return module.default ?? module
  } catch {
    return undefined
  }
}

export const usearch = async (
  { identity, queries, source, vectors }: Data,
  { size, work }: Task,
  truth: Truth
): Promise<Result> => {
  const empty = { rows: [], buildSeconds: null, rss: 0, bytes: null }
  const library = await load()
  if (library === undefined) return { ...empty, notes: ["usearch is not installed: left out"] }
  const index = new library.Index({
    metric: "cos",
    dimensions: identity.dimensions,
    connectivity: 16,
    expansion_add: 128,
    expansion_search: 64
  })
  const file = join(work, `usearch-${source.hash}-${size}.bin`)
  const took = `${file}.json`
  if (existsSync(took)) index.load(file)
  else {
    const started = performance.now()
    const batch = 10_000
    for (let at = 0; at < size; at += batch) {
      const count = Math.min(batch, size - at)
      const keys = BigUint64Array.from({ length: count }, (_, n) => BigInt(at + n))
      index.add(keys, vectors(at, count), 2)
    }
    index.save(file)
    writeFileSync(took, JSON.stringify((performance.now() - started) / 1000))
  }
  const seconds = JSON.parse(readFileSync(took, "utf8")) as number
  const row = await measure("usearch HNSW, ef 64", queries, truth["all"], ({ vector }) =>
    Array.from(index.search(vector, topK, 1).keys, Number)
  )
  return { rows: [row], buildSeconds: seconds, rss: process.memoryUsage().rss, bytes: statSync(file).size, notes: [] }
}
