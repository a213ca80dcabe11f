import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { indexName, isOnServer } from "../../Config.ts"
import { isLoopbackName, nameOf } from "../../http/loopback.ts"
import { selectTools } from "../../mcp/toolNames.ts"
import * as Cli from "../command.ts"
import { Engine, Place } from "../engine.ts"
import { Unwritable, usage } from "../exit.ts"
import { printJson, printResult } from "../output.ts"
import { Terminal } from "../terminal.ts"
import {
  type Client,
  type ClientName,
  type Scope,
  clientNames,
  clients,
  scopes,
  scopesOf,
  sectionOf
} from "./clients.ts"
import { type Table, dropEntry, entryIn, hasEntry, read, replace, setEntry, staysIn, unreadable } from "./formats.ts"
import { serverFlags } from "./joining.ts"

/** What `mcp install --json` prints. */
const InstallReport = Schema.Struct({
  client: Schema.String,
  scope: Schema.Literal(...scopes),
  file: Schema.String,
  written: Schema.Boolean.annotations({ description: "False with --print, and if there was nothing to change" }),
  removed: Schema.optional(Schema.Boolean.annotations({ description: "With --uninstall: whether there was an entry" })),
  disabled: Schema.optional(Schema.Boolean.annotations({ description: "The entry exists and is switched off" })),
  backup: Schema.optional(Schema.String.annotations({ description: "Copy of the old file" })),
  entry: Schema.String.annotations({ description: "The entry as it is, or was, in the file" })
}).annotations({ identifier: "InstallReport" })

/** What users set in an entry, and keep: whether it is on, its environment, how long it may take. */
const users = new Set(["enabled", "env", "envs", "timeout"])

/** The setting of a client's configuration that switches an entry off, if any. */
const switchedOff = (client: Client, root: Table, entry: Table, name: string): string | undefined => {
  if (entry["disabled"] === true) return "disabled: true"
  if (entry["enabled"] === false) return "enabled: false"
  return client.offElsewhere?.(root, name)
}

/** The line that names the copy of a changed file. */
const asItWas = (backup: string | undefined): ReadonlyArray<string> =>
  backup === undefined ? [] : [`Copy of the old file: ${backup}`]

/** Removes an entry from a client's file and leaves everything else; if there is none, says so. */
const uninstall = Effect.fnUntraced(function* (
  clientName: ClientName,
  scope: Scope,
  file: string,
  name: string,
  onlyPrint: boolean
) {
  const client: Client = clients[clientName]
  const { cwd, globals } = yield* Place
  const { note } = yield* Terminal
  const section = sectionOf(client, scope, cwd)
  const refused = (why: string) => unreadable(file, why, `remove ${[...section, name].join(".")} by hand`)
  const found = yield* read(file)
  const before = found ?? ""
  const root = yield* Effect.mapError(client.format.read(before), refused)
  const there = hasEntry(root, section, name)
  const entry = there ? yield* client.format.snippet(section, name, entryIn(root, section, name)) : ""
  const report = { client: clientName, scope, file, entry, removed: there && !onlyPrint, written: false }
  if (!there) {
    const lines = [
      `${client.title} has no server ${name} in ${file}: there is nothing to remove`,
      ...scopesOf(client).flatMap((other) => (other === scope ? [] : [`--scope ${other} looks where it keeps those`]))
    ]
    return yield* printResult(InstallReport, report, lines.join("\n"))
  }
  if (onlyPrint) {
    if (!globals.json) yield* note(`In ${file}:`)
    return yield* printResult(InstallReport, report, entry)
  }
  const after = yield* Effect.mapError(dropEntry(client.format, before, section, name), refused)
  const backup = yield* replace(file, found, after, yield* Clock.currentTimeMillis)
  const lines = [`${client.title} no longer has ${name}, in ${file}`, ...asItWas(backup)]
  yield* printResult(InstallReport, { ...report, written: true, backup }, lines.join("\n"))
})

/** Whether an entry is of a server at a URL. */
const isRemote = (entry: Table): boolean => ["url", "serverUrl", "httpUrl", "uri"].some((key) => key in entry)

const nameRule = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

const installFlags = {
  client: Cli.choice("client", { summary: "Client to set up", choices: clientNames }),
  name: Cli.text("name", {
    value: "NAME",
    summary: "Name of the server in the client (default: clew), and of the index to its model",
    decode: (text) =>
      nameRule.test(text)
        ? Either.right(text)
        : Either.left("1 to 64 letters, digits, '_' or '-', starting with a letter or digit")
  }),
  scope: Cli.choice("scope", {
    summary:
      "user: for you in every folder; project: for everyone in this folder; local: for you in this folder (default: user; claude-code: project)",
    choices: scopes
  }),
  uninstall: Cli.toggle("uninstall", { summary: "Remove the entry" }),
  print: Cli.toggle("print", { summary: "Print the entry and the file it goes into, and write nothing" }),
  http: Cli.text("http", {
    value: "URL",
    summary: "Use the server that runs there, like http://127.0.0.1:8484/mcp, and start none",
    decode: (text) =>
      URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
        ? Either.right(text)
        : Either.left("a URL with http:// or https://")
  }),
  filter: serverFlags.filter,
  readOnly: serverFlags.readOnly,
  description: serverFlags.description,
  watch: serverFlags.watch,
  allowWrite: serverFlags.allowWrite
}

type Installing = Cli.Values<typeof installFlags>

/** What is for a server that the client starts. */
const ofServer = ["filter", "readOnly", "description", "watch", "allowWrite"] as const

const isGiven = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : (value ?? false) !== false)

const flagOf = (key: string): string => `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

/** Settings that apply now, but not when the client starts the server. */
const leftBehind = (
  { cwd, env }: Pick<typeof Place.Service, "cwd" | "env">,
  file: Option.Option<string>,
  postgres: boolean
): ReadonlyArray<string> => [
  ...(Option.isSome(file) && path.dirname(file.value) === cwd
    ? [`${file.value} applies only in this folder; give --config ${file.value} so that the client uses it too`]
    : []),
  ...(postgres
    ? ["The index is in PostgreSQL, and its address is not written: set CLEW_STORE_URL in the client's environment"]
    : []),
  ...Object.keys(env)
    .filter((name) => name.startsWith("CLEW_") && name !== "CLEW_CONFIG" && env[name] !== "")
    .filter((name) => !(postgres && name === "CLEW_STORE_URL"))
    .map((name) => `${name} is set here; the client starts the server without it, unless its own settings set it`)
]

/** How to start this program on any machine: from the project's dependencies if it runs from there. */
const portable = (cwd: string, script: string | undefined): readonly [command: string, ...args: Array<string>] =>
  script?.startsWith(path.join(cwd, "node_modules") + path.sep) === true ? ["npx", "--no", "clew"] : ["clew"]

/** Whether a shell here finds the command. */
const isOnPath = (env: Readonly<Record<string, string | undefined>>, command: string): boolean =>
  (env["PATH"] ?? "")
    .split(path.delimiter)
    .some((folder) => ["", ".cmd", ".exe"].some((ending) => fs.existsSync(path.join(folder, command + ending))))

/** The index that people have without naming one. */
const defaultIndex = (env: Readonly<Record<string, string | undefined>>, home: string): string =>
  path.join(env["XDG_DATA_HOME"] || path.join(home, ".local", "share"), "clew", "index.db")

/** How the client starts the server; says what of the settings here it will not have. */
const startOf = Effect.fnUntraced(function* (client: Client, scope: Scope, given: Installing) {
  const { cwd, env, globals, script: started } = yield* Place
  const { note } = yield* Terminal
  const home = env["HOME"] || os.homedir()
  const engine = yield* Engine
  const { store } = yield* engine.settings
  const config = globals.config ?? (env["CLEW_CONFIG"] || undefined)
  const unnamed = config === undefined
  const found = unnamed ? yield* engine.configFile : Option.none()
  for (const left of leftBehind({ cwd, env }, found, unnamed && isOnServer(store))) yield* note(left)
  const script = started === undefined ? undefined : path.resolve(cwd, started)
  const shared = scope === "project"
  // As the client understands it on any machine: the project's folder is not this one everywhere.
  const place = (flag: string, given: string) => {
    const absolute = path.resolve(cwd, given)
    if (!shared) return Effect.succeed(absolute)
    const relative = path.relative(cwd, absolute)
    if (path.isAbsolute(relative) || relative.split(path.sep)[0] === "..") {
      return usage(
        `${flag} ${absolute} is outside this folder, and --scope project writes for everyone who works in it: move it into the folder, or use --scope ${scopesOf(client).find((other) => other !== "project") ?? "user"}`
      )
    }
    const parts = relative === "" ? [] : relative.split(path.sep)
    return Effect.succeed([client.folder ?? ".", ...parts].join("/"))
  }
  const unasked = globals.db === undefined && store.path === defaultIndex(env, home)
  const [command, ...first] = shared
    ? portable(cwd, script)
    : [process.execPath, ...(script === undefined ? [] : [script])]
  const watched = yield* Effect.forEach(given.watch, (file) => place("--watch", file))
  const writable = yield* Effect.forEach(given.allowWrite, (folder) => place("--allow-write", folder))
  const start = {
    name: given.name ?? "clew",
    command: command!,
    args: [
      ...first,
      "mcp",
      // The address of a server has a password, so that the client's environment has to set it.
      ...(isOnServer(store) || (shared && unasked) ? [] : ["--db", yield* place("--db", store.path)]),
      ...(config === undefined ? [] : ["--config", yield* place("--config", config)]),
      ...(given.filter === undefined ? [] : ["--filter", given.filter]),
      ...(given.readOnly ? ["--read-only"] : []),
      ...(given.name === undefined ? [] : ["--name", given.name]),
      ...(given.description === undefined ? [] : ["--description", given.description]),
      ...watched.flatMap((file) => ["--watch", file]),
      ...writable.flatMap((folder) => ["--allow-write", folder])
    ]
  }
  if (shared && command === "clew" && !isOnPath(env, "clew")) {
    yield* note("The entry starts clew from the PATH, and here it is not there: install it with npm install --global")
  }
  if (shared && client.folder === undefined && start.args.some((arg) => arg.startsWith("./"))) {
    yield* note(`Paths in the entry are relative: open ${client.title} in this folder, not in one below it`)
  }
  if (given.watch.length === 0 && !(yield* engine.exists)) {
    yield* note(
      isOnServer(store)
        ? `There is no index in ${indexName(store)} yet: clew index PATH creates it`
        : `There is no index at ${store.path} yet: clew index PATH --db ${store.path} creates it`
    )
  }
  return start
})

/** The entry for a server that runs by itself, at a URL. */
const remoteOf = Effect.fnUntraced(function* (client: Client, given: Installing) {
  const { globals } = yield* Place
  const { note } = yield* Terminal
  if (client.remote === undefined) return yield* usage(`${client.title} takes no server over HTTP: leave out --http`)
  const needless =
    ofServer.find((key) => isGiven(given[key])) ?? (["db", "config"] as const).find((key) => globals[key] !== undefined)
  if (needless !== undefined) {
    return yield* usage(`${flagOf(needless)} is for a server that the client starts: give it to the server at --http`)
  }
  const url = new URL(given.http!)
  if (url.pathname === "/") url.pathname = "/mcp"
  if (url.protocol === "http:" && !isLoopbackName(nameOf(url.host))) {
    yield* note(`${url.host} gets questions and the key unencrypted: put TLS before it, and give an https URL`)
  }
  yield* note(
    "If the server has a key, add to the entry the header Authorization: Bearer KEY, as the client writes headers"
  )
  return client.remote({ name: given.name ?? "clew", url: url.href })
})

export const install = Cli.define(
  {
    name: "install",
    summary: "Set up an MCP client to start this server",
    flags: installFlags,
    examples: [
      "clew mcp install --client claude-desktop --print",
      "clew mcp install --client cursor --scope project --db notes.db --read-only",
      "clew mcp install --client cursor --http http://127.0.0.1:8484/mcp --print",
      "clew mcp install --client cursor --scope project --uninstall"
    ],
    details: [
      "Adds one entry to the client's own configuration file. Everything else in it stays, and a copy of the old file is kept beside it. A file that cannot be read is left untouched.",
      "The entry starts this program by its full path, with the index configured now or --db. With --scope project, which others share, it has no path of this machine: it starts clew from the PATH (or npx clew, if this is a dependency of the project), and index, configuration and watched files must be in this folder. Your default index stays unnamed, so that everyone searches their own."
    ]
  },
  function* (given) {
    if (given.client === undefined) return yield* usage(`--client is missing; one of ${clientNames.join(", ")}`)
    const client: Client = clients[given.client]
    const scope = given.scope ?? scopesOf(client)[0]
    const fileOf = scope === undefined ? undefined : client.files[scope]
    if (scope === undefined || fileOf === undefined)
      return yield* usage(
        `${client.title} has no ${scope} configuration; --scope may be ${scopesOf(client).join(" or ")}`
      )
    yield* Either.mapLeft(selectTools(given.filter, given.readOnly, { writes: given.allowWrite.length > 0 }), usage)
    if (given.readOnly && given.watch.length > 0) {
      return yield* usage("--watch writes into the index, which --read-only forbids: choose one")
    }
    const { cwd, env, globals } = yield* Place
    const { note, print } = yield* Terminal
    const home = env["HOME"] || os.homedir()
    const file = fileOf({ platform: process.platform, home, cwd, env })
    if (scope === "project" && !(yield* staysIn(cwd, file))) {
      return yield* new Unwritable({
        message: `${file} was left untouched: a link leads it out of this folder, where --scope project writes. Put a file in the link's place`
      })
    }
    const section = sectionOf(client, scope, cwd)
    const name = given.name ?? "clew"
    if (given.uninstall) {
      const needless = ([...ofServer, "http"] as const).find((key) => isGiven(given[key]))
      if (needless !== undefined) {
        return yield* usage(`${flagOf(needless)} is for setting up a server, and --uninstall removes one`)
      }
      return yield* uninstall(given.client, scope, file, name, given.print)
    }
    const before = yield* read(file)
    const root = yield* Effect.orElseSucceed(client.format.read(before ?? ""), () => ({}))
    const made =
      given.http === undefined ? client.entry(yield* startOf(client, scope, given)) : yield* remoteOf(client, given)
    const report = { client: given.client, scope, file }
    const old = entryIn(root, section, name)
    const kept = Object.entries(old).filter(([key]) => key === "enabled" || (users.has(key) && key in made))
    const entry = { ...made, ...Object.fromEntries(kept) }
    const snippet = yield* client.format.snippet(section, name, entry)
    const disabled = switchedOff(client, root, old, name)
    const off = { ...report, entry: snippet, written: false, ...(disabled === undefined ? {} : { disabled: true }) }
    const sayOff =
      disabled === undefined
        ? Effect.void
        : note(`${name} is switched off there (${disabled}) and stays so: switch it on in ${client.title}`)

    if (given.print) {
      if (globals.json) return yield* printJson(InstallReport, off)
      yield* note(`For ${client.title}, in ${file}:`)
      yield* sayOff
      return yield* print(snippet)
    }

    // A server that the client starts has other keys than one at a URL, and none of them may stay.
    const other = hasEntry(root, section, name) && isRemote(old) !== isRemote(made)
    const text = before ?? ""
    const bare = other ? dropEntry(client.format, text, section, name) : Effect.succeed(text)
    const after = yield* Effect.mapError(
      Effect.flatMap(bare, (text) => setEntry(client.format, text, section, name, entry)),
      (why) => unreadable(file, why, `add this by hand:\n\n${snippet}`)
    )
    if (after === before) {
      yield* sayOff
      return yield* printResult(InstallReport, off, `${client.title} is already set up, in ${file}`)
    }
    const backup = yield* replace(file, before, after, yield* Clock.currentTimeMillis)
    yield* sayOff
    const lines = [`${client.title} is set up, in ${file}`, ...asItWas(backup), client.next]
    yield* printResult(InstallReport, { ...off, written: true, backup }, lines.join("\n"))
  }
)
