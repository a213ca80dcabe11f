import * as Schema from "effect/Schema"
import { afterAll, assert, describe, it } from "vitest"
import { execFileSync } from "node:child_process"
import { rmSync } from "node:fs"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Problem } from "../../../src/cli/report.ts"
import { Sandbox } from "./sandbox.ts"

const box = new Sandbox()
afterAll(() => box.remove())

const escape = "\u001b"

describe("help", () => {
  it("lists the commands on standard output, without colours where there is no terminal", async () => {
    const { stderr, stdout } = await box.ends(0, ["--help"])
    assert.strictEqual(stderr, "")
    for (const command of ["index PATH…", "query TEXT…", "info", "delete", "collections", "benchmark"])
      assert.include(stdout, command)
    assert.notInclude(stdout, escape)
  })

  it("describes a command's flags", async () => {
    const { stdout } = await box.ends(0, ["query", "--help"])
    for (const flag of ["-k, --top-k N", "--no-hybrid", "--fusion rrf|score", "-f, --filter KEY=VALUE…"])
      assert.include(stdout, flag)
  })

  it("of each command is that of the command of this name", async () => {
    const { stdout } = await box.ends(0, ["--help"])
    const names = [...stdout.matchAll(/^  ([a-z]+)(?= .*  )/gm)]
      .map(([, name]) => name!)
      .filter((name) => name !== "clew")
    assert.includeMembers(names, ["index", "import", "export", "console", "init"])
    for (const name of names) assert.include((await box.ends(0, [name, "--help"])).stdout, `clew ${name}`)
  })

  it("is found where a flag's value is called like another command", async () => {
    const { stdout } = await box.ends(0, ["query", "--help"])
    assert.strictEqual((await box.ends(0, ["--db", "index", "query", "--help"])).stdout, stdout)
    await box.ends(2, ["--db", "index", "qery", "moon"], 'unknown command "qery" (did you mean query?)')
  })

  it("prints the version of the package", async () => {
    const { version } = JSON.parse(
      readFileSync(fileURLToPath(new URL("../../../package.json", import.meta.url)), "utf8")
    )
    assert.strictEqual((await box.run(["--version"])).stdout, `clew ${version}\n`)
  })

  it("is what clew alone prints, and says what it is to programs", async () => {
    const { stdout } = await box.ends(0, [])
    assert.strictEqual(stdout, (await box.run(["--help"])).stdout)
    assert.deepInclude(JSON.parse((await box.run(["--version", "--json"])).stdout), {
      name: "clew",
      node: process.versions.node
    })
  })

  it("opens no database", async () => {
    await box.run(["index", "--help", "--db", box.path("none.db")])
    await box.run(["query", "--db", box.path("none.db"), "--nope"])
    assert.throws(() => readFileSync(box.path("none.db")))
  })
})

describe("wrong usage", () => {
  const wrong: ReadonlyArray<readonly [args: ReadonlyArray<string>, message: string]> = [
    [["--json"], "a command is missing"],
    [["serch", "x"], 'clew: unknown command "serch"'],
    [["search", "x"], 'clew: unknown command "search" (did you mean query?)'],
    [["query"], "clew query: TEXT is missing"],
    [["query", ""], "clew query: TEXT must not be empty"],
    [["compare", "postgres://ada:secret@db/search"], "clew compare: an address may have a password"],
    [["info", "--db", "postgres://ada:secret@db/search"], "clew info: an address may have a password"],
    [["query", "  "], "clew query: TEXT must not be empty"],
    [["query", "x".repeat(10_001)], "clew query: TEXT must be at most 10000 characters"],
    [["query", "x", "--fitler", "a=b"], "clew query: unknown flag --fitler (did you mean --filter?)"],
    [["query", "x", "--top-k", "0"], 'clew query: --top-k must be a whole number from 1 to 100, got "0"'],
    [["query", "x", "--top-k", "1e1000"], "clew query: --top-k must be a whole number from 1 to 100"],
    [["query", "x", "--alpha", "nan"], 'clew query: --alpha must be a number from 0 to 1, got "nan"'],
    [["query", "x", "--collection", "a b"], "clew query: --collection must be 1 to 64 letters"],
    [["query", "x", "--filter", "lang"], 'clew query: --filter "lang": write KEY=VALUE'],
    [["query", "x", "--no-hybrid", "--alpha", "0.5"], "clew query: --alpha and --fusion apply to hybrid search"],
    [["index", "docs", "--source", "x"], "clew index: --source names the document on standard input"],
    [["delete"], "clew delete: SOURCE or --id is missing"],
    [["collections", "drop", "default", "--yes"], "clew collections drop: collection default always exists"],
    [["collections", "create", "a/b"], "clew collections create: NAME must be 1 to 64 letters"],
    [["query", "x", "--config", "missing.toml"], "missing.toml"]
  ]

  for (const [args, message] of wrong) {
    it.concurrent(`exits with 2 and says so: ${args.join(" ").slice(0, 60)}`, async () => {
      const { stderr, stdout } = await box.ends(2, args)
      assert.strictEqual(stdout, "")
      assert.include(stderr, message)
      assert.isAtMost(stderr.split("\n").length, 4, "no wall of help")
    })
  }

  it("names a mistyped key of the configuration, and the nearest one", async () => {
    await box.ends(2, ["info"], "did you mean CLEW_EMBEDDING_BACKEND?", { env: { CLEW_EMBEDING_BACKEND: "builtin" } })
    box.write({ "clew.toml": "[pipeline]\nchunksize = 100\n" })
    await box.ends(2, ["info"], "pipeline.chunk_size")
    rmSync(box.path("clew.toml"))
  })

  it("is a problem in JSON with --json", async () => {
    const { stderr } = await box.ends(2, ["query", "x", "--nope", "--json"])
    const problem = Schema.decodeUnknownSync(Schema.parseJson(Problem))(stderr)
    assert.strictEqual(problem._tag, "UsageError")
    assert.include(problem.detail, "--nope")
  })

  it("is a command that does nothing without another one's name", async () => {
    for (const name of ["keys", "graph"]) {
      await box.ends(2, [name], `clew ${name}: name what to do: clew ${name} `)
      const { stderr, stdout } = await box.ends(2, [name, "--json"])
      assert.strictEqual(Schema.decodeUnknownSync(Schema.parseJson(Problem))(stderr)._tag, "UsageError")
      assert.strictEqual(stdout, "")
    }
  })
})

describe("completions", () => {
  for (const shell of ["bash", "fish", "zsh"]) {
    it.concurrent(`knows commands and flags: ${shell}`, async () => {
      const { stdout } = await box.ends(0, ["--completions", shell])
      for (const word of ["collections", "top-k", "prune", "config"]) assert.include(stdout, word)
      assert.notInclude(stdout, "wizard")
      assert.notMatch(stdout, /[({]sh\b/)
      // The end of a command's arguments in zsh: a message, in which colons have a backslash, and what completes them.
      const ends = [...stdout.matchAll(/^ *'\*?:(<.*)' \\$/gm)]
      assert.strictEqual(ends.length > 0, shell === "zsh")
      for (const [, argument] of ends) assert.match(argument!, /^(?:[^:\\]|\\.)*:_files$/)
    })
  }

  it("works in bash", async () => {
    const { stdout } = await box.run(["--completions", "bash"])
    const clew = `clew() { [ "$*" = "collections --json --db x.db" ] && echo '{"collections":[{"name":"notes","embedding":{"backend":"b"}},{"name":"news"}]}'; }`
    const complete = (...words: ReadonlyArray<string>): ReadonlyArray<string> => {
      const quoted = words.map((word) => `'${word}'`)
      const line = `COMP_WORDS=(${quoted.join(" ")}); COMP_CWORD=${words.length - 1}; _clew_bash_completions clew ${quoted.at(-1)} ${quoted.at(-2)}`
      const printed = execFileSync("bash", ["-c", `${clew}\n${stdout}\n${line}; echo "\${COMPREPLY[@]}"`], {
        encoding: "utf8"
      })
      return printed.trim().split(" ")
    }
    assert.deepStrictEqual(complete("clew", "qu"), ["query"])
    assert.deepStrictEqual(complete("clew", "query", "--fu"), ["--fusion"])
    assert.deepStrictEqual(complete("clew", "query", "--fusion", ""), ["rrf", "score"])
    assert.deepStrictEqual(complete("clew", "query", "--log-level", "wa"), ["warning"])
    assert.deepStrictEqual(complete("clew", "--completions", ""), ["bash", "fish", "zsh"])
    assert.deepStrictEqual(complete("clew", "--json", "query", "--alp"), ["--alpha"])
    assert.deepStrictEqual(complete("clew", "collections", "drop", "--y"), ["--yes"])
    assert.deepStrictEqual(complete("clew", "query", "--d"), ["--db"])
    assert.deepStrictEqual(complete("clew", "query", "--db", "x.db", "-c", "n"), ["notes", "news"])
  })
})

describe("another Node", () => {
  /** Runs the built program in a Node that this script has changed. */
  const changed = (script: string, args: ReadonlyArray<string>) =>
    box.spawn(args, { env: { NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(script)}"` } })

  /** From Node 22.14 a driver that needs no building is missing in each case. */
  const told = (older: RegExp) =>
    Number(process.versions.napi) < 10 ? older : /SQLite is missing: .* install Clew again as you did/

  it("than SQLite was built for is told in a sentence, with the command to run", async () => {
    const dlopen = `process.dlopen = () => { throw Object.assign(new Error("The module '/opt/clew/node_modules/better-sqlite3/build/x.node' was compiled against a different Node.js version using NODE_MODULE_VERSION 127."), { code: "ERR_DLOPEN_FAILED" }) }`
    for (const args of [["index", "."], ["serve", "--port", "0"], ["doctor"]]) {
      const { code, stderr, stdout } = await changed(dlopen, [...args, "--db", box.path("other.db")])
      assert.strictEqual(code, 1, `${args[0]}: ${stderr}`)
      assert.match(
        args[0] === "doctor" ? stdout : stderr,
        told(/SQLite does not load in Node [\d.]+: .* run `npm rebuild better-sqlite3` in \/opt\/clew, or start Clew/),
        args[0]
      )
    }
  })

  it("or package manager did not build SQLite, which is told in a sentence, with the command to run", async () => {
    const unbuilt = `process.dlopen = () => { throw new Error("Could not locate the bindings file. Tried:\\n → /my apps/node_modules/better-sqlite3/build/better_sqlite3.node\\n → /my apps/node_modules/better-sqlite3/build/Debug/better_sqlite3.node") }`
    const { code, stderr } = await changed(unbuilt, ["index", ".", "--db", box.path("other.db")])
    assert.strictEqual(code, 1, stderr)
    assert.match(stderr, told(/^clew: SQLite was not built: .* and run `npm rebuild better-sqlite3` in \/my apps\s*$/))
  })

  it("or package manager left SQLite out, since it could not be built, which is told likewise", async () => {
    const left = `import module from "node:module"; const resolve = module._resolveFilename; module._resolveFilename = (name, ...rest) => { if (!name.startsWith("better-sqlite3")) return resolve(name, ...rest); throw Object.assign(new Error("Cannot find module '" + name + "'"), { code: "MODULE_NOT_FOUND" }) }`
    const { code, stderr } = await changed(left, ["index", ".", "--db", box.path("other.db")])
    assert.strictEqual(code, 1, stderr)
    assert.match(stderr, told(/^clew: SQLite was not built: .* and install Clew again as you did/))
  })

  it("that is too old is told", async () => {
    const { code, stderr } = await changed(`Object.defineProperty(process.versions, "node", { value: "18.19.0" })`, [
      "info"
    ])
    assert.strictEqual(code, 1)
    assert.match(stderr, /^clew: Node 18\.19\.0 is too old for Clew; install Node 20\.12 or newer/)
  })
})
