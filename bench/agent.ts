// Tokens that a coding agent reads until it has seen the passage that answers, with search over MCP and with grep:
// `npm run bench -- agent FOLDER`, where FOLDER has the documentation sets of bench/agent/questions.json.
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { percentile } from "../src/measuring/Benchmark.ts"
import { packagedTokenizer } from "../src/packaged/Tokenizer.ts"
import { functionWords } from "../src/terms/languages.ts"

interface Question {
  readonly set: string
  readonly question: string
  readonly file: string
  /** What only the passage that answers says. */
  readonly says: string
}

interface Read {
  readonly tokens: number
  /** Calls of tools, or looks into files. */
  readonly calls: number
  readonly seen: boolean
}

const [folder] = process.argv.slice(2)
if (folder === undefined) {
  console.error("usage: npm run bench -- agent FOLDER")
  process.exit(2)
}

const program = new URL("../dist/bin.js", import.meta.url).pathname
const env = { PATH: process.env["PATH"]!, HOME: tmpdir(), CLEW_EMBEDDING_BACKEND: "builtin" }
const questions: ReadonlyArray<Question> = JSON.parse(
  readFileSync(new URL("agent/questions.json", import.meta.url), "utf8")
)
const { count } = await Effect.runPromise(packagedTokenizer)

const flat = (text: string): string => text.replace(/\s+/g, " ")
const holds = (text: string, { says }: Question): boolean => flat(text).includes(flat(says))

interface Result {
  readonly text: string
  readonly metadata: { readonly source: string; readonly chunk_index: number }
}

/** Searches, then opens what was found, best first; if that does not help, searches for more. */
const searching = async (client: Client, root: string, question: Question, detail: string): Promise<Read> => {
  let [tokens, calls] = [0, 0]
  const call = async (name: string, args: Record<string, unknown>) => {
    const { content, structuredContent } = await client.callTool({ name, arguments: args })
    calls++
    tokens += count((content as ReadonlyArray<{ readonly text: string }>).map(({ text }) => text).join("\n"))
    return structuredContent
  }
  const opened = new Set<string>()
  for (const top_k of [5, 20]) {
    const { results } = (await call("search", { query: question.question, top_k, detail })) as {
      readonly results: ReadonlyArray<Result>
    }
    const isRight = ({ metadata }: Result) => relative(root, metadata.source) === question.file
    if (results.some((result) => isRight(result) && holds(result.text, question))) return { tokens, calls, seen: true }
    for (const result of results) {
      const { chunk_index, source } = result.metadata
      if (opened.has(`${source} ${chunk_index}`)) continue
      opened.add(`${source} ${chunk_index}`)
      const { text } = (await call("get_document", { source, chunk_index })) as { readonly text: string }
      if (isRight(result) && holds(text, question)) return { tokens, calls, seen: true }
    }
  }
  return { tokens, calls, seen: false }
}

const filesIn = (root: string): ReadonlyArray<readonly [file: string, lines: ReadonlyArray<string>]> =>
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const file = join(entry.parentPath, entry.name)
      return [relative(root, file), readFileSync(file, "utf8").split("\n")]
    })

const [words, window, listed] = [3, 200, 50]

/**
 * Asks which files have the question's rarest words, most of them and most often first, and reads of each the windows of 200
 * lines that have one.
 */
const grepping = (files: ReturnType<typeof filesIn>, question: Question): Read => {
  const all = [...new Set(question.question.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}_-]+/gu))].filter(
    (word) => !functionWords.has(word)
  )
  const rare = all
    .map((word) => ({
      word,
      files: files.filter(([, lines]) => lines.some((l) => l.toLowerCase().includes(word))).length
    }))
    .filter(({ files }) => files > 0)
    .sort((a, b) => a.files - b.files)
    .slice(0, words)
    .map(({ word }) => word)
  const hits = files
    .map(([file, lines]) => {
      const at = lines.flatMap((line, n) => (rare.some((word) => line.toLowerCase().includes(word)) ? [n] : []))
      const distinct = rare.filter((word) => lines.some((line) => line.toLowerCase().includes(word))).length
      return { file, lines, at, distinct }
    })
    .filter(({ at }) => at.length > 0)
    .sort((a, b) => b.distinct - a.distinct || b.at.length - a.at.length)
  let tokens = count(
    hits
      .slice(0, listed)
      .map(({ at, file }) => `${file}:${at.length}`)
      .join("\n")
  )
  let calls = 1
  for (const { at, file, lines } of hits) {
    for (const part of new Set(at.map((n) => Math.floor(n / window)))) {
      const text = lines.slice(part * window, (part + 1) * window).join("\n")
      tokens += count(text)
      calls++
      if (file === question.file && holds(text, question)) return { tokens, calls, seen: true }
    }
  }
  return { tokens, calls, seen: false }
}

const made = mkdtempSync(join(tmpdir(), "clew-agent-"))
const ways: Record<string, Array<Read>> = { concise: [], full: [], grep: [] }
try {
  for (const set of new Set(questions.map((question) => question.set))) {
    const root = realpathSync(join(folder, set))
    const db = join(made, `${set}.db`)
    execFileSync(process.execPath, [program, "--db", db, "index", "--quiet", root], { env, stdio: "ignore" })
    const client = new Client({ name: "bench", version: "1" })
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args: [program, "mcp", "--db", db], env, stderr: "ignore" })
    )
    const files = filesIn(root)
    for (const question of questions.filter((each) => each.set === set)) {
      const read = {
        concise: await searching(client, root, question, "concise"),
        full: await searching(client, root, question, "full"),
        grep: grepping(files, question)
      }
      for (const [way, each] of Object.entries(read)) ways[way]!.push(each)
      const shown = Object.entries(read).map(
        ([way, { seen, tokens }]) => `${way} ${tokens}${seen ? "" : " (not seen)"}`
      )
      console.log(`${question.question}\n  ${shown.join(", ")}`)
    }
    await client.close()
  }
} finally {
  rmSync(made, { recursive: true, force: true })
}
for (const [way, reads] of Object.entries(ways)) {
  const tokens = reads.map((each) => each.tokens).sort((a, b) => a - b)
  const mean = tokens.reduce((sum, each) => sum + each, 0) / tokens.length
  console.log(
    `${way}: seen ${reads.filter(({ seen }) => seen).length} of ${reads.length}, tokens: median ${percentile(tokens, 0.5)}, mean ${Math.round(mean)}, most ${tokens.at(-1)}; calls: mean ${(reads.reduce((sum, { calls }) => sum + calls, 0) / reads.length).toFixed(1)}, one for ${reads.filter(({ calls, seen }) => seen && calls === 1).length}`
  )
}
