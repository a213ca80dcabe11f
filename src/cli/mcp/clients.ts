import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as fs from "node:fs"
import * as path from "node:path"
import { isObject } from "../../model/kinds.ts"
import { type Format, type Section, type Table, formats, read, sectionIn } from "./formats.ts"
import { type Check, ok, warn } from "../../model/Check.ts"

/** The machine, as far as the paths of clients' files depend on it. */
interface Machine {
  readonly platform: NodeJS.Platform
  readonly home: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** How the server is started. */
interface Start {
  /** The name of the server. */
  readonly name: string
  readonly command: string
  readonly args: ReadonlyArray<string>
}

/** A server that runs elsewhere, or by itself. */
interface Remote {
  readonly name: string
  readonly url: string
}

/** Where an entry applies: for the user everywhere, for everyone in this folder, or for the user in this folder. */
export const scopes = ["user", "project", "local"] as const
export type Scope = (typeof scopes)[number]

/** An MCP client: its configuration file, and the form of an entry. */
export interface Client {
  readonly title: string
  /** The file of each scope that it has, the default first. */
  readonly files: Partial<Readonly<Record<Scope, (machine: Machine) => string>>>
  readonly format: Format
  /** The key that holds the servers. */
  readonly section: string
  /** How its file of a project writes the project's folder; without it, paths are relative to where it starts servers. */
  readonly folder?: string
  readonly entry: (start: Start) => Readonly<Record<string, unknown>>
  /** The form of an entry for a server over HTTP, if it takes one. */
  readonly remote?: (server: Remote) => Readonly<Record<string, unknown>>
  /** Where else its configuration can switch a server off, and how. */
  readonly offElsewhere?: (root: Table, name: string) => string | undefined
  /** What to do so that the client notices. */
  readonly next: string
}

const plain = ({ args, command }: Start) => ({ command, args })
const typed = (type: string) => (start: Start) => ({ type, ...plain(start) })

const at = ({ url }: Remote) => ({ url })
const typedAt = (type: string) => (server: Remote) => ({ type, ...at(server) })

const inHome =
  (...parts: ReadonlyArray<string>) =>
  ({ home }: Machine) =>
    path.join(home, ...parts)

const inProject =
  (...parts: ReadonlyArray<string>) =>
  ({ cwd }: Machine) =>
    path.join(cwd, ...parts)

/** The platform's folder for programs' settings. */
const settings = ({ env, home, platform }: Machine): string =>
  platform === "darwin"
    ? path.join(home, "Library", "Application Support")
    : platform === "win32"
      ? (env["APPDATA"] ?? path.join(home, "AppData", "Roaming"))
      : xdg({ env, home })

const xdg = ({ env, home }: Pick<Machine, "env" | "home">): string =>
  env["XDG_CONFIG_HOME"] || path.join(home, ".config")

export const clients = {
  "claude-desktop": {
    title: "Claude Desktop",
    files: { user: (machine) => path.join(settings(machine), "Claude", "claude_desktop_config.json") },
    format: formats.json,
    section: "mcpServers",
    entry: plain,
    next: "Quit and restart Claude Desktop."
  },
  "claude-code": {
    title: "Claude Code",
    files: { project: inProject(".mcp.json"), user: inHome(".claude.json"), local: inHome(".claude.json") },
    format: formats.json,
    section: "mcpServers",
    folder: "${CLAUDE_PROJECT_DIR:-.}",
    entry: typed("stdio"),
    remote: typedAt("http"),
    next: "Restart claude; it asks once whether to trust a server of this folder."
  },
  cursor: {
    title: "Cursor",
    files: { user: inHome(".cursor", "mcp.json"), project: inProject(".cursor", "mcp.json") },
    format: formats.json,
    section: "mcpServers",
    folder: "${workspaceFolder}",
    entry: plain,
    remote: at,
    next: "Switch the server on under Settings, MCP."
  },
  vscode: {
    title: "VS Code",
    files: {
      user: (machine) => path.join(settings(machine), "Code", "User", "mcp.json"),
      project: inProject(".vscode", "mcp.json")
    },
    format: formats.jsonc,
    section: "servers",
    folder: "${workspaceFolder}",
    entry: typed("stdio"),
    remote: typedAt("http"),
    next: "Run `MCP: List Servers` to start it."
  },
  windsurf: {
    title: "Windsurf",
    files: { user: inHome(".codeium", "windsurf", "mcp_config.json") },
    format: formats.json,
    section: "mcpServers",
    entry: plain,
    remote: ({ url }) => ({ serverUrl: url }),
    next: "Press refresh in Cascade's MCP panel."
  },
  zed: {
    title: "Zed",
    files: {
      user: (machine) =>
        machine.platform === "win32"
          ? path.join(settings(machine), "Zed", "settings.json")
          : path.join(xdg(machine), "zed", "settings.json"),
      project: inProject(".zed", "settings.json")
    },
    format: formats.jsonc,
    section: "context_servers",
    entry: (start) => ({ source: "custom", ...plain(start), env: {} }),
    remote: at,
    next: "Zed notices by itself; the agent panel's settings show the server."
  },
  codex: {
    title: "Codex CLI",
    files: {
      user: ({ env, home }) => path.join(env["CODEX_HOME"] || path.join(home, ".codex"), "config.toml"),
      project: inProject(".codex", "config.toml")
    },
    format: formats.toml,
    section: "mcp_servers",
    entry: plain,
    remote: at,
    next: "Restart codex; /mcp lists the server."
  },
  gemini: {
    title: "Gemini CLI",
    files: { user: inHome(".gemini", "settings.json"), project: inProject(".gemini", "settings.json") },
    format: formats.jsonc,
    section: "mcpServers",
    entry: plain,
    remote: ({ url }) => ({ httpUrl: url }),
    offElsewhere: ({ mcp }, name) =>
      isObject(mcp) && Array.isArray(mcp["excluded"]) && mcp["excluded"].includes(name) ? "mcp.excluded" : undefined,
    next: "Restart gemini; /mcp lists the server."
  },
  copilot: {
    title: "GitHub Copilot CLI",
    files: {
      user: ({ env, home }) => path.join(env["COPILOT_HOME"] || path.join(home, ".copilot"), "mcp-config.json")
    },
    format: formats.json,
    section: "mcpServers",
    entry: (start) => ({ ...typed("local")(start), tools: ["*"] }),
    remote: (server) => ({ ...typedAt("http")(server), tools: ["*"] }),
    next: "Restart copilot; /mcp show lists the server."
  },
  opencode: {
    title: "opencode",
    files: {
      user: (machine) => path.join(xdg(machine), "opencode", "opencode.json"),
      project: inProject("opencode.json")
    },
    format: formats.jsonc,
    section: "mcp",
    entry: ({ args, command }) => ({ type: "local", command: [command, ...args], enabled: true }),
    remote: (server) => ({ ...typedAt("remote")(server), enabled: true }),
    next: "Restart opencode."
  },
  goose: {
    title: "goose",
    files: {
      user: (machine) =>
        machine.platform === "win32"
          ? path.join(settings(machine), "Block", "goose", "config", "config.yaml")
          : path.join(xdg(machine), "goose", "config.yaml")
    },
    format: formats.yaml,
    section: "extensions",
    entry: ({ args, command, name }) => ({
      name,
      type: "stdio",
      cmd: command,
      args,
      enabled: true,
      timeout: 300,
      envs: {}
    }),
    remote: ({ name, url }) => ({ name, type: "streamable_http", uri: url, enabled: true, timeout: 300 }),
    next: "Restart goose."
  },
  "lm-studio": {
    title: "LM Studio",
    files: { user: inHome(".lmstudio", "mcp.json") },
    format: formats.json,
    section: "mcpServers",
    entry: plain,
    remote: at,
    next: "LM Studio notices by itself; switch the server on in the chat's integrations."
  },
  kiro: {
    title: "Kiro",
    files: {
      user: inHome(".kiro", "settings", "mcp.json"),
      project: inProject(".kiro", "settings", "mcp.json")
    },
    format: formats.json,
    section: "mcpServers",
    entry: plain,
    remote: at,
    next: "Kiro notices by itself."
  }
} as const satisfies Record<string, Client>

export type ClientName = keyof typeof clients
export const clientNames = Object.keys(clients) as ReadonlyArray<ClientName>

/** The scopes that a client has, the default first. */
export const scopesOf = (client: Client): ReadonlyArray<Scope> => Object.keys(client.files) as ReadonlyArray<Scope>

/** The keys that lead to a scope's servers: those of one user in one folder are in the user's file, below the folder. */
export const sectionOf = ({ section }: Client, scope: Scope, cwd: string): Section =>
  scope === "local" ? ["projects", cwd, section] : [section]

const texts = (value: unknown): ReadonlyArray<string> =>
  (Array.isArray(value) ? value : [value]).filter((one): one is string => typeof one === "string")

/** The words of an entry's command line, in any client's notation. */
const wordsOf = (entry: unknown): ReadonlyArray<string> =>
  isObject(entry) ? [...texts(entry["command"] ?? entry["cmd"]), ...texts(entry["args"])] : []

const isScript = (word: string): boolean => path.isAbsolute(word) && /\.[cm]?[jt]s$/.test(word)

/** Whether it starts this program, by its name or as written by `mcp install`. */
const isOurs = (name: string, words: ReadonlyArray<string>): boolean =>
  words.includes("mcp") && (name === "clew" || words.some((word) => /^clew(\.cmd|\.exe)?$/.test(path.basename(word))))

/** Files in the command line that do not exist. */
const missing = (words: ReadonlyArray<string>): ReadonlyArray<string> => {
  const [command] = words
  const after = (flag: string) => {
    const at = words.indexOf(flag)
    return at === -1 ? [] : words.slice(at + 1, at + 2)
  }
  return [
    ...(command === undefined ? [] : [command]),
    ...words.filter(isScript),
    ...after("--db"),
    ...after("--config")
  ].filter((word) => path.isAbsolute(word) && !fs.existsSync(word))
}

/** Every section of every client's files, once, though the project may be the home. */
const places = (machine: Machine) =>
  clientNames.flatMap((name) => {
    const client: Client = clients[name]
    const all = scopesOf(client).map((scope) => ({
      name,
      client,
      file: client.files[scope]!(machine),
      section: sectionOf(client, scope, machine.cwd)
    }))
    return all.filter(
      ({ file, section }, index) =>
        all.findIndex((other) => other.file === file && other.section.length === section.length) === index
    )
  })

/** For every MCP client whose file names this program: whether the program and index that it starts exist. */
export const entries = (machine: Machine): Effect.Effect<ReadonlyArray<Check>> =>
  Effect.map(
    Effect.forEach(places(machine), ({ client, file, name, section }) =>
      Effect.gen(function* () {
        const text = yield* Effect.either(read(file))
        if (Either.isLeft(text) || text.right === undefined) return []
        const found = yield* Effect.either(client.format.read(text.right))
        if (Either.isLeft(found)) return []
        return Object.entries(sectionIn(found.right, section)).flatMap(([server, entry]): ReadonlyArray<Check> => {
          const words = wordsOf(entry)
          if (!isOurs(server, words)) return []
          const lost = missing(words)
          return [
            lost.length === 0
              ? ok("client", `${client.title} starts a program that exists (${file})`)
              : warn(
                  "client",
                  `${client.title} names files that do not exist: ${lost.join(", ")} (${server} in ${file})`,
                  `run \`clew mcp install --client ${name}\`, with the right --db`
                )
          ]
        })
      })
    ),
    (found) => found.flat()
  )
