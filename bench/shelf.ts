import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve, sep } from "node:path"

/** A question, and the files and pages that answer it, found by hand: `file`, `file#page=7` or `file#page=7-9`. */
interface Question {
  readonly question: string
  readonly right: ReadonlyArray<string>
}

interface Result {
  readonly metadata: { readonly source: string; readonly page?: number; readonly heading?: string }
}

const program = new URL("../dist/bin.js", import.meta.url).pathname

const clew = (db: string, ...args: ReadonlyArray<string>): string =>
  execFileSync(process.execPath, [program, "--db", db, ...args], {
    encoding: "utf8",
    env: { ...process.env, CLEW_EMBEDDING_BACKEND: "builtin", CLEW_LIMITS_PARSE_TIMEOUT_MS: "300000" },
    maxBuffer: 1 << 28,
    stdio: ["ignore", "pipe", "inherit"]
  })

const isRight = (folder: string, { metadata }: Result, right: string): boolean => {
  const [file, pages] = right.split("#page=")
  const [from, to = from] = (pages ?? "").split("-").map(Number)
  const source = metadata.source.split("#")[0]!.slice(folder.length + 1)
  if (source.split(sep).join("/") !== file) return false
  return pages === undefined || (metadata.page !== undefined && metadata.page >= from! && metadata.page <= to!)
}

/**
 * Asks a shelf thirty questions whose right pages are known: `npm run bench -- shelf FOLDER [INDEX]`. `bench/shelf/make.sh
 * FOLDER` makes the folder; with INDEX, an existing index is used again.
 */
const run = (args: ReadonlyArray<string>): void => {
  const folder = resolve(args[0] ?? "shelf")
  const made = args[1] === undefined ? mkdtempSync(join(tmpdir(), "clew-shelf-")) : undefined
  const db = args[1] ?? join(made!, "index.db")
  try {
    if (made !== undefined) clew(db, "index", folder)
    const questions = JSON.parse(
      readFileSync(new URL("shelf/questions.json", import.meta.url), "utf8")
    ) as Array<Question>
    let hits = 0
    for (const { question, right } of questions) {
      const { results } = JSON.parse(clew(db, "--json", "query", question, "-k", "5")) as { results: Array<Result> }
      const rank = results.findIndex((result) => right.some((each) => isRight(folder, result, each))) + 1
      if (rank > 0) hits++
      console.log(`${rank > 0 ? rank : "-"}  ${question}`)
      if (rank > 0) continue
      for (const { metadata } of results)
        console.log(`     ${metadata.source.slice(folder.length + 1)} ${metadata.page ?? ""} ${metadata.heading ?? ""}`)
    }
    console.log(`hit@5: ${hits} of ${questions.length}`)
  } finally {
    if (made !== undefined) rmSync(made, { recursive: true })
  }
}

run(process.argv.slice(2))
