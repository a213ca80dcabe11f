import { execFileSync } from "node:child_process"
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
// @ts-expect-error: a script without types
import { configuration } from "../scripts/boundaries.mjs"
import { afterAll, assert, beforeAll, describe, it } from "vitest"

const root = fileURLToPath(new URL("..", import.meta.url))

type Files = Readonly<Record<string, string>>

/** Runs the linter with the repository's rules over these files alone. Gives the lines of a file that a rule refuses. */
const lint = (folder: string, files: Files): ((file: string, rule: string) => ReadonlyArray<number>) => {
  mkdirSync(folder)
  copyFileSync(join(root, ".oxlintrc.json"), join(folder, ".oxlintrc.json"))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  const complaints = output(join(root, "node_modules", "oxlint", "bin", "oxlint"), folder)
    .split("\n")
    .flatMap((line) => {
      const [, file, at, rule] = /^(.*?):(\d+):\d+: .*\[Error\/[\w-]+\(([\w-]+)\)\]$/.exec(line) ?? []
      return [{ file, line: Number(at), rule }]
    })
  return (file, rule) => {
    const lines = complaints
      .filter((complaint) => complaint.file === file && complaint.rule === rule)
      .map(({ line }) => line)
    return [...new Set(lines)].sort((a, b) => a - b)
  }
}

const output = (oxlint: string, cwd: string): string => {
  try {
    return execFileSync(process.execPath, [oxlint, "--format", "unix"], { cwd, encoding: "utf8" })
  } catch (failure) {
    // Complaints make the exit code 1.
    return (failure as { readonly stdout: string }).stdout
  }
}

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "clew-house-"))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const importing = (specifiers: ReadonlyArray<string>) =>
  specifiers.map((specifier) => `import "${specifier}"\n`).join("")

/** Who may import whom: the file, what it may import, what it may not. */
const boundaries: ReadonlyArray<readonly [file: string, may: ReadonlyArray<string>, mayNot: ReadonlyArray<string>]> = [
  [
    "src/model/Sample.ts",
    ["./Query.ts", "effect/Schema"],
    [
      "../Store.ts",
      "../Config.ts",
      "../cli/index.ts",
      "../terms/terms.ts",
      "node:fs",
      "yaml",
      "effect/Context",
      "effect/Layer",
      "@effect/sql/SqlClient"
    ]
  ],
  [
    "src/citations/prompt/Sample.ts",
    ["./other.ts", "../prompt.ts", "../../terms/terms.ts", "../../model/Query.ts", "effect/Array"],
    [
      "../../Store.ts",
      "../../Search.ts",
      "../../chunking/chunk/passages.ts",
      "../../tokenizer/tokens.ts",
      "node:fs",
      "effect/Layer"
    ]
  ],
  [
    "src/Store.ts",
    ["./model/Query.ts", "effect/Effect", "@effect/platform/HttpApiSchema"],
    [
      "./Embedder.ts",
      "./Search.ts",
      "./Store/Sqlite.ts",
      "./Config.ts",
      "./App.ts",
      "@effect/sql/SqlClient",
      "better-sqlite3"
    ]
  ],
  [
    "src/Store/Sqlite.ts",
    [
      "../Store.ts",
      "../runtime/Turn.ts",
      "../model/Query.ts",
      "../terms/terms.ts",
      "./sqlite/rows.ts",
      "@effect/sql/SqlClient"
    ],
    [
      "../Embedder.ts",
      "../Embedder/Builtin.ts",
      "../Config.ts",
      "../Config/Load.ts",
      "../upkeep/Doctor.ts",
      "../Search.ts",
      "../App.ts",
      "../http/server.ts"
    ]
  ],
  [
    "src/Store/sqlite/rows.ts",
    ["../../Store.ts", "../../model/Query.ts", "../../postings/head.ts", "../Sqlite.ts", "./rank.ts"],
    ["../../files/Loader.ts", "../../Embedder/Builtin.ts", "../../Search.ts", "../../cli/index.ts"]
  ],
  [
    "src/Store/core/rows.ts",
    ["../../Store.ts", "../crc.ts", "./passage.ts", "../../entities/walk.ts", "node:crypto"],
    ["../sql/rows.ts", "../opensearch/client.ts", "../Sqlite.ts", "../../Search.ts", "@effect/sql/SqlClient"]
  ],
  [
    "src/Store/opensearch/Sample.ts",
    ["../../Store.ts", "../core/passage.ts", "../../terms/terms.ts", "../../ranking/rank.ts"],
    ["../sql/rows.ts", "../Sqlite.ts", "../../Search.ts", "@effect/sql/SqlClient"]
  ],
  ["src/vendors/Ollama.ts", ["ollama", "../model/Query.ts"], ["../Embedder.ts", "../Embedder/Ollama.ts"]],
  [
    "src/Llm/Ollama.ts",
    ["../Llm.ts", "../vendors/Ollama.ts", "./options.ts"],
    ["../Embedder.ts", "../Embedder/Ollama.ts"]
  ],
  ["src/Config/Load.ts", ["./Env.ts", "../Config.ts", "../model/Limits.ts"], ["../Store.ts", "../Search.ts"]],
  ["src/Config.ts", ["./Config/Settings.ts", "./model/Limits.ts"], ["./Store.ts", "./Store/Sqlite.ts"]],
  [
    "src/Search.ts",
    ["./Store.ts", "./Config.ts", "./Indexer.ts", "./model/Query.ts", "./terms/terms.ts"],
    [
      "./Store/Sqlite.ts",
      "./Config/Load.ts",
      "./http/server.ts",
      "./App.ts",
      "./bin.ts",
      "./vendors/Ollama.ts",
      "@effect/sql/SqlClient",
      "ollama"
    ]
  ],
  [
    "src/files/Loader/Sample.ts",
    ["./read.ts", "../Loader.ts", "../../Config.ts", "../../chunking/format.ts", "../../extraction/extract.ts"],
    ["../Walker.ts", "../../Store.ts", "../../vendors/Ollama.ts", "../../extraction/pdf/layout.ts"]
  ],
  [
    "src/extraction/Sample.ts",
    ["./xml.ts", "parse5", "node:zlib"],
    ["../model/Locator.ts", "../files/Loader.ts", "effect/Effect", "yaml", "node:fs"]
  ],
  [
    "src/files/FileIndexer.ts",
    ["./Walker.ts", "../Indexer.ts", "../Store.ts"],
    ["../Store/Sqlite.ts", "../App.ts", "../cli/index.ts", "@effect/sql/SqlClient"]
  ],
  [
    "src/postings/Sample.ts",
    ["../model/Query.ts", "./head.ts"],
    ["../Store.ts", "../Store/Sqlite.ts", "@effect/sql/SqlClient"]
  ],
  [
    "src/ranking/Sample.ts",
    ["../model/Query.ts", "./legs.ts"],
    ["../Store.ts", "../codes/Scanner.ts", "@effect/sql/SqlClient"]
  ],
  ["src/upkeep/Doctor.ts", ["../Store.ts", "../files/Loader.ts"], ["../Store/Sqlite.ts", "../App.ts"]],
  ["src/runtime/Turn.ts", ["effect/Effect", "node:fs"], ["../Store.ts", "../model/Query.ts"]],
  ["src/Indexer/identity.ts", ["../Store.ts", "../model/Document.ts"], ["../Store/Sqlite.ts", "../App.ts"]],
  ["src/api/Api.ts", ["../model/Query.ts", "../Store.ts"], ["../Search.ts", "../http/server.ts", "../Store/Sqlite.ts"]],
  [
    "src/http/server.ts",
    ["../api/Api.ts", "../Search.ts", "../Store.ts", "../Config.ts", "../model/Query.ts"],
    ["../Store/Sqlite.ts", "../App.ts", "../cli/index.ts", "../mcp/tools.ts", "../bin.ts"]
  ],
  [
    "src/mcp/deep/tools.ts",
    ["../../Search.ts", "../../files/FileIndexer.ts", "../../model/Query.ts"],
    ["../../App.ts", "../../Store/Sqlite.ts", "../../files/Loader/Files.ts", "../../vendors/Ollama.ts"]
  ],
  ["src/cli/query.ts", ["../Search.ts", "./flag.ts"], ["../App.ts", "../http/server.ts", "../Store/Sqlite.ts"]],
  ["src/cli/listen.ts", ["../http/server.ts"], ["../App.ts", "../Store/Sqlite.ts"]],
  ["src/cli/index.ts", ["../App.ts", "../Configured.ts", "./query.ts"], ["../Store/Sqlite.ts", "../bin.ts"]],
  ["src/Configured.ts", ["./Store/glance.ts", "./Config/Load.ts"], ["./cli/index.ts", "./http/serve.ts"]],
  [
    "src/App.ts",
    ["./Store/Sqlite.ts", "./Search.ts", "./Config/Load.ts"],
    ["./cli/index.ts", "./http/server.ts", "./mcp/tools.ts"]
  ],
  ["src/index.ts", ["./Store/Sqlite.ts", "./Search.ts"], ["./cli/index.ts"]],
  ["src/client.ts", ["./api/Api.ts", "./model/Query.ts"], ["./Search.ts", "./Store/Sqlite.ts"]],
  ["src/bin.ts", ["./cli/index.ts"], ["./App.ts", "./Search.ts"]],
  [
    "src/console/Sample.tsx",
    ["./address.ts", "preact", "preact/hooks"],
    ["../model/Query.ts", "../api/Api.ts", "../Store.ts", "../http/serve.ts", "effect/Effect", "node:fs"]
  ]
]

const restricted = "no-restricted-imports"

describe("the linter", () => {
  it("has the table of scripts/boundaries.mjs", () => {
    const now = readFileSync(join(root, ".oxlintrc.json"), "utf8")
    assert.strictEqual(configuration(), now, "run node scripts/boundaries.mjs")
  })

  it("refuses what no file of its place may import, and nothing else", () => {
    const files = boundaries.map(([file, may, mayNot]) => [file, importing([...may, ...mayNot])] as const)
    const refused = lint(join(folder, "imports"), Object.fromEntries(files))
    for (const [file, may, mayNot] of boundaries) {
      const expected = mayNot.map((_, i) => may.length + i + 1)
      assert.deepStrictEqual(refused(file, restricted), expected, file)
    }
  })

  it("knows every way of importing", () => {
    const ways = ['import type { A } from "../App.ts"', 'export { b } from "../App.ts"', 'void import("../App.ts")']
    const refused = lint(join(folder, "ways"), { "src/Store/Sqlite.ts": ways.join("\n") })
    assert.deepStrictEqual(refused("src/Store/Sqlite.ts", restricted), [1, 2, 3])
  })

  it("lets the console import types of the contract, and of nothing else", () => {
    const files = [
      'import type { A } from "../api/Api.ts"',
      'import type { B } from "../model/Query.ts"',
      'import type { C } from "../Store.ts"',
      'import { d } from "../model/Query.ts"'
    ]
    const refused = lint(join(folder, "types"), { "src/console/Sample.tsx": files.join("\n") })
    assert.deepStrictEqual(refused("src/console/Sample.tsx", restricted), [3, 4])
  })

  it("has a rule for every place in src", () => {
    const files: Record<string, string> = {}
    for (const entry of readdirSync(join(root, "src"), { withFileTypes: true })) {
      if (entry.isDirectory() && entry.name !== "assets") {
        files[`src/${entry.name}/Sample.ts`] = importing(["../bin.ts"])
        files[`src/${entry.name}/deep/Sample.ts`] = importing(["../../bin.ts"])
      } else if (entry.name.endsWith(".ts") && entry.name !== "bin.ts") {
        files[`src/${entry.name}`] = importing(["./bin.ts"])
      }
    }
    const refused = lint(join(folder, "places"), files)
    const open = Object.keys(files).filter((file) => refused(file, restricted).length === 0)
    assert.deepStrictEqual(open, [], "places without a rule in .oxlintrc.json")
  })

  it("refuses cycles, running effects, the environment and the console inside the house", () => {
    const refused = lint(join(folder, "rules"), {
      "src/terms/a.ts": 'import { b } from "./b.ts"\nexport const a = () => b\n',
      "src/terms/b.ts": 'import { a } from "./a.ts"\nexport const b = () => a\n',
      "src/terms/c.ts": 'import type { D } from "./d.ts"\nexport interface C { readonly d: D }\n',
      "src/terms/d.ts": 'import type { C } from "./c.ts"\nexport interface D { readonly c: C }\n',
      "src/Search.ts": [
        'import * as Effect from "effect/Effect"',
        "export const now = Effect.runSync(Effect.void)",
        "export const later = () => Effect.runPromise(Effect.void)",
        "export const home = process.env.HOME",
        "console.log(now)"
      ].join("\n"),
      "src/bin.ts": [
        'import * as NodeRuntime from "@effect/platform-node/NodeRuntime"',
        "NodeRuntime.runMain(process.env.HOME)"
      ].join("\n")
    })
    assert.deepStrictEqual(refused("src/terms/a.ts", "no-cycle"), [1])
    assert.deepStrictEqual(refused("src/terms/c.ts", "no-cycle"), [1])
    assert.deepStrictEqual(refused("src/Search.ts", "no-restricted-properties"), [2, 3])
    assert.deepStrictEqual(refused("src/Search.ts", "no-process-env"), [4])
    assert.deepStrictEqual(refused("src/Search.ts", "no-console"), [5])
    assert.deepStrictEqual(refused("src/bin.ts", "no-restricted-properties"), [])
    assert.deepStrictEqual(refused("src/bin.ts", "no-process-env"), [])
  })
})

describe("the sources", () => {
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => ({ name, text: readFileSync(join(root, "src", name), "utf8") }))

  it("import deeply: a barrel loads its whole package", () => {
    const barrel = /(?:from|import\() ?"(?:effect|@effect\/[a-z-]+)"/
    assert.deepStrictEqual(
      sources.filter(({ text }) => barrel.test(text)).map(({ name }) => name),
      []
    )
  })

  it("have barrels only where the package or a list needs one", () => {
    const allowed = new Set(["index.ts", "client.ts", "cli/index.ts", "Store.ts"])
    const reexporting = /^export (?:type )?(?:\*|\{[^}]*\}) .*from|^export \* as/m
    const barrels = sources.filter(({ name, text }) => /(^|\/)index\.ts$/.test(name) || reexporting.test(text))
    assert.deepStrictEqual(
      barrels.map(({ name }) => name).filter((name) => !allowed.has(name)),
      []
    )
  })

  /** What a module keeps, and why no Layer does: a thread has it once, however many services are built in it. */
  const kept: Readonly<Record<string, string>> = {
    "Store/crc.ts scratch": "bytes of numbers, written before each use",
    "Store/sql/segments.ts made": "the segments of a connection, which goes with it",
    "Store/sql/unchanged.ts states": "what a connection knows of its database, which goes with it",
    "Store/sqlite/file/place.ts openFiles": "descriptors: closing one gives up the locks of the process",
    "bin.ts signal": "the process's program: what ends it",
    "citations/verdict/words.ts operators": "filled once, below",
    "citations/verdict/words.ts units": "filled once, below",
    "entities/names.ts known": "cache of a pure function",
    "http/connection.ts awaited": "the answers that a socket waits for, which go with it",
    "onnx/worker.ts isLoaded": "a thread's own program: its model",
    "onnx/worker.ts loading": "a thread's own program: its model",
    "postings/Arena.ts current": "a kernel's memory, of which a thread reserves a gibibyte",
    "postings/build.ts segmenter": "a kernel's memory, written before each use",
    "postings/mergeStep.ts known": "the merges of a connection, which go with it",
    "ranking/folding.ts sketches": "cache of a pure function",
    "ranking/resemblance.ts room": "memory, written before each use",
    "runtime/Unhandled.ts underWay": "the process's requests: an error that nothing handles is the process's",
    "runtime/tracing.ts wanted": "the names of a tracer, which go with it",
    "terms/classes.ts classes": "cache of a pure function",
    "terms/languages.ts stemmers": "code that was loaded on demand",
    "terms/scan.ts seen": "cache of a pure function"
  }

  it("keep nothing in modules but what is listed here", () => {
    const state =
      /^(?:let (\w+)|const ((?!no[A-Z]|none)\w+)(?:: (?!Readonly)[^=\n]+)? = new (?:(?:Weak)?(?:Map|Set)(?:<.*>)?\(\)|\w+Array\((?!0\))[\w*+ ]+\)))/gm
    const found = sources
      .filter(({ name }) => !name.endsWith(".as.ts"))
      .flatMap(({ name, text }) => Array.from(text.matchAll(state), ([, a, b]) => `${name} ${a ?? b}`))
    assert.deepStrictEqual(found.sort(), Object.keys(kept))
  })

  it("have each command that lasts in the launcher's list, since V8 optimises later in others", () => {
    const defined = sources
      .filter(({ name }) => name.startsWith("cli/"))
      .flatMap(({ text }) => text.split("define(").slice(1))
      .filter((command) => /^ {4}untilStopped: (?:true|")/m.test(command))
      .map((command) => /^ {4}name: "([a-z]+)"/m.exec(command)?.[1])
    const [, listed = ""] = /const lasting = new Set\(\[(.*)\]\)/.exec(
      readFileSync(join(root, "scripts/launcher.mjs"), "utf8")
    )!
    assert.sameMembers(defined, ["console", "mcp", "serve", "watch"])
    for (const name of defined) assert.include(listed, `"${name}"`)
  })
})
