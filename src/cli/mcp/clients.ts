import * as path from "node:path"
import { type Format, isTable, type Table } from "./Format.ts"
import { formats } from "./formats.ts"

/** The machine, as far as the paths of clients' files depend on it. */
export interface Machine {
  readonly platform: NodeJS.Platform
  readonly home: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** How the server is started. */
export interface Start {
  /** The name of the server. */
  readonly name: string
  readonly command: string
  readonly args: ReadonlyArray<string>
}

/** Where an entry applies: for the user everywhere, or for everyone in this folder. */
export const scopes = ["user", "project"] as const
export type Scope = (typeof scopes)[number]

/** An MCP client: its configuration file, and the form of an entry. */
export interface Client {
  readonly title: string
  /** The file of each scope that it has, the default first. */
  readonly files: Partial<Readonly<Record<Scope, (machine: Machine) => string>>>
  readonly format: Format
  /** The key that holds the servers. */
  readonly section: string
  readonly entry: (start: Start) => Readonly<Record<string, unknown>>
  /** Where else its configuration can switch a server off, and how. */
  readonly offElsewhere?: (root: Table, name: string) => string | undefined
  /** What to do so that the client notices. */
  readonly next: string
}

const plain = ({ args, command }: Start) => ({ command, args })
const typed = (type: string) => (start: Start) => ({ type, ...plain(start) })

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
    files: { project: inProject(".mcp.json"), user: inHome(".claude.json") },
    format: formats.json,
    section: "mcpServers",
    entry: typed("stdio"),
    next: "Restart claude; it asks once whether to trust a server of this folder."
  },
  cursor: {
    title: "Cursor",
    files: { user: inHome(".cursor", "mcp.json"), project: inProject(".cursor", "mcp.json") },
    format: formats.json,
    section: "mcpServers",
    entry: plain,
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
    entry: typed("stdio"),
    next: "Run `MCP: List Servers` to start it."
  },
  windsurf: {
    title: "Windsurf",
    files: { user: inHome(".codeium", "windsurf", "mcp_config.json") },
    format: formats.json,
    section: "mcpServers",
    entry: plain,
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
    next: "Restart codex; /mcp lists the server."
  },
  gemini: {
    title: "Gemini CLI",
    files: { user: inHome(".gemini", "settings.json"), project: inProject(".gemini", "settings.json") },
    format: formats.jsonc,
    section: "mcpServers",
    entry: plain,
    offElsewhere: ({ mcp }, name) =>
      isTable(mcp) && Array.isArray(mcp["excluded"]) && mcp["excluded"].includes(name) ? "mcp.excluded" : undefined,
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
    next: "Restart goose."
  },
  "lm-studio": {
    title: "LM Studio",
    files: { user: inHome(".lmstudio", "mcp.json") },
    format: formats.json,
    section: "mcpServers",
    entry: plain,
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
    next: "Kiro notices by itself."
  }
} as const satisfies Record<string, Client>

export type ClientName = keyof typeof clients
export const clientNames = Object.keys(clients) as ReadonlyArray<ClientName>

/** The scopes that a client has, the default first. */
export const scopesOf = (client: Client): ReadonlyArray<Scope> => Object.keys(client.files) as ReadonlyArray<Scope>
