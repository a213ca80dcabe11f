import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { parse as parseToml } from "smol-toml"
import { parse as parseYaml } from "yaml"
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { execFileSync } from "node:child_process"
import { dirname, join } from "node:path"
import { dropEntry, formats, parseJsonc as parse, setEntry } from "../../src/cli/mcp/formats.ts"
import { program, run } from "../cli/program/sandbox.ts"
import { cleanEnv, type Json, temporaryFolder } from "./client.ts"

type Given = ReadonlyArray<string | Readonly<Record<string, string>>>

/** Runs it in a home; an object among the arguments is environment. */
const install = (home: string, ...given: Given) =>
  run({
    argv: ["mcp", "install", ...given.filter((part) => typeof part === "string")],
    cwd: home,
    env: cleanEnv(home, Object.assign({}, ...given.filter((part) => typeof part !== "string")))
  })

const put = (file: string, text: string) => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

const backups = (file: string) => readdirSync(dirname(file)).filter((name) => name.endsWith(".bak"))

describe("clew mcp install", () => {
  it("sets a server up that follows files, by their full paths", async () => {
    const home = temporaryFolder()
    const printed = await install(home, "--client", "cursor", "--db", "x.db", "--watch", "notes", "--print")
    assert.include(printed.stdout, `"${join(home, "notes")}"`)
    assert.notInclude(printed.stderr, "no index")
    const refused = await install(home, "--client", "cursor", "--watch", "notes", "--read-only")
    assert.strictEqual(refused.code, 2)
    assert.include(refused.stderr, "--watch")
  })

  it("writes each client's own file in its own form, and the entry starts a server", async () => {
    const home = temporaryFolder()
    const db = join(home, "my index.db")
    const args = [program, "mcp", "--db", db]
    const start = { command: process.execPath, args }
    const shared = { command: "clew", args: ["mcp", "--db", "${CLAUDE_PROJECT_DIR:-.}/my index.db"] }
    const cases: ReadonlyArray<readonly [string, string, (text: string) => Json, Json]> = [
      ["claude-code", ".mcp.json", JSON.parse, { mcpServers: { clew: { type: "stdio", ...shared } } }],
      ["cursor", ".cursor/mcp.json", JSON.parse, { mcpServers: { clew: start } }],
      ["windsurf", ".codeium/windsurf/mcp_config.json", JSON.parse, { mcpServers: { clew: start } }],
      ["codex", ".codex/config.toml", parseToml, { mcp_servers: { clew: start } }],
      ["gemini", ".gemini/settings.json", JSON.parse, { mcpServers: { clew: start } }],
      [
        "copilot",
        ".copilot/mcp-config.json",
        JSON.parse,
        { mcpServers: { clew: { type: "local", ...start, tools: ["*"] } } }
      ],
      ["lm-studio", ".lmstudio/mcp.json", JSON.parse, { mcpServers: { clew: start } }],
      [
        "opencode",
        ".config/opencode/opencode.json",
        JSON.parse,
        { mcp: { clew: { type: "local", command: [process.execPath, ...args], enabled: true } } }
      ],
      [
        "goose",
        ".config/goose/config.yaml",
        parseYaml,
        {
          extensions: {
            clew: { name: "clew", type: "stdio", cmd: process.execPath, args, enabled: true, timeout: 300, envs: {} }
          }
        }
      ]
    ]
    for (const [client, path, read, wanted] of cases) {
      const file = join(home, path)
      const done = await install(home, "--client", client, "--db", db)
      assert.strictEqual(done.code, 0, done.stderr)
      assert.deepStrictEqual(JSON.parse(JSON.stringify(read(readFileSync(file, "utf8")))), wanted, client)
      assert.deepStrictEqual(backups(file), [])
    }
    assert.isFalse(existsSync(db))
  })

  it("writes a server at a URL in each client's own form, in place of one that the client started", async () => {
    const home = temporaryFolder()
    const url = "http://127.0.0.1:8484/mcp"
    const cases: ReadonlyArray<readonly [string, string, (text: string) => Json, string, Json]> = [
      ["claude-code", ".mcp.json", JSON.parse, "mcpServers", { type: "http", url }],
      ["cursor", ".cursor/mcp.json", JSON.parse, "mcpServers", { url }],
      ["windsurf", ".codeium/windsurf/mcp_config.json", JSON.parse, "mcpServers", { serverUrl: url }],
      ["codex", ".codex/config.toml", parseToml, "mcp_servers", { url }],
      ["gemini", ".gemini/settings.json", JSON.parse, "mcpServers", { httpUrl: url }],
      ["copilot", ".copilot/mcp-config.json", JSON.parse, "mcpServers", { type: "http", url, tools: ["*"] }],
      ["opencode", ".config/opencode/opencode.json", JSON.parse, "mcp", { type: "remote", url, enabled: true }],
      [
        "goose",
        ".config/goose/config.yaml",
        parseYaml,
        "extensions",
        { name: "clew", type: "streamable_http", uri: url, enabled: true, timeout: 300 }
      ]
    ]
    for (const [client, path, read, section, wanted] of cases) {
      if (client === "cursor" || client === "codex") await install(home, "--client", client, "--db", "x.db")
      const done = await install(home, "--client", client, "--http", "http://127.0.0.1:8484")
      assert.strictEqual(done.code, 0, done.stderr)
      const written = read(readFileSync(join(home, path), "utf8"))
      assert.deepStrictEqual(JSON.parse(JSON.stringify(written[section].clew)), wanted, client)
    }
    for (const [client, ...given] of [
      ["claude-desktop", "--http", url],
      ["cursor", "--http", "localhost:8484"],
      ["cursor", "--http", "file:///etc"],
      ["cursor", "--http", url, "--db", "x.db"],
      ["cursor", "--http", url, "--read-only"],
      ["cursor", "--http", url, "--uninstall"]
    ]) {
      const refused = await install(home, "--client", client!, ...given)
      assert.strictEqual(refused.code, 2, given.join(" "))
      assert.include(refused.stderr, "--http")
    }
    const open = await install(home, "--client", "cursor", "--http", "http://team.example:8484/mcp", "--print")
    assert.include(open.stderr, "unencrypted")
  })

  it("with --print writes nothing, and says it is done where it is", async () => {
    const home = temporaryFolder()
    const printed = await install(home, "--client", "codex", "--db", "x.db", "--print")
    const { mcp_servers } = parseToml(printed.stdout) as Json
    assert.deepStrictEqual(mcp_servers.clew.args.slice(1), ["mcp", "--db", join(home, "x.db")])
    assert.include(printed.stderr, join(home, ".codex", "config.toml"))
    assert.deepStrictEqual(readdirSync(home), [])
    await install(home, "--client", "cursor", "--db", "x.db")
    assert.include((await install(home, "--client", "cursor", "--db", "x.db")).stdout, "already set up")
    assert.deepStrictEqual(backups(join(home, ".cursor", "mcp.json")), [])
  })

  it("takes the named configuration along, and says what it leaves behind", async () => {
    const home = temporaryFolder()
    const named = put(join(home, "mine.toml"), "[search]\ntop_k = 3\n")
    const run = (env: Readonly<Record<string, string>>) =>
      install(home, env, "--client", "codex", "--db", "x.db", "--print")
    const carried = await run({ CLEW_CONFIG: named, CLEW_SEARCH_ALPHA: "0.3" })
    assert.deepStrictEqual((parseToml(carried.stdout) as Json).mcp_servers.clew.args.slice(-2), ["--config", named])
    assert.include(carried.stderr, "CLEW_SEARCH_ALPHA is set here")
    const found = put(join(home, "clew.toml"), "[search]\ntop_k = 3\n")
    const left = await run({})
    assert.notInclude(left.stdout, "--config")
    assert.include(left.stderr, `--config ${found}`)
  })

  it("keeps everything else in the file, comments and order too, and a copy of it", async () => {
    const home = temporaryFolder()
    const before = `// My settings\n{\n\t"theme": "One", // dark\n\t"context_servers": {\n\t\t// mine\n\t\t"other": { "command": "x", "args": [] }, // keep\n\t},\n\t"z": [1, 2,],\n}\n`
    const file = put(join(home, ".config", "zed", "settings.json"), before)
    chmodSync(file, 0o640)
    const { code, stderr } = await install(
      home,
      "--client",
      "zed",
      "--db",
      "x.db",
      "--filter",
      "search",
      "--read-only",
      "--name",
      "my-docs"
    )
    assert.strictEqual(code, 0, stderr)
    const after = readFileSync(file, "utf8")
    for (const kept of ["// My settings", "// dark", "// mine", "// keep", '"z": [1, 2,]']) assert.include(after, kept)
    const value = parse(after) as Json
    assert.deepStrictEqual(Object.keys(value), ["theme", "context_servers", "z"])
    assert.deepStrictEqual(Object.keys(value.context_servers), ["other", "my-docs"])
    assert.deepStrictEqual(value.context_servers["my-docs"].args.slice(-5), [
      "--filter",
      "search",
      "--read-only",
      "--name",
      "my-docs"
    ])
    assert.strictEqual(statSync(file).mode & 0o777, 0o640)
    const [backup = ""] = backups(file)
    assert.strictEqual(readFileSync(join(dirname(file), backup), "utf8"), before)
  })

  it("adds to what the entry already says, and follows a link", async () => {
    const home = temporaryFolder()
    const real = put(
      join(home, "dotfiles", "mcp.json"),
      '{"mcpServers":{"clew":{"command":"old","env":{"A":"b"}},"other":{"command":"x"}}}'
    )
    const link = join(home, ".cursor", "mcp.json")
    mkdirSync(dirname(link))
    symlinkSync(real, link)
    assert.strictEqual((await install(home, "--client", "cursor", "--db", "x.db")).code, 0)
    assert.isTrue(lstatSync(link).isSymbolicLink())
    const { mcpServers } = JSON.parse(readFileSync(real, "utf8"))
    assert.deepStrictEqual(mcpServers.clew.env, { A: "b" })
    assert.strictEqual(mcpServers.clew.command, process.execPath)
    assert.deepStrictEqual(mcpServers.other, { command: "x" })
  })

  it("keeps the environment that an entry gives the server, and how long it may take", async () => {
    const home = temporaryFolder()
    const zed = put(join(home, ".config/zed/settings.json"), '{"context_servers": {"clew": {"env": {"CLEW_X": "1"}}}}')
    const goose = put(
      join(home, ".config/goose/config.yaml"),
      "extensions:\n  clew: { envs: { A: b }, timeout: 999 }\n"
    )
    for (const client of ["zed", "goose"]) await install(home, "--client", client, "--db", "x.db")
    assert.deepInclude(parse(readFileSync(zed, "utf8")), {
      context_servers: {
        clew: {
          env: { CLEW_X: "1" },
          source: "custom",
          command: process.execPath,
          args: [program, "mcp", "--db", join(home, "x.db")]
        }
      }
    })
    assert.deepInclude(parseYaml(readFileSync(goose, "utf8")).extensions.clew, {
      envs: { A: "b" },
      timeout: 999,
      type: "stdio"
    })
  })

  it("keeps a TOML file's comments and tables, and replaces its own", async () => {
    const home = temporaryFolder()
    const file = put(
      join(home, ".codex", "config.toml"),
      '# mine\nmodel = "x"\n\n[mcp_servers.clew]\ncommand = "old"\nstartup_timeout_sec = 9\n\n[mcp_servers.other]\ncommand = "y" # keep\n'
    )
    assert.strictEqual((await install(home, "--client", "codex", "--db", "x.db")).code, 0)
    const after = readFileSync(file, "utf8")
    assert.include(after, "# mine")
    assert.include(after, "# keep")
    const { mcp_servers } = parseToml(after) as Json
    assert.strictEqual(mcp_servers.clew.startup_timeout_sec, 9)
    assert.strictEqual(mcp_servers.clew.command, process.execPath)
    assert.strictEqual(mcp_servers.other.command, "y")
  })

  it("leaves a broken file untouched, says where it is broken, and what to add", async () => {
    const home = temporaryFolder()
    for (const [client, path, text] of [
      ["cursor", ".cursor/mcp.json", '{"mcpServers": {,}}'],
      ["cursor", ".cursor/mcp.json", '{"mcpServers": []}'],
      ["cursor", ".cursor/mcp.json", "[]"],
      ["zed", ".config/zed/settings.json", '{ "a": 1 /* open'],
      ["codex", ".codex/config.toml", "[mcp_servers\n"],
      ["codex", ".codex/config.toml", "mcp_servers = { other = { command = 'x' } }\n"],
      ["goose", ".config/goose/config.yaml", "extensions: [\n"]
    ] as const) {
      const file = put(join(home, path), text)
      const { code, stderr } = await install(home, "--client", client, "--db", "x.db")
      assert.strictEqual(code, 1, `${text}: ${stderr}`)
      assert.include(stderr, `${file} was left untouched`)
      assert.include(stderr, "clew")
      assert.strictEqual(readFileSync(file, "utf8"), text)
      assert.deepStrictEqual(backups(file), [])
    }
  })

  it("leaves alone what it could not write back: bytes that are not UTF-8, a link in a circle, what is not a file", async () => {
    const home = temporaryFolder()
    const latin = Buffer.from('{ "name": "caf\u00e9" }\n', "latin1")
    const settings = put(join(home, ".cursor/mcp.json"), "")
    const refused = async (why: string) => {
      const { code, stderr } = await install(home, "--client", "cursor")
      assert.strictEqual(code, 1, stderr)
      assert.include(stderr, `${settings} cannot be read: ${why}`)
    }
    writeFileSync(settings, latin)
    await refused("The encoded data was not valid for encoding utf-8")
    assert.deepStrictEqual(readFileSync(settings), latin)
    rmSync(settings)
    symlinkSync(settings, settings)
    await refused("ELOOP")
    rmSync(settings)
    execFileSync("mkfifo", [settings])
    await refused("it is not a file")
    assert.deepStrictEqual(readdirSync(dirname(settings)), ["mcp.json"])
  })

  it("keeps what is written in an entry that it changes, comments too", async () => {
    const home = temporaryFolder()
    const file = put(
      join(home, ".config", "zed", "settings.json"),
      '{\n  "context_servers": {\n    "clew": {\n      // slow disk\n      "command": "old", // was here\n      "timeout": 9\n    }\n  }\n}\n'
    )
    assert.strictEqual((await install(home, "--client", "zed", "--db", "x.db")).code, 0)
    const after = readFileSync(file, "utf8")
    for (const kept of ["// slow disk", "// was here", '"timeout": 9']) assert.include(after, kept)
    const { clew } = (parse(after) as Json).context_servers
    assert.deepStrictEqual([clew.command, clew.source, clew.timeout], [process.execPath, "custom", 9])
  })

  it("takes the entry out again and leaves the rest as it was, in every form", async () => {
    const home = temporaryFolder()
    const cases = [
      ["cursor", ".cursor/mcp.json", '{\n  "mcpServers": {\n    "other": { "command": "x" }\n  }\n}\n'],
      [
        "zed",
        ".config/zed/settings.json",
        '// mine\n{\n  "context_servers": {\n    // other\n    "other": {}, // keep\n  },\n}\n'
      ],
      ["codex", ".codex/config.toml", '# mine\n[mcp_servers.other]\ncommand = "y" # keep\n'],
      ["goose", ".config/goose/config.yaml", "# mine\nextensions:\n  other:\n    enabled: true # keep\n"]
    ] as const
    for (const [client, path, text] of cases) {
      const file = put(join(home, path), text)
      assert.strictEqual((await install(home, "--client", client, "--db", "x.db")).code, 0)
      assert.notStrictEqual(readFileSync(file, "utf8"), text)
      const shown = await install(home, "--client", client, "--uninstall", "--print")
      assert.include(shown.stdout, program)
      const { code, stdout } = await install(home, "--client", client, "--uninstall", "--json")
      assert.strictEqual(code, 0)
      assert.deepInclude(JSON.parse(stdout), { client, file, scope: "user", written: true, removed: true })
      assert.strictEqual(readFileSync(file, "utf8"), text, client)
      const again = await install(home, "--client", client, "--uninstall")
      assert.deepStrictEqual([again.code, again.stdout.includes("nothing to remove")], [0, true])
    }
  })

  it("takes out a TOML entry with the tables inside it", async () => {
    const home = temporaryFolder()
    const file = put(
      join(home, ".codex", "config.toml"),
      'model = "x"\n\n[mcp_servers.clew]\ncommand = "old"\n\n[mcp_servers.clew.env]\nA = "b"\n\n[mcp_servers.clews]\ncommand = "y"\n'
    )
    assert.strictEqual((await install(home, "--client", "codex", "--uninstall")).code, 0)
    assert.strictEqual(readFileSync(file, "utf8"), 'model = "x"\n\n[mcp_servers.clews]\ncommand = "y"\n')
  })

  it("writes for you or for the folder, as the client has it", async () => {
    const home = temporaryFolder()
    const where = async (client: string, scope: string) => {
      const { code, stderr, stdout } = await install(home, "--client", client, "--scope", scope, "--print", "--json")
      return code === 0 ? JSON.parse(stdout).file : stderr
    }
    assert.strictEqual(await where("claude-code", "user"), join(home, ".claude.json"))
    assert.strictEqual(await where("claude-code", "project"), join(home, ".mcp.json"))
    assert.strictEqual(await where("vscode", "project"), join(home, ".vscode", "mcp.json"))
    assert.strictEqual(await where("codex", "project"), join(home, ".codex", "config.toml"))
    assert.include(await where("windsurf", "project"), "--scope may be user")
  })

  it("says where an entry is switched off, and leaves it so", async () => {
    const home = temporaryFolder()
    const cases = [
      ["windsurf", ".codeium/windsurf/mcp_config.json", '{"mcpServers":{"clew":{"command":"x","disabled":true}}}'],
      [
        "opencode",
        ".config/opencode/opencode.json",
        '{"mcp":{"clew":{"type":"local","command":["x"],"enabled":false}}}'
      ],
      ["gemini", ".gemini/settings.json", '{"mcp":{"excluded":["clew"]}}']
    ] as const
    for (const [client, path, text] of cases) {
      const file = put(join(home, path), text)
      const { code, stderr } = await install(home, "--client", client, "--db", "x.db")
      assert.strictEqual(code, 0, stderr)
      assert.include(stderr, "clew is switched off there")
      const after = readFileSync(file, "utf8")
      assert.isTrue(/"disabled": ?true|"enabled": ?false|"excluded"/.test(after), after)
      const again = await install(home, "--client", client, "--db", "x.db", "--json")
      assert.deepInclude(JSON.parse(again.stdout), { written: false, disabled: true })
    }
  })

  it("writes nothing unless it is told for whom", async () => {
    const home = temporaryFolder()
    for (const args of [
      [],
      ["--client", "notepad"],
      ["--client", "cursor", "--filter", "serch"],
      ["--client", "cursor", "--name", "a b"],
      ["--client", "windsurf", "--scope", "project"],
      ["--client", "cursor", "--uninstall", "--read-only"]
    ]) {
      const { code, stderr } = await install(home, ...args)
      assert.strictEqual(code, 2, stderr)
    }
    assert.deepStrictEqual(readdirSync(home), [])
  })

  it("keeps a copy of every state of the file, and writes through a link to a file that does not exist yet", async () => {
    const home = temporaryFolder()
    const file = join(home, ".cursor", "mcp.json")
    mkdirSync(join(home, "dotfiles"))
    mkdirSync(dirname(file))
    symlinkSync(join("..", "dotfiles", "mcp.json"), file)
    for (const [at, name] of ["one", "two", "three", "four"].entries()) {
      const { code, stderr } = await install(home, "--client", "cursor", "--name", name)
      assert.strictEqual(code, 0, stderr)
      assert.isTrue(lstatSync(file).isSymbolicLink())
      assert.lengthOf(backups(join(home, "dotfiles", "mcp.json")), at)
    }
    assert.hasAllKeys(JSON.parse(readFileSync(file, "utf8")).mcpServers, ["one", "two", "three", "four"])
  })

  it("follows no link out of the folder that others share, into which anyone may have put it", async () => {
    const home = temporaryFolder()
    const project = join(home, "project")
    const own = put(join(home, ".claude.json"), "{}")
    mkdirSync(join(home, "elsewhere"))
    mkdirSync(project)
    symlinkSync(own, join(project, ".mcp.json"))
    symlinkSync(join("..", "elsewhere"), join(project, ".cursor"))
    symlinkSync(join("..", "new"), join(project, ".vscode"))
    for (const client of ["claude-code", "cursor", "vscode"]) {
      for (const more of client === "vscode" ? [[]] : [[], ["--uninstall"]]) {
        const argv = ["mcp", "install", "--client", client, "--scope", "project", ...more]
        const { code, stderr } = await run({ argv, cwd: project, env: cleanEnv(home) })
        assert.strictEqual(code, 1, stderr)
        if (client !== "vscode") assert.include(stderr, "a link leads it out of this folder")
      }
    }
    assert.deepStrictEqual(readdirSync(home).sort(), [".claude.json", "elsewhere", "project"])
    assert.deepStrictEqual(readdirSync(join(home, "elsewhere")), [])
    assert.strictEqual(readFileSync(own, "utf8"), "{}")
    mkdirSync(join(project, "shared"))
    symlinkSync("shared", join(project, ".zed"))
    const argv = ["mcp", "install", "--client", "zed", "--scope", "project"]
    assert.strictEqual((await run({ argv, cwd: project, env: cleanEnv(home) })).code, 0)
    assert.deepStrictEqual(readdirSync(join(project, "shared")), ["settings.json"])
  })

  it("writes no path of this machine for those who share the folder", async () => {
    const home = temporaryFolder()
    const project = join(home, "project")
    const place = {
      ".zed/settings.json": ".",
      ".vscode/mcp.json": "${workspaceFolder}",
      ".mcp.json": "${CLAUDE_PROJECT_DIR:-.}"
    }
    const clients = [
      ["zed", ".zed/settings.json"],
      ["vscode", ".vscode/mcp.json"],
      ["claude-code", ".mcp.json"]
    ] as const
    const run = (client: string, ...given: Given) =>
      install(project, { HOME: home }, "--client", client, "--scope", "project", ...given)
    mkdirSync(join(project, "notes"), { recursive: true })
    for (const [client, file] of clients) {
      const given = ["--db", "data/x.db", "--config", "clew.toml", "--watch", "notes"]
      put(join(project, "clew.toml"), "[search]\ntop_k = 3\n")
      const { code, stderr } = await run(client, ...given)
      assert.strictEqual(code, 0, stderr)
      assert.include(stderr, "clew from the PATH")
      assert.strictEqual(stderr.includes("Paths in the entry are relative"), client === "zed")
      const text = readFileSync(join(project, file), "utf8")
      assert.notInclude(text, home)
      const { mcpServers, context_servers, servers } = parse(text) as Json
      const { args, command } = (mcpServers ?? context_servers ?? servers).clew
      assert.strictEqual(command, "clew")
      const there = place[file]
      const paths = ["--db", `${there}/data/x.db`, "--config", `${there}/clew.toml`, "--watch", `${there}/notes`]
      assert.deepStrictEqual(args, ["mcp", ...paths])
    }
    const outside = await run("cursor", "--db", join(home, "x.db"))
    assert.strictEqual(outside.code, 2)
    assert.include(outside.stderr, `--db ${join(home, "x.db")} is outside this folder`)
    assert.isFalse(existsSync(join(project, ".cursor")))
    assert.deepStrictEqual(JSON.parse((await run("cursor", "--print")).stdout).mcpServers.clew.args, ["mcp"])
  })

  it("writes for you in this folder, beside what Claude Code keeps for others", async () => {
    const home = temporaryFolder()
    const before = '{\n  "projects": {\n    "/other": {\n      "mcpServers": {}\n    }\n  }\n}\n'
    const file = put(join(home, ".claude.json"), before)
    const run = (...given: Given) => install(home, "--client", "claude-code", "--scope", "local", ...given)
    assert.strictEqual((await run("--db", "x.db")).code, 0)
    const { mcpServers, projects } = JSON.parse(readFileSync(file, "utf8"))
    assert.isUndefined(mcpServers)
    assert.deepStrictEqual(projects["/other"], { mcpServers: {} })
    assert.deepStrictEqual(projects[home].mcpServers.clew.args.slice(1), ["mcp", "--db", join(home, "x.db")])
    assert.include((await run("--db", "x.db")).stdout, "already set up")
    assert.strictEqual((await run("--uninstall")).code, 0)
    assert.deepStrictEqual(JSON.parse(readFileSync(file, "utf8")).projects[home], { mcpServers: {} })
  })

  it("says what the client needs for an index in PostgreSQL, and does not write its password", async () => {
    const home = temporaryFolder()
    const url = { CLEW_STORE_URL: "postgres://me:secret@localhost/notes" }
    const { stderr, stdout } = await install(home, url, "--client", "cursor", "--print", "--watch", "notes")
    assert.include(stderr, "set CLEW_STORE_URL in the client's environment")
    assert.notInclude(stdout, "secret")
    assert.notInclude(stdout, "--db")
  })

  it.effect("keeps every byte outside the entry: line ends, byte order mark, quotes, comments", () =>
    Effect.gen(function* () {
      const texts = [
        [
          "yaml",
          "# mine\nGOOSE_MODEL:   'x'   # wide\nlist: [a,   b]\nextensions:\n    other:\n        enabled: true # keep\nz:    \"1\"\n"
        ],
        ["yaml", "a: 'x'\nextensions:\n    # first\n    other: {enabled:   true}\n\n# end\n"],
        ["yaml", 'extensions: {"other": {"enabled": true}}\nz:   1\n'],
        ["yaml", "a:   1\n"],
        ["toml", '# mine\n[mcp_servers.other]\ncommand = "y" # keep\n\n\n# end\n'],
        ["json", '{\n  "mcpServers": {\n    "other": { "command": "x" }\n  }\n}\n']
      ] as const
      const sections = { json: ["mcpServers"], toml: ["mcp_servers"], yaml: ["extensions"] }
      for (const [form, unix] of texts) {
        const [format, section] = [formats[form], sections[form]]
        for (const text of [unix, `\ufeff${unix}`, unix.replaceAll("\n", "\r\n")]) {
          const newline = text.includes("\r\n") ? "\r\n" : "\n"
          const first = yield* setEntry(format, text, section, "clew", { command: "a" })
          assert.strictEqual(/(?<!\r)\n/.test(first), newline === "\n", first)
          for (const line of text.split(/(?<=\n)/)) if (!/[{[]/.test(line)) assert.include(first, line)
          const second = yield* setEntry(format, first, section, "clew", { command: "b", args: ["x"] })
          const left = yield* dropEntry(format, second, section, "clew")
          assert.strictEqual(left, text)
        }
      }
    })
  )
})
