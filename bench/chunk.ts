import * as Effect from "effect/Effect"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { extname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import type { Format } from "../src/model/Document.ts"
import { chunk } from "../src/chunking/chunk.ts"
import { packagedTokenizer } from "../src/packaged/Tokenizer.ts"

interface Sample {
  readonly content: string
  readonly format: Format
  readonly language: string
}

const formats: ReadonlyArray<readonly [Format, RegExp]> = [
  ["markdown", /^\.(?:md|mdx|markdown)$/],
  ["text", /^\.(?:txt|rst|adoc|html|jsonl)$/],
  ["code", /^\.(?:[cm]?[jt]sx?|py|go|rs|java|c|h|cc|cpp|hpp|cs|rb|php|sh|sql|lua|css|toml|yaml|yml|json)$/]
]

const root = fileURLToPath(new URL("..", import.meta.url))

/** Every document of a file, or of the files below a folder; each line of JSON Lines is a document. */
const samples = (path: string): ReadonlyArray<Sample> => {
  if (statSync(path).isDirectory())
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() || entry.isFile())
      .flatMap((entry) => samples(join(path, entry.name)))
  const extension = extname(path)
  const format = formats.find(([, extensions]) => extensions.test(extension))?.[0]
  if (format === undefined) return []
  const content = readFileSync(path, "utf8")
  const language = extension.slice(1)
  if (language !== "jsonl") return [{ content, format, language }]
  return content
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => ({ content: (JSON.parse(line) as { readonly text: string }).text, format, language }))
}

const rounds = 5

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

/** CPU milliseconds: the median of some rounds after a warm-up. */
const time = (work: () => void): number => {
  const times = Array.from({ length: rounds + 1 }, () => {
    const started = process.cpuUsage()
    work()
    const { system, user } = process.cpuUsage(started)
    return (user + system) / 1000
  })
  return median(times.slice(1))
}

/** The chunker's speed by format, with the packaged tokenizer and with a counter that costs nothing. */
export const main = async (paths: ReadonlyArray<string>): Promise<void> => {
  const { count } = await Effect.runPromise(packagedTokenizer)
  const counters = [
    ["tokenizer", count],
    ["free counter", (text: string) => text.length / 5]
  ] as const
  const all = paths.flatMap(samples)
  for (const [format] of formats) {
    const documents = all.filter((sample) => sample.format === format)
    if (documents.length === 0) continue
    const bytes = documents.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0)
    for (const [name, countTokens] of counters) {
      let passages = 0
      const ms = time(() => {
        passages = 0
        for (const { content, language } of documents)
          passages += chunk(content, { size: 256, overlap: 32, format, countTokens, language }).length
      })
      const rate = `${(bytes / 1000 / ms).toFixed(1)} MB/s, ${((passages * 1000) / ms).toFixed(0)} passages/s`
      const each = `${((ms * 1000) / documents.length).toFixed(1)} µs a document`
      console.log(`${format}, ${name}: ${documents.length} documents, ${passages} passages: ${rate}, ${each}`)
    }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const paths = process.argv.slice(2)
  await main(paths.length > 0 ? paths : [join(root, "src"), join(root, "docs"), join(root, "node_modules/effect")])
}
