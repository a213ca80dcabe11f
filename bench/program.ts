import { type ChildProcess, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/** The built program; builds it if it is missing. */
export const program = (): string => {
  const root = fileURLToPath(new URL("..", import.meta.url))
  const built = join(root, "dist", "bin.js")
  if (!existsSync(built))
    spawnSync(process.execPath, [join(root, "scripts", "build.mjs"), "--no-types"], { stdio: "inherit" })
  return built
}

/** Runs Node; returns its wall time in milliseconds, and its output as text. */
export const run = (args: ReadonlyArray<string>): { readonly ms: number; readonly stdout: string } => {
  const started = performance.now()
  const { status, stderr, stdout } = spawnSync(process.execPath, args, {
    encoding: "utf8",
    env: { ...process.env, CLEW_EMBEDDING_BACKEND: "builtin" }
  })
  const ms = performance.now() - started
  if (status !== 0) throw new Error(`node ${args.join(" ")} ended with ${status}: ${stderr}`)
  return { ms, stdout }
}

export const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

/** The port at which a started server listens, by its log; fails with the log if it ends before. */
export const listening = (server: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    let log = ""
    server.once("exit", (code) => reject(new Error(`the server ended with ${code} before it listened: ${log}`)))
    server.stderr!.setEncoding("utf8").on("data", (text: string) => {
      if (log.length < 10_000) log += text
      const port = /Listening on http:\/\/[^:]+:(\d+)/.exec(log)?.[1]
      if (port !== undefined) resolve(Number(port))
    })
  })

/** The corpus named on the command line; exits with the usage if there is none. */
export const corpusNamed = (bench: string): string => {
  const corpus = process.argv[2]
  if (corpus !== undefined && existsSync(corpus)) return corpus
  console.error(`usage: npm run bench -- ${bench} <corpus.jsonl of a data set in BEIR layout>`)
  return process.exit(2)
}

/** A folder that is deleted at exit. */
export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "clew-bench-"))
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }))
  return folder
}
