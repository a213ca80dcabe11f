import { it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { chmodSync, copyFileSync, cpSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeEach, describe } from "vitest"
import { startOllama } from "../ollama.ts"
import { library } from "../cli/program/files.ts"
import { ended, program, run as runHere, Sandbox } from "../cli/program/sandbox.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** The lines of a page's examples that run `clew`, as they would be typed, in their order. */
const commandsOf = (page: string): ReadonlyArray<string> => {
  const text = readFileSync(`${root}${page}`, "utf8")
  // Each block from its own fence to its end: the end of another language's block opens none.
  const fenced = [...text.matchAll(/^```(\w*)\n([^]*?)^```/gm)].flatMap(([, language, block = ""]) =>
    language === "" || language === "sh" ? block.split("\n") : []
  )
  const indented = text.split("\n").flatMap((line) => (line.startsWith("    ") ? [line.slice(4)] : []))
  return [...fenced, ...indented]
    .map((line) => line.replace(/^\$ /, ""))
    .filter((line) => /^(?:[A-Z_]+=\S+ )?(?:clew |curl .*\| clew )/.test(line))
}

const pages = [
  "README.md",
  ...readdirSync(`${root}docs`)
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`)
]

const keys = "# Keys\n\nRotate the keys every spring: make a new one, then revoke the old one.\n"

const corpus = (names: ReadonlyArray<string>) =>
  Object.fromEntries(
    names.flatMap((name) => [
      [
        `${name}/corpus.jsonl`,
        ["tide", "bread", "lava"]
          .map((word, n) => JSON.stringify({ _id: `${n}`, text: `All about ${word}.` }))
          .join("\n")
      ],
      [`${name}/queries.jsonl`, JSON.stringify({ _id: "q", text: "tide" })],
      [`${name}/qrels/test.tsv`, "query-id\tcorpus-id\tscore\nq\t0\t1\n"]
    ])
  )

const power =
  "# Durability\n\nSeveral processes may write to an index: they take turns. All stays after the power fails.\n"

/** The folders and files that the pages name. */
const files: Readonly<Record<string, string>> = {
  ...library,
  "docs/tides.md": `${library["docs/tides.md"]}\nA neap tide comes a week later.\n`,
  "docs/durability.md": power,
  "home/docs/durability.md": power,
  ...corpus(["scifact", "cisi", "cranfield", "musique"]),
  "docs/old.md": "# Old\n\nNothing of it holds.\n",
  "docs/ranking.md":
    "---\nlang: en\nyear: 2022\n---\n# Ranking\n\nPassages are ranked by meaning and words, in C++ and tides.\n",
  "notes.md": "# Notes\n\nTides, bread and songs.\n",
  "docs/hello.md": "# Hello Love\n\nHello Love is an album by Chris Smither, recorded in Tennessee for Ada Lovelace.\n",
  "docs/tennessee.md": "# Tennessee\n\nTennessee lies west of the mountains. Ada Lovelace never saw it.\n",
  "drafts/draft.md": "# Draft\n",
  "archive/one.md": "# One\n",
  "records.jsonl": '{"_id": "4983", "text": "A record."}\n',
  "home/notes/keys.md": keys,
  "home/notes/ada.md": "# Ada Lovelace\n\nAda Lovelace wrote about the Analytical Engine.\n",
  "home/work/docs/deploy.md": "# Deploying\n\nRotate the keys before you deploy.\n"
}

/** What a command needs besides the files: what somebody did before who reads there. */
const before: Readonly<Record<string, string>> = {
  "clew update --collection notes": "clew index -c notes notes.md",
  "clew query -k 10": "clew index paper.pdf records.jsonl archive",
  "clew delete --id 4983": `clew export all.jsonl && sed -E '2s/"doc_id":"[^"]*"/"doc_id":"4983"/' all.jsonl >one.jsonl && clew import one.jsonl`,
  "clew judge how": "clew judge --grade docs/ranking.md=3 how are passages ranked",
  "clew benchmark --judgements judgements.jsonl --baseline quality.json":
    "clew judge --judgements judgements.jsonl --grade docs/ranking.md=3 how are passages ranked && " +
    "clew benchmark --judgements judgements.jsonl --baseline quality.json --save",
  "clew doctor": "clew index docs",
  "clew backup ~/index.backup": "clew index docs",
  'clew graph query "Ada Lovelace"   ': "clew index docs",
  "clew ask what survives": "clew index docs",
  "clew export notes.jsonl.gz": "clew index docs",
  "clew export |": "clew index docs",
  "CLEW_EMBEDDING_BACKEND=ollama clew reindex": "clew index docs"
}

/** Go on until they are stopped. */
const lasting = /^(?:\S+=\S+ )?clew (?:serve|console|watch|mcp(?! install))\b/

/** Commands that ask a question first, which without a terminal need `--yes`. */
const asking = /^clew delete (?!.*--yes)/

/** At one place for all pages, so that the index of one is that of another. */
const box = new Sandbox()
beforeEach(() => {
  for (const name of readdirSync(box.folder)) {
    if (name !== "indexed") rmSync(box.path(name), { recursive: true })
  }
  box.write(files)
  // A page from the network, and the program by its name.
  box.write({
    "bin/curl": "#!/bin/sh\necho '<title>Page</title><p>A page about tides.</p>'\n",
    "bin/jq": "#!/bin/sh\ncat\n",
    "bin/ollama": "#!/bin/sh\ncat\n",
    "bin/clew": `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`
  })
  for (const name of ["paper.pdf", "scan.pdf"]) {
    copyFileSync(`${root}test/fixtures/documents/paper.pdf`, box.path(name))
  }
  for (const name of ["curl", "jq", "ollama", "clew"]) chmodSync(box.path("bin", name), 0o755)
})
afterAll(() => box.remove())

const environment = (env: Readonly<Record<string, string>>) => ({
  PATH: `${box.path("bin")}:${process.env["PATH"]}`,
  HOME: box.path("home"),
  XDG_DATA_HOME: box.path("home", "data"),
  XDG_CONFIG_HOME: box.path("home", "config"),
  CLEW_SERVER_PORT: "0",
  ...env
})

const shell = (line: string, cwd: string, env: Readonly<Record<string, string>>) =>
  spawn("bash", ["-c", `set -o pipefail; ${line}`], { cwd, env: environment(env) })

/** One command, of which the shell only reads the words. */
const simple = /^(?:([A-Z_]+)=(\S+) )?(clew [^|<>&;$`]*)$/

/**
 * Runs a line as a user would type it, in this process if it is one command that ends by itself; a command that goes on
 * is stopped once it says that it is ready.
 */
const run = async (line: string, cwd: string, env: Readonly<Record<string, string>>) => {
  const [, name, value = "", command] = (!lasting.test(line) && simple.exec(line)) || []
  if (command !== undefined) {
    const words = await ended(shell(command.replace("clew", "printf '%s\\0'"), cwd, env))
    if (words.code !== 0) return words
    const more = name === undefined ? {} : { [name]: value }
    return runHere({ argv: words.stdout.split("\0").slice(0, -1), cwd, env: { ...environment(env), ...more } })
  }
  const child = shell(lasting.test(line) ? line.replace(/\bclew /, "exec clew ") : line, cwd, env)
  child.stdin.end()
  if (lasting.test(line)) {
    let isStopped = false
    const stop = (text: string) => {
      if (isStopped || !/listening|http:\/\/|[Ff]ollowing|"following"/.test(text)) return
      // Only once: a second Ctrl-C ends it in the middle.
      isStopped = true
      child.kill("SIGINT")
    }
    child.stdout.on("data", (text) => stop(String(text)))
    child.stderr.on("data", (text) => stop(String(text)))
  }
  return ended(child)
}

/** Runs it; what most pages begin with is run once and then copied. */
const prepare = async (line: string, cwd: string, env: Readonly<Record<string, string>>) => {
  const [data, indexed] = [box.path("home", "data"), box.path("indexed")]
  const isCommon = line === "clew index docs" && cwd === box.folder && env["CLEW_EMBEDDING_BACKEND"] === "builtin"
  if (!isCommon || existsSync(data)) return run(line, cwd, env)
  if (existsSync(indexed)) {
    cpSync(indexed, data, { recursive: true })
    return { code: 0, stdout: "", stderr: "" }
  }
  const ended = await run(line, cwd, env)
  if (ended.code === 0) cpSync(data, indexed, { recursive: true })
  return ended
}

/** Lines that ran, each with those that changed something before it on its page: in the same state, it says nothing new. */
const ran = new Set<string>()
const writes = /\bclew (?:index|update|import|backup|judge|delete|drop|reindex|restore|compact|keys|graph build)\b/

describe("every command that a page shows", () => {
  it("is found by the test", () => {
    assert.isAbove(pages.flatMap(commandsOf).length, 45)
    assert.includeMembers(
      [...commandsOf("README.md")],
      ['clew graph query "Ada Lovelace"       # names that the documents connect']
    )
  })

  for (const page of pages) {
    const commands = commandsOf(page)
    if (commands.length === 0) continue
    it.scopedLive(
      `works on the folders that it names: ${page}`,
      () =>
        Effect.gen(function* () {
          const ollama = yield* startOllama(["It stays [1]."])
          ollama.state.models.push("gemma3:latest", "gemma3:270m", "llama3.2:latest")
          const env = {
            CLEW_LLM_URL: ollama.url,
            CLEW_LLM_BACKEND: "ollama",
            CLEW_EMBEDDING_URL: ollama.url
          }
          const [, toml] = /<<'TOML'\n([^]*?)^TOML/m.exec(readFileSync(`${root}${page}`, "utf8")) ?? []
          if (toml !== undefined) box.write({ "local.toml": toml })
          const ours = toml === undefined ? { ...env, CLEW_EMBEDDING_BACKEND: "builtin" } : env
          const cwd = page === "README.md" ? box.path("home") : box.folder
          const changes = new Set<string>()
          for (const line of commands) {
            const first = before[Object.keys(before).find((start) => line.startsWith(start)) ?? ""]
            if (first !== undefined) yield* Effect.promise(() => prepare(first, cwd, ours))
            const bare = line.replace(/ +#.*$/, "")
            const inState = [...changes, first, bare].join("\n")
            if (first !== undefined) changes.add(first)
            if (writes.test(bare)) changes.add(bare)
            else if (ran.has(inState)) continue
            ran.add(inState)
            const asked = asking.test(line) ? `${bare} --yes` : bare
            const { code, stderr, stdout } = yield* Effect.promise(() =>
              prepare(
                asked,
                cwd,
                line.startsWith("CLEW_EMBEDDING_BACKEND=") ? { ...ours, CLEW_EMBEDDING_MODEL: "all-minilm" } : ours
              )
            )
            assert.strictEqual(code, 0, `${page}: ${line}\n${stdout}\n${stderr}`)
          }
        }),
      600_000
    )
  }
})
