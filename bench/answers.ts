import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

/** Patterns that a correct answer matches; null if these documents do not contain it. */
interface Question {
  readonly set: string
  readonly question: string
  readonly right: ReadonlyArray<string> | null
  /** Of `unseen.json`: rules may be tuned on "develop"; "held-out" is only scored. */
  readonly half?: string
}

interface Report {
  readonly answer: string
}

const program = new URL("../dist/bin.js", import.meta.url).pathname

const clew = (db: string, ...args: ReadonlyArray<string>): string => {
  try {
    return execFileSync(process.execPath, [program, "--db", db, ...args], {
      encoding: "utf8",
      env: { ...process.env, CLEW_EMBEDDING_BACKEND: "builtin", CLEW_LLM_BACKEND: "extractive" },
      maxBuffer: 1 << 28,
      stdio: ["ignore", "pipe", "ignore"]
    })
  } catch (error) {
    // If nothing is found, the program says so and exits with 3.
    const { status, stdout } = error as { readonly status?: unknown; readonly stdout?: unknown }
    if (status === 3) return String(stdout)
    throw error
  }
}

const holds = (answer: string, pattern: string): boolean =>
  new RegExp(pattern.replace(/^\(\?i\)/, ""), pattern.startsWith("(?i)") ? "is" : "s").test(answer)

const isNone = (answer: string): boolean => /^Nothing in (?:these documents|the index)/.test(answer)

/**
 * Asks documentation sets without a model, and counts the answers that contain what a correct one must:
 * `npm run bench -- answers [--all] [--half develop|held-out] [--questions FILE] clew=docs git=FOLDER vue=FOLDER`. Sets
 * without a folder are skipped; `--half` takes the questions of `unseen.json`.
 */
const run = (args: ReadonlyArray<string>): void => {
  const flag = (name: string): string | undefined => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined)
  const half = flag("--half")
  const given = flag("--questions")
  const file =
    given === undefined
      ? new URL(`answers/${half === undefined ? "questions" : "unseen"}.json`, import.meta.url)
      : resolve(given)
  const folders = args.filter((arg) => arg.includes("=")).map((arg) => arg.split("=") as [string, string])
  const questions = (JSON.parse(readFileSync(file, "utf8")) as Array<Question>).filter(
    (it) => half === undefined || it.half === half
  )
  const made = mkdtempSync(join(tmpdir(), "clew-answers-"))
  const answered = { asked: 0, useful: 0 }
  const refused = { asked: 0, useful: 0 }
  try {
    for (const [set, folder] of folders) {
      const given = resolve(folder)
      const db = given.endsWith(".db") ? given : join(made, `${set}.db`)
      if (db !== given) clew(db, "index", "--quiet", given)
      for (const { question, right } of questions.filter((it) => it.set === set)) {
        const { answer } = JSON.parse(clew(db, "--json", "ask", question)) as Report
        const isRight = right === null ? isNone(answer) : right.every((pattern) => holds(answer, pattern))
        const tally = right === null ? refused : answered
        tally.asked++
        if (isRight) tally.useful++
        console.log(`${isRight ? "+" : "-"} ${set}: ${question}`)
        if (!isRight || args.includes("--all")) {
          console.log(answer.replace(/^/gm, "      "))
        }
      }
    }
    console.log(`useful: ${answered.useful} of ${answered.asked}; refused: ${refused.useful} of ${refused.asked}`)
  } finally {
    rmSync(made, { recursive: true })
  }
}

run(process.argv.slice(2))
